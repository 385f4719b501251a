package org.apache.spark.sql.headrace

import java.util.{List => JList}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{AnalysisException, Column, Row}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.plans.logical.Aggregate
import org.apache.spark.sql.catalyst.util.{ArrayData, GenericArrayData, HyperLogLogPlusPlusHelper}
import org.apache.spark.sql.classic.{Dataset, ExpressionUtils, SparkSession}
import org.apache.spark.sql.types._

/** One of Spark's own aggregate functions as a fold: buffers to begin with, one step for a record, two buffers into one, the value of the buffers.
  * The buffers may be any columns: fields of a scan's state, or of the accumulator of `aggregate` over an array. */
trait Fold {
  def inputs: JList[Column]
  def initial: JList[Column]
  def update(buffers: JList[Column], inputs: JList[Column]): JList[Column]
  def merge(left: JList[Column], right: JList[Column]): JList[Column]
  def result(buffers: JList[Column]): Column
}

object Folds {
  /** Some aggregates are another one to Spark: count_if is a count, bool_or a max. */
  private[headrace] def spelledOut(e: Expression): Expression = e match {
    case AggregateExpression(f: RuntimeReplaceableAggregate, mode, distinct, filter, id) =>
      spelledOut(AggregateExpression(f.replacement.asInstanceOf[AggregateFunction], mode, distinct, filter, id))
    case other => other
  }

  /** An aggregate over the columns of a table. Where it may be `growing`, its buffers may be as large as what it has seen: lists, sets, digests;
    * and it may be computed of several aggregates. */
  def apply(input: Dataset[Row], aggregate: Column, growing: Boolean): Fold = {
    val spark = input.sparkSession
    val relation = input.queryExecution.analyzed
    val resolved = try {
      val named = spark.toRichColumn(aggregate).named
      val plan = spark.sessionState.analyzer.execute(Aggregate(Nil, Seq(named), relation))
      spark.sessionState.analyzer.checkAnalysis(plan)
      plan.collectFirst { case Aggregate(_, list, _, _) => list.head }
    } catch {
      case e: AnalysisException if noAggregate(e.getCondition) => throw new BadDefinition(
        s"$aggregate", "is no aggregate: it has a value for each record, and not one for many", "say which is wanted: F.max(…), F.last(…) or another aggregate of it")
      case e: AnalysisException => throw new BadDefinition(s"$aggregate", e.getMessage, cause = e)
    }
    resolved.foreach(Casts.check("", _))
    resolved.map { case Alias(child, _) => child; case other => other }.map(_.transformUp { case e => spelledOut(e) }) match {
      case Some(AggregateExpression(_, _, true, _, _)) if !growing =>
        throw new BadDefinition(s"$aggregate", "distinct values would grow without bound", "use F.approx_count_distinct, whose state does not grow")
      case Some(AggregateExpression(f: DeclarativeAggregate, _, false, filter, _)) => new SparkFold(spark, f, filter)
      case Some(AggregateExpression(f: HyperLogLogPlusPlus, _, false, None, _)) => new SketchFold(spark, f)
      case Some(AggregateExpression(f: TypedImperativeAggregate[_], _, false, filter, _)) if sketch(f) =>
        new TypedFold(spark, f.asInstanceOf[TypedImperativeAggregate[Any]], filter)
      case Some(whole) if growing => GrowingFolds(spark, s"$aggregate", whole)
      case _ => throw new BadDefinition(
        s"$aggregate", "is not one aggregate function that can be carried along record by record",
        "use one by itself: F.count, sum, min, max, avg, first, last, stddev, approx_count_distinct, percentile_approx; " +
          "compute with it afterwards, in select")
    }
  }

  /** Whether it keeps a summary whose size does not grow with what it has seen. */
  private def sketch(function: TypedImperativeAggregate[_]): Boolean = function match {
    case _: ApproxTopK | _: ApproximatePercentile | _: CountMinSketchAgg | _: HllSketchAgg | _: ThetaSketchAgg => true
    case _: KllSketchAggBigint | _: KllSketchAggFloat | _: KllSketchAggDouble => true
    case _ => false
  }

  private def noAggregate(condition: String): Boolean = condition.startsWith("MISSING_GROUP_BY") || condition.startsWith("MISSING_AGGREGATION")
}

