package org.apache.spark.sql.headrace

import scala.util.control.NonFatal

import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.{UnresolvedAttribute, UnresolvedStar}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.catalyst.util.toPrettySQL
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.LogicalRDD
import org.apache.spark.sql.types._

/** A definition that cannot run. `at` names the part ("update.total"); the Python side adds the user's line and raises. Without a `fix` it knows
  * one for the reason, or for the analyser's refusal that is the cause. */
class BadDefinition(val at: String, val reason: String, val fix: String = "", cause: Throwable = null)
  extends IllegalArgumentException(s"$at|$reason", cause)

/** The columns that the expressions of one scan may name: those of the record (`amount`, `record.amount`) and of the state
  * (`state.total`). Expressions are resolved, checked and optimised here, on the driver, by Spark's own analyser and optimiser.
  */
private[headrace] final class Scope(spark: SparkSession, columns: Seq[Attribute], meanings: Map[ExprId, Expression] = Map.empty) {
  private val bare = columns.filter(_.qualifier.isEmpty).map(_.name)
  private val relation = LogicalRDD(columns, spark.sparkContext.emptyRDD[InternalRow])(spark)

  /** The same with more columns. */
  def and(more: Seq[Attribute]): Scope = only(columns ++ more)

  /** Other columns. */
  def only(others: Seq[Attribute]): Scope = new Scope(spark, others, meanings)

  /** The same, and whoever names this column of it gets this expression. */
  def where(column: Attribute, meaning: Expression): Scope = new Scope(spark, columns, meanings + (column.exprId -> meaning))

  /** A bare name is always the record's, even where the state has a field of that name, and so is a bare star; but for names that are `bare`
    * themselves. */
  private val ofRecord: PartialFunction[Expression, Expression] = {
    case a: UnresolvedAttribute if bare.exists(_.equalsIgnoreCase(a.nameParts.head)) => a
    case a: UnresolvedAttribute if a.nameParts.size == 1 || !qualifiers(a.nameParts.head) => UnresolvedAttribute("record" +: a.nameParts)
    case UnresolvedStar(target) if !target.exists(parts => qualifiers(parts.head)) => UnresolvedStar(Some("record" +: target.getOrElse(Nil)))
  }

  private def qualifiers(name: String): Boolean = Scope.qualifiers(name) || columns.exists(_.qualifier.contains(name))

  /** One expression, of the given type (a widening that loses nothing is made, anything else refused) or of any. */
  def one(at: String, column: Column, wanted: Option[DataType] = None): Expression = {
    val resolved = many(at, Seq(column)) match {
      case Seq(Alias(child, _)) => child
      case Seq(single) => single
      case several => throw new BadDefinition(at, s"stands for ${several.size} columns (${several.map(_.name).mkString(", ")}), but one value is needed")
    }
    wanted.fold(resolved)(Scope.fit(at, resolved, _))
  }

  /** Named expressions; a star may stand for several. */
  def many(at: String, items: Seq[Column]): Seq[NamedExpression] = items.flatMap { column =>
    val analyzed = try {
      val named = spark.toRichColumn(column).named.transform(ofRecord).asInstanceOf[NamedExpression]
      val plan = spark.sessionState.analyzer.execute(Project(Seq(named), relation))
      spark.sessionState.analyzer.checkAnalysis(plan)
      plan
    } catch { case NonFatal(e) => throw new BadDefinition(at, e.getMessage, cause = e) }
    analyzed match {
      case Project(list, leaf) if leaf eq relation => list.foreach(Scope.check(at, _)); list.map(meant)
      case _ => throw new BadDefinition(
        at, s"'$column' looks at more than one record (an aggregate, a window or explode); a scan sees one record and the state",
        "keep what it needs in the state, as update={'total': F.col('state.total') + F.col('amount')} does; or use with_features(x=running(F.sum('amount')))")
    }
  }

  private def meant(e: NamedExpression): NamedExpression = if (meanings.isEmpty) e else e match {
    case column: Attribute => meanings.get(column.exprId).fold[NamedExpression](column)(Alias(_, column.name)())
    case other => other.transform { case a: Attribute => meanings.getOrElse(a.exprId, a) }.asInstanceOf[NamedExpression]
  }

  /** The expressions, optimised together and bound to rows that hold `input` in this order. */
  def compile(expressions: Seq[Expression], input: Seq[Attribute]): Seq[Expression] = {
    val named = expressions.zipWithIndex.map { case (e, i) => Alias(e, s"_$i")() }
    val optimized = Scope.flatten(spark.sessionState.optimizer.execute(Project(named, relation)))
    BindReferences.bindReferences(optimized, AttributeSeq(input))
  }
}

