package org.apache.spark.sql.headrace

import java.util.{List => JList}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{DataFrame, Row, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Alias, Ascending, Attribute, Expression, LeafExpression, Nondeterministic, SortOrder}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, CodeGenerator, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.plans.logical.Project
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.execution.{ColumnarRule, SortExec, SparkPlan}
import org.apache.spark.sql.execution.python.streaming.TransformWithStateInPySparkExec
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec
import org.apache.spark.sql.types.{DataType, LongType, Metadata, MetadataBuilder}

/** The place of a record in the order in which its task reads it: the task in the upper 31 bits, the record in the lower 33.
  *
  * A task of Spark's Kafka source reads one range of one partition in the order of the log, and ranges are numbered in that
  * order too, so within one partition of one micro-batch this *is* the order of the log. (Spark has the same numbers in
  * `monotonically_increasing_id`, which it refuses in streams because they repeat from batch to batch; we compare them only
  * within one.)
  */
case class Arrival() extends LeafExpression with Nondeterministic {
  @transient private[this] var next: Long = _

  override def stateful: Boolean = true
  override def nullable: Boolean = false
  override def dataType: DataType = LongType
  override def withNewChildrenInternal(children: IndexedSeq[Expression]): Expression = Arrival()

  override protected def initializeInternal(partition: Int): Unit = next = partition.toLong << 33

  override protected def evalInternal(row: InternalRow): Long = { next += 1; next - 1 }

  override def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val counter = ctx.addMutableState(CodeGenerator.JAVA_LONG, "arrival")
    ctx.addPartitionInitializationStatement(s"$counter = ((long) partitionIndex) << 33;")
    ev.copy(code = code"final long ${ev.value} = $counter++;", isNull = FalseLiteral)
  }
}

object Arrival {
  private val key = "headrace.order"

  /** Marks a column as (one of) those that a key's records are ordered by; `rank` orders several. */
  private def mark(rank: Int): Metadata = new MetadataBuilder().putLong(key, rank.toLong).build()

  /** The columns by which the records of a key are sorted: the ones given, or their arrival. */
  def columns(given: Seq[Attribute]): Seq[Alias] =
    if (given.isEmpty) Seq(Alias(Arrival(), "arrival")(explicitMetadata = Some(mark(0))))
    else given.zipWithIndex.map { case (c, i) => Alias(c, s"order_$i")(explicitMetadata = Some(mark(i))) }

  /** For operators that are planned from Python: the table with those columns at its end. */
  def ordered(input: Dataset[Row], names: JList[String]): DataFrame = {
    val plan = input.queryExecution.analyzed
    val given = names.asScala.toSeq.map(name => plan.output.find(_.name == name).get)
    Dataset.ofRows(input.sparkSession, Project(plan.output ++ columns(given), plan))
  }

  def orderOf(columns: Seq[Attribute]): Seq[SortOrder] =
    columns.filter(_.metadata.contains(key)).sortBy(_.metadata.getLong(key)).map(SortOrder(_, Ascending))
}

/** Spark sorts the input of a keyed operator by key alone, which promises nothing about the order within a key. This rule sorts
  * by key *and* arrival. Real-time mode has no sort: there records come one by one, in the order of their partition. */
object SortByArrival extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan = plan.transformUp {
    case scan: TransformWithStateExec if !scan.isRealTimeMode =>
      sorted(scan.groupingAttributes, scan.child).fold(scan)(child => scan.copy(child = child))
    case scan: TransformWithStateInPySparkExec =>
      sorted(scan.groupingAttributes, scan.child).fold(scan)(child => scan.copy(child = child))
  }

  private def sorted(keys: Seq[Attribute], child: SparkPlan): Option[SparkPlan] = {
    val order = Arrival.orderOf(child.output)
    Option.when(order.nonEmpty) {
      val input = child match { case sort: SortExec => sort.child; case other => other }
      SortExec(keys.map(SortOrder(_, Ascending)) ++ order, global = false, input)
    }
  }
}

/** What a session needs to know of headrace: `spark.sql.extensions=org.apache.spark.sql.headrace.Extensions`. */
class Extensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit =
    extensions.injectColumnar(_ => new ColumnarRule { override def preColumnarTransitions: Rule[SparkPlan] = SortByArrival })
}