/** Spark writes most aggregates as expressions over buffers; they are used as they are. */
private[headrace] final class SparkFold(spark: SparkSession, function: DeclarativeAggregate, filter: Option[Expression]) extends Fold {
  private val arguments = (function.children ++ filter).filterNot(_.foldable).distinct
  private val holes = arguments.zipWithIndex.map { case (e, i) => AttributeReference(s"input_$i", e.dataType, e.nullable)() }
  private def hollow(e: Expression): Expression = { val i = arguments.indexOf(e); if (i < 0) e else holes(i) }
  private val body = function.withNewChildren(function.children.map(hollow)).asInstanceOf[DeclarativeAggregate]
  private val buffers = body.aggBufferAttributes

  override val inputs: JList[Column] = arguments.map(ExpressionUtils.column).asJava
  override def initial: JList[Column] = body.initialValues.map(ExpressionUtils.column).asJava

  override def update(before: JList[Column], values: JList[Column]): JList[Column] = {
    val fill = filler(buffers ++ holes, before.asScala.toSeq ++ values.asScala.toSeq)
    val condition = filter.map(f => fill(hollow(f)))
    body.updateExpressions.zip(before.asScala).map { case (e, old) =>
      ExpressionUtils.column(condition.fold(fill(e))(c => If(Coalesce(Seq(c, Literal(false))), fill(e), spark.expression(old))))
    }.asJava
  }

  override def merge(left: JList[Column], right: JList[Column]): JList[Column] = {
    val fill = filler(buffers ++ body.inputAggBufferAttributes, left.asScala.toSeq ++ right.asScala.toSeq)
    body.mergeExpressions.map(e => ExpressionUtils.column(fill(e))).asJava
  }

  override def result(after: JList[Column]): Column = ExpressionUtils.column(filler(buffers, after.asScala.toSeq)(body.evaluateExpression))

  private def filler(from: Seq[Attribute], to: Seq[Column]): Expression => Expression = {
    val map = AttributeMap(from.zip(to.map(spark.expression)))
    _.transformUp { case a: AttributeReference if map.contains(a) => map(a) } // up: what was put in is not looked at again
  }
}

/** approx_count_distinct is not made of expressions in Spark, so its sketch is kept as an array of words. */
private[headrace] final class SketchFold(spark: SparkSession, function: HyperLogLogPlusPlus) extends Fold {
  private val words = new HyperLogLogPlusPlusHelper(function.relativeSD).numWords

  override val inputs: JList[Column] = Seq(ExpressionUtils.column(function.child)).asJava
  override def initial: JList[Column] =
    Seq(ExpressionUtils.column(Literal.create(Seq.fill(words)(0L), ArrayType(LongType, containsNull = false)))).asJava
  override def update(before: JList[Column], values: JList[Column]): JList[Column] =
    Seq(ExpressionUtils.column(SketchAdd(spark.expression(before.get(0)), spark.expression(values.get(0)), function.relativeSD))).asJava
  override def merge(left: JList[Column], right: JList[Column]): JList[Column] =
    Seq(ExpressionUtils.column(SketchMerge(spark.expression(left.get(0)), spark.expression(right.get(0)), function.relativeSD))).asJava
  override def result(after: JList[Column]): Column =
    ExpressionUtils.column(SketchSize(spark.expression(after.get(0)), function.relativeSD))
}

/** The sketch with one more value in it; a null adds nothing. */
case class SketchAdd(left: Expression, right: Expression, relativeSD: Double) extends BinaryExpression with CodegenFallback {
  @transient private lazy val sketch = new HyperLogLogPlusPlusHelper(relativeSD)
  override def dataType: DataType = left.dataType
  override def nullable: Boolean = left.nullable
  override def eval(row: InternalRow): Any = {
    val words = left.eval(row).asInstanceOf[ArrayData]
    val value = right.eval(row)
    if (words == null || value == null) words
    else {
      val buffer = SketchAdd.buffer(words)
      sketch.update(buffer, 0, value, right.dataType)
      new GenericArrayData(buffer.values)
    }
  }
  override protected def withNewChildrenInternal(l: Expression, r: Expression): Expression = copy(l, r)
}

/** One sketch of what two have seen. */
case class SketchMerge(left: Expression, right: Expression, relativeSD: Double) extends BinaryExpression with CodegenFallback {
  @transient private lazy val sketch = new HyperLogLogPlusPlusHelper(relativeSD)
  override def dataType: DataType = left.dataType
  override protected def nullSafeEval(words: Any, others: Any): Any = {
    val buffer = SketchAdd.buffer(words.asInstanceOf[ArrayData])
    sketch.merge(buffer, SketchAdd.buffer(others.asInstanceOf[ArrayData]), 0, 0)
    new GenericArrayData(buffer.values)
  }
  override protected def withNewChildrenInternal(l: Expression, r: Expression): Expression = copy(l, r)
}

object SketchAdd {
  private[headrace] def buffer(words: ArrayData): GenericInternalRow =
    new GenericInternalRow(Array.tabulate[Any](words.numElements())(words.getLong))
}

/** About how many different values the sketch has seen. */
case class SketchSize(child: Expression, relativeSD: Double) extends UnaryExpression with CodegenFallback {
  @transient private lazy val sketch = new HyperLogLogPlusPlusHelper(relativeSD)
  override def dataType: DataType = LongType
  override protected def nullSafeEval(words: Any): Any = sketch.query(SketchAdd.buffer(words.asInstanceOf[ArrayData]), 0)
  override protected def withNewChildInternal(c: Expression): Expression = copy(c)
}
