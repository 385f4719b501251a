package org.apache.spark.sql.headrace

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Alias, Ascending, Attribute, Expression, Literal, Nondeterministic, SortOrder, UnaryExpression, XxHash64}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, CodeGenerator, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{SortExec, SparkPlan}
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec
import org.apache.spark.sql.types.{DataType, LongType, MetadataBuilder}

/** One number to sort records by: those of a key together, in the order in which their task reads them.
  *
  * Its upper 20 bits are of the key's hash, the next 14 are the task, the lower 30 count the task's records. A task of Spark's
  * Kafka source reads one range of one partition in the order of the log, and ranges are numbered in that order too, so within
  * one partition of one micro-batch this *is* the order of the log. (Spark numbers tasks and records in
  * `monotonically_increasing_id`, which it refuses in streams because they repeat from batch to batch; we compare them only
  * within one.) A number and nothing else is what Spark sorts fastest, by its bytes and without looking at the rows.
  */
case class Arrival(child: Expression) extends UnaryExpression with Nondeterministic {
  @transient private[this] var next: Long = _

  override def stateful: Boolean = true
  override def nullable: Boolean = false
  override def dataType: DataType = LongType
  override protected def withNewChildInternal(newChild: Expression): Arrival = Arrival(newChild)

  override protected def initializeInternal(partition: Int): Unit = next = Arrival.first(partition)

  override protected def evalInternal(row: InternalRow): Long = {
    next += 1
    Arrival.number(child.eval(row).asInstanceOf[Long], next - 1)
  }

  override def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val counter = ctx.addMutableState(CodeGenerator.JAVA_LONG, "arrival")
    val arrival = Arrival.getClass.getName + ".MODULE$"
    ctx.addPartitionInitializationStatement(s"$counter = $arrival.first(partitionIndex);")
    val hash = child.genCode(ctx)
    ev.copy(code = hash.code + code"final long ${ev.value} = $arrival.number(${hash.value}, $counter++);", isNull = FalseLiteral)
  }
}

object Arrival {
  private val rankMark = "headrace.order"
  private val keyedMark = "headrace.keyed"
  private val counterBits = 30
  private val taskBits = 14
  private val last = (1L << counterBits) - 1
  private val hashMask = -1L << (counterBits + taskBits)

  /** The number of a task's first record, without a key. */
  def first(task: Int): Long =
    if (task < (1 << taskBits)) task.toLong << counterBits
    else throw new IllegalStateException(s"a batch is read by more than ${1 << taskBits} tasks: read fewer records at a time")

  def number(hash: Long, arrival: Long): Long =
    if ((arrival & last) != last) (hash & hashMask) | arrival
    else throw new IllegalStateException(s"a task has more than $last records in one batch: read fewer records at a time")

  /** The bits of the key's hash in a number. */
  def hash(number: Long): Long = number & hashMask

  /** The columns by which records are sorted within their key: the ones named, and their arrival, which alone may begin with the keys. */
  def columns(keys: Seq[Expression], order: Seq[Attribute]): Seq[Alias] = {
    val keyed = keys.nonEmpty && order.isEmpty
    val arrival = Arrival(if (keyed) new XxHash64(keys) else Literal(0L))
    order.zipWithIndex.map { case (c, i) => marked(c, s"__order_$i", i, keyed = false) } :+ marked(arrival, "__arrival", order.size, keyed)
  }

  private def marked(e: Expression, name: String, rank: Int, keyed: Boolean): Alias =
    Alias(e, name)(explicitMetadata = Some(new MetadataBuilder().putLong(rankMark, rank.toLong).putBoolean(keyedMark, keyed).build()))

  def orderOf(columns: Seq[Attribute]): Seq[Attribute] = columns.filter(_.metadata.contains(rankMark)).sortBy(_.metadata.getLong(rankMark))

  def isKeyed(column: Attribute): Boolean = column.metadata.getBoolean(keyedMark)
}

/** Spark sorts the input of a keyed operator by key alone, which promises nothing about the order within a key. This rule sorts
  * by key *and* arrival. Real-time mode has no sort: there records come one by one, in the order of their partition.
  *
  * For a scan the number of the arrival is enough, since it begins with the key's hash. Where two keys have the same, their records come
  * mixed, each key's in its order, and over a stream the scan goes from key to key as it does in real time. A batch does not keep the
  * state of a key that it has left, so there they are put together again. */
object SortByArrival extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan = plan.transformUp {
    case scan: TransformWithStateExec if !scan.isRealTimeMode =>
      sorted(scan.groupingAttributes, scan.child, together = !scan.isStreaming).fold(scan)(child => scan.copy(child = child))
  }

  private def sorted(keys: Seq[Attribute], child: SparkPlan, together: Boolean): Option[SparkPlan] = {
    val order = Arrival.orderOf(child.output)
    Option.when(order.nonEmpty) {
      val input = child match { case sort: SortExec => sort.child; case other => other }
      def by(columns: Seq[Attribute]) = SortExec(columns.map(SortOrder(_, Ascending)), global = false, input)
      if (!Arrival.isKeyed(order.head)) by(keys ++ order)
      else if (together) KeysTogether(keys, order.head, by(order))
      else by(order)
    }
  }
}
