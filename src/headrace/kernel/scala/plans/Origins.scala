package org.apache.spark.sql.headrace

import org.apache.spark.sql.{Column, DataFrame, Row}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, CodeGenerator, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.plans.{Inner, LeftExistence, LeftOuter}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.{Dataset, ExpressionUtils}
import org.apache.spark.sql.streaming.StatefulProcessor
import org.apache.spark.sql.types.{DataType, LongType, StringType, StructField, StructType}

/** Stands for the origin of a row until `Origins.placed` has put that in its place. */
private[headrace] case class Origin() extends LeafExpression with Unevaluable {
  override def nullable: Boolean = true
  override def dataType: DataType = StringType
}

/** How many rows of one record have come out before this one. Those of a record come one after the other, and `serial` tells records apart. */
private[headrace] case class NumberOfRow(serial: Expression) extends UnaryExpression with Nondeterministic {
  @transient private[this] var last, number: Long = _

  override def child: Expression = serial
  override def stateful: Boolean = true
  override def nullable: Boolean = false
  override def dataType: DataType = LongType
  override protected def withNewChildInternal(newChild: Expression): NumberOfRow = NumberOfRow(newChild)
  override protected def initializeInternal(partition: Int): Unit = { last = -1; number = 0 }
  override protected def evalInternal(row: InternalRow): Long = {
    val now = serial.eval(row).asInstanceOf[Long]
    number = if (now == last) number + 1 else 0
    last = now
    number
  }

  override def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val Seq(last, number) = Seq("last", "number").map(ctx.addMutableState(CodeGenerator.JAVA_LONG, _))
    ctx.addPartitionInitializationStatement(s"$last = -1L; $number = 0L;")
    val now = serial.genCode(ctx)
    val count = code"$number = ${now.value} == $last ? $number + 1L : 0L; $last = ${now.value}; final long ${ev.value} = $number;"
    ev.copy(code = now.code + count, isNull = FalseLiteral)
  }
}

/** What a row was made of, as text: topic, partition and offset of the record, and, wherever one row became several, which of them it is. It does
  * not depend on batches, tasks or the clock: a record that is read again gives rows of the same origins.
  *
  * It is one more column, which is led through a plan that is complete: programs do not see it. */
object Origins {
  val name = "__origin"
  private val place = Seq("topic", "partition", "offset")

  /** The column that tells the branches of several outputs apart. It is no part of an origin: each output has rows of its own of a record. */
  private[headrace] val branch = "__output"

  def column: Column = ExpressionUtils.column(Origin())

  /** The table with the origin of each row in the place of what stands for it. */
  def placed(frame: Dataset[Row]): DataFrame = {
    val before = frame.queryExecution.analyzed
    val after = before.transformUp { case Project(list, child) if list.exists(_.exists(_.isInstanceOf[Origin])) =>
      val (below, origin) = led(child)
      Project(list.map(_.transform { case Origin() => origin }.asInstanceOf[NamedExpression]), below)
    }
    if (after eq before) frame else Dataset.ofRows(frame.sparkSession, after)
  }

  /** A plan with this column more, and the column. */
  private def led(plan: LogicalPlan): (LogicalPlan, Attribute) = plan.output.find(_.name == name).map(plan -> _).getOrElse(plan match {
    case leaf: LeafNode => add(leaf.output, joined(place.map(part => leaf.output.find(_.name == part).getOrElse(
      throw refused(s"its records have no $part, by which they could be told apart"))), "/"), leaf)
    case Project(list, scan: TransformWithState) => scanned(list, scan)
    case Project(list, MapPartitions(step: PythonMapStep, out, DeserializeToObject(row, rows, sent))) if !step.ends => mapped(list, step, out, row, rows, sent)
    case Project(list, child) =>
      val (below, origin) = led(child)
      (Project(list :+ origin, below), origin)
    case generate: Generate if generate.generatorOutput.exists(_.name == branch) => past(generate, generate.child)
    case generate: Generate => numbered(generate, generate.child)
    case join @ Join(rows, table, LeftExistence(_), _, _) if isMain(rows, table) => past(join, rows)
    case join @ Join(rows, table, Inner | LeftOuter, _, _) if isMain(rows, table) => numbered(join.copy(right = bare(table), hint = JoinHint(None, toEveryTask)), rows)
    case join @ Join(table, rows, Inner, _, _) if isMain(rows, table) => numbered(join.copy(left = bare(table), hint = JoinHint(toEveryTask, None)), rows)
    case union: Union =>
      val all = union.copy(children = union.children.zipWithIndex.map { case (child, i) =>
        val (below, origin) = led(child)
        add(child.output.filterNot(_.exprId == origin.exprId), joined(Seq(origin, Literal(i)), "+"), below)._1
      })
      (all, all.output.last)
    case _: Filter | _: SubqueryAlias | _: EventTimeWatermark | _: CollectMetrics | _: Repartition | _: RepartitionByExpression | _: Deduplicate |
        _: DeduplicateWithinWatermark | _: Sample | _: Sort | _: ResolvedHint => past(plan, plan.children.head)
    case _ => throw refused("its rows are not each made of one record")
  })

  private def refused(reason: String): BadDefinition = new BadDefinition("", reason)