private[headrace] object Scope {
  private val qualifiers = Set("record", "state", "timer", "scan")

  def fit(at: String, e: Expression, wanted: DataType): Expression = fitted(e, wanted).getOrElse(
    throw new BadDefinition(at, s"is of type ${e.dataType.sql}, but ${wanted.sql} is needed"))

  def fitted(e: Expression, wanted: DataType): Option[Expression] = e.dataType match {
    case same if DataType.equalsIgnoreNullability(same, wanted) => Some(e)
    case from => Option.when(widens(from, wanted))(Cast(e, wanted.asNullable))
  }

  /** Whether each value of the one type is a value of the other, and the same one: a number of a wider type, or null. (What Spark calls a
    * safe cast also makes times of numbers, text of anything, and matches the fields of structs by their place.) */
  private def widens(from: DataType, to: DataType): Boolean = (from, to) match {
    case (NullType, _) => true
    case (number: IntegralType, wider: IntegralType) => number.defaultSize <= wider.defaultSize
    case (number: NumericType, wider: DecimalType) => wider.isWiderThan(number)
    case (ByteType | ShortType, FloatType) | (ByteType | ShortType | IntegerType | FloatType, DoubleType) => true
    case (ArrayType(one, _), ArrayType(other, _)) => widens(one, other)
    case (MapType(key, value, _), MapType(otherKey, otherValue, _)) => widens(key, otherKey) && widens(value, otherValue)
    case (StructType(fields), StructType(others)) =>
      fields.map(_.name).sameElements(others.map(_.name)) && fields.zip(others).forall { case (one, other) => widens(one.dataType, other.dataType) }
    case _ => DataType.equalsIgnoreNullability(from, to)
  }

  private[headrace] def check(at: String, e: Expression): Unit = {
    e.foreach {
      case _: PythonUDF => throw new BadDefinition(
        at, "calls a Python function, which would leave the JVM for every record", "write it with Spark's functions (F.…), or use scan_python")
      case _: CurrentTimestampLike | _: CurrentDate | _: CurrentTime | _: LocalTimestamp | _: LocalTimestampNanos =>
        throw new BadDefinition(at, "reads the clock, so a replay would give another result", "use a time that is in the record: F.col('at')")
      case _: PlanExpression[_] => throw new BadDefinition(at, "holds a subquery", "join the table to the stream before the scan: stream.join(table, 'key')")
      case n if !n.deterministic => throw new BadDefinition(
        at, s"'${toPrettySQL(n)}' gives another value each time, so a replay would give another result",
        "use what is in the record, such as F.hash('id') for a number that looks random")
      case _ =>
    }
    Casts.check(at, e)
  }

  /** The optimiser may split one projection into several; put them together again. */
  private def flatten(plan: LogicalPlan): Seq[Expression] = plan match {
    case Project(list, _: LogicalRDD) => list.map(unalias)
    case Project(list, below: Project) =>
      val inner = AttributeMap(below.output.zip(flatten(below)))
      list.map(e => unalias(e).transform { case a: Attribute => inner.getOrElse(a, a) })
    case other => throw new BadDefinition("scan", s"cannot be planned as a projection: ${other.nodeName}")
  }

  private def unalias(e: Expression): Expression = e match { case Alias(child, _) => child; case other => other }
}
