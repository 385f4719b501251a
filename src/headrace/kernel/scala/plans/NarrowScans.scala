package org.apache.spark.sql.headrace

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.Literal.TrueLiteral
import org.apache.spark.sql.catalyst.optimizer.{BooleanSimplification, ConstantFolding, NullPropagation, SimplifyConditionals}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, OneRowRelation, Project, TransformWithState}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.streaming.StatefulProcessor
import org.apache.spark.sql.types.{StructField, StructType}

/** What is made of the rows of a scan right behind it is made in the scan, and what nobody wants of them does not come out.
  *
  * A row that comes out is a copy. A feature such as `recent` is an array, and most often only something that is computed of it is wanted: so it
  * is computed where the array is, together with what the state needs of it. Only where each record gives at most one row, of one port.
  * Of rows of other branches, which pass the scan by, the same is made there. */
object NarrowScans extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case Project(columns, scan: TransformWithState) => narrowed(columns, None, scan).getOrElse(Project(columns, scan))
    case Project(columns, filter @ Filter(condition, scan: TransformWithState)) =>
      narrowed(columns, Some(condition), scan).getOrElse(Project(columns, filter))
  }

  private def narrowed(columns: Seq[NamedExpression], condition: Option[Expression], scan: TransformWithState): Option[LogicalPlan] =
    for {
      processor <- Scan.processor(scan)
      rows <- processor.plan.emission
      if !(condition.isEmpty && same(columns, scan.outputObjAttr, rows.head.columns.size))
      next <- all(rows.map(made(columns, condition, scan.outputObjAttr, _)))
    } yield {
      val row = StructType(columns.map(column => StructField(column.name, column.dataType)))
      val out = AttributeReference("out", row, nullable = false)()
      val narrowing = processor.of(processor.plan.emitting(next)).asInstanceOf[StatefulProcessor[Any, Any, Any]]
      val narrow = scan.copy(statefulProcessor = narrowing, outputObjAttr = out)
      Project(columns.zipWithIndex.map { case (column, i) => taken(GetStructField(out, i, Some(column.name)), column) }, narrow)
    }

  /** What is made of a row; none if it must be made behind the scan. */
  private def made(columns: Seq[NamedExpression], condition: Option[Expression], out: Attribute, one: OneRow): Option[OneRow] =
    for {
      expressions <- Some(columns.map(unaliased) ++ condition)
      if once(expressions, out, one.columns)
      moved <- all(expressions.map(inside(_, out, one.columns)))
    } yield {
      val (values, conditions) = simpler(moved ++ one.when).splitAt(columns.size)
      OneRow(conditions.reverse.filterNot(_ == TrueLiteral).reduceOption(And), Rows.struct(columns.map(_.name).zip(values)))
    }

  /** Whose row it is, is known here; so what is asked of that need not be asked again. */
  private def simpler(expressions: Seq[Expression]): Seq[Expression] = {
    val start: LogicalPlan = Project(expressions.map(e => Alias(e, "_")()), OneRowRelation())
    val rules = Seq(ConstantFolding, NullPropagation, BooleanSimplification, SimplifyConditionals)
    val end = Iterator.iterate(start)(plan => rules.foldLeft(plan)((before, rule) => rule(before))).drop(4).next()
    end.asInstanceOf[Project].projectList.map(unaliased)
  }

  /** Whether all fields, and nothing else, are passed on as they are. */
  private def same(columns: Seq[NamedExpression], out: Attribute, width: Int): Boolean = columns.map(unaliased) match {
    case fields if fields.size == width => fields.zipWithIndex.forall { case (e, i) => isField(e, out, i) }
    case _ => false
  }

  /** Whether nothing would be computed twice: as Spark has it, too, where it makes one projection of two. */
  private def once(expressions: Seq[Expression], out: Attribute, fields: Seq[Expression]): Boolean = {
    val uses = expressions.flatMap(_.collect { case GetStructField(a: Attribute, i, _) if a.exprId == out.exprId => i })
    uses.diff(uses.distinct).forall(i => cheap(fields(i)))
  }

  private def cheap(e: Expression): Boolean = e match {
    case _: BoundReference => true
    case part: ExtractValue => part.children.forall(cheap)
    case other => other.foldable
  }

  private def isField(e: Expression, out: Attribute, field: Int): Boolean = e match {
    case GetStructField(a: Attribute, i, _) => a.exprId == out.exprId && i == field
    case _ => false
  }

  private def unaliased(e: NamedExpression): Expression = e match { case Alias(child, _) => child; case other => other }

  private def taken(field: Expression, column: NamedExpression): Alias =
    Alias(field, column.name)(column.exprId, column.qualifier, Some(column.metadata))

  /** An expression over the rows of the scan as one over the record and the state; none if it must stay where it is. */
  private def inside(e: Expression, out: Attribute, fields: Seq[Expression]): Option[Expression] = {
    val moved = e.transformUp { case GetStructField(a: Attribute, i, _) if a.exprId == out.exprId => fields(i) }
    Option.when(e.deterministic && !moved.exists(stays))(moved)
  }

  /** Python functions, which are operators of their own, subqueries, and columns of whatever else. */
  private def stays(e: Expression): Boolean = e.isInstanceOf[Unevaluable] || e.isInstanceOf[PlanExpression[_]]

  private def all[T](parts: Seq[Option[T]]): Option[Seq[T]] = Option.when(parts.forall(_.isDefined))(parts.flatten)
}