  private def joined(parts: Seq[Expression], by: String): Expression =
    Concat(parts.flatMap(part => Seq(Literal(by), Cast(part, StringType))).tail)

  private def add(columns: Seq[Attribute], origin: Expression, plan: LogicalPlan): (LogicalPlan, Attribute) = {
    val column = Alias(origin, name)()
    (Project(columns :+ column, plan), column.toAttribute)
  }

  /** Whether these are the rows, and those the table that is looked up for them. Rows of a batch of a stream have their origins already. */
  private def isMain(rows: LogicalPlan, table: LogicalPlan): Boolean =
    if (rows.isStreaming || table.isStreaming) rows.isStreaming && !table.isStreaming
    else rows.exists { node =>
      def has(column: String) = node.output.exists(_.name == column)
      has(name) || node.children.isEmpty && place.forall(has)
    }

  /** A table goes to the records, else those of one record would not come one after the other. (The join of headrace's own has it so anyway.) */
  private val toEveryTask = Some(HintInfo(Some(BROADCAST)))

  /** A table without the hint that it came with: of one that is not looked at Spark warns, with each batch. */
  private def bare(table: LogicalPlan): LogicalPlan = table match {
    case ResolvedHint(child, _) => bare(child)
    case _: SubqueryAlias | _: Project | _: Filter => table.withNewChildren(table.children.map(bare))
    case other => other
  }

  /** Through what gives rows of `child` as they are. */
  private def past(plan: LogicalPlan, child: LogicalPlan): (LogicalPlan, Attribute) = {
    val (below, origin) = led(child)
    (plan.withNewChildren(plan.children.map(each => if (each eq child) below else each)), origin)
  }

  /** Through what may make several rows of one of `child`. */
  private def numbered(plan: LogicalPlan, child: LogicalPlan): (LogicalPlan, Attribute) = {
    val (below, origin) = led(child)
    val serial = Alias(Arrival(Literal(0L)), "__serial")()
    val counted = Project(below.output :+ serial, below)
    val all = plan.withNewChildren(plan.children.map(each => if (each eq child) counted else each))
    val others = all.output.filterNot(column => column.exprId == origin.exprId || column.exprId == serial.exprId)
    val several = joined(Seq(origin, NumberOfRow(serial.toAttribute)), "/")
    // Of several outputs, the rows of one are made more here; those of the others pass.
    val mine = plan.expressions.flatMap(_.collect { case is @ EqualTo(a: Attribute, _: Literal) if a.name == branch => is: Expression }).reduceOption(And)
    add(others, mine.fold(several)(If(_, several, origin)), all)
  }

  /** Through a scan: its records have the column, and so has what it makes of each. */
  private def scanned(list: Seq[NamedExpression], scan: TransformWithState): (LogicalPlan, Attribute) = {
    val processor = Scan.processor(scan).getOrElse(throw refused("its rows are not each made of one record"))
    processor.plan.unlikeRecords.foreach(reason => throw refused(reason))
    val (below, origin) = led(scan.child)
    val carrying = processor.of(processor.plan.carrying(below.output.indexWhere(_.exprId == origin.exprId), name))
    val at = processor.plan.program.rowWidth
    val out = AttributeReference("out", inserted(scan.outputObjAttr.dataType, at), nullable = false)()
    above(list, scan.outputObjAttr, out, at, scan.copy(
      dataAttributes = scan.dataAttributes :+ origin, statefulProcessor = carrying.asInstanceOf[StatefulProcessor[Any, Any, Any]],
      outputObjAttr = out, child = below))
  }

  /** Through a Python function of each record, which gets all columns, of which it hands on all but the last: that has what it is called with. */
  private def mapped(
      list: Seq[NamedExpression], step: PythonMapStep, out: Attribute, row: Expression, rows: Attribute, sent: LogicalPlan): (LogicalPlan, Attribute) = {
    val (below, origin) = led(sent)
    val columns = (sent.output.init.filterNot(_.exprId == origin.exprId) :+ origin) :+ sent.output.last
    val whole = Rows.struct(columns)
    val wide = AttributeReference("out", inserted(out.dataType, columns.size - 2))()
    val input = AttributeReference("row", whole.dataType, nullable = false)()
    above(list, out, wide, columns.size - 2, MapPartitions(
      step.copy(types = columns.map(_.dataType).toArray), wide, DeserializeToObject(whole, input, Project(columns, below))))
  }

  private def inserted(row: DataType, at: Int): StructType = {
    val (before, after) = row.asInstanceOf[StructType].fields.splitAt(at)
    StructType((before :+ StructField(name, StringType)) ++ after)
  }

  /** What is taken of a row that has one field more, at this place: the same as before, and that. */
  private def above(list: Seq[NamedExpression], before: Attribute, now: Attribute, at: Int, plan: LogicalPlan): (LogicalPlan, Attribute) = {
    val same = list.map(_.transform {
      case GetStructField(a: Attribute, i, field) if a.exprId == before.exprId => GetStructField(now, if (i < at) i else i + 1, field)
    }.asInstanceOf[NamedExpression])
    val origin = Alias(GetStructField(now, at, Some(name)), name)()
    (Project(same :+ origin, plan), origin.toAttribute)
  }
}
