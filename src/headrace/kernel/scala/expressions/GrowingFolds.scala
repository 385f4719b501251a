package org.apache.spark.sql.headrace

import java.util.{List => JList}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.util.{ArrayData, GenericArrayData}
import org.apache.spark.sql.classic.{ExpressionUtils, SparkSession}
import org.apache.spark.sql.types._

/** The aggregates whose buffers grow with what they see, for those who keep them only as long as a window: lists, percentiles, distinct values;
  * and expressions of several aggregates. */
private[headrace] object GrowingFolds {
  def apply(spark: SparkSession, named: String, whole: Expression): Fold = whole match {
    case AggregateExpression(f, mode, true, filter, _) => new DistinctFold(spark, apply(spark, named, AggregateExpression(f, mode, isDistinct = false)), filter)
    case AggregateExpression(f: DeclarativeAggregate, _, _, filter, _) => new SparkFold(spark, f, filter)
    case AggregateExpression(f: HyperLogLogPlusPlus, _, _, None, _) => new SketchFold(spark, f)
    case AggregateExpression(f: TypedImperativeAggregate[_], _, _, filter, _) =>
      new TypedFold(spark, f.asInstanceOf[TypedImperativeAggregate[Any]], filter)
    case AggregateExpression(f, _, _, _, _) => throw new BadDefinition(
      named, s"has '${f.prettyName}', which cannot be carried along record by record", "use another of Spark's aggregates, or hr.fold(…)")
    case several => new SeveralFold(spark, several, collected(several).map(one => one -> apply(spark, named, one)))
  }

  private def collected(e: Expression): Seq[AggregateExpression] = e match {
    case one: AggregateExpression => Seq(one)
    case other => other.children.flatMap(collected).distinctBy(_.canonicalized)
  }

  def columns(expressions: Seq[Expression]): JList[Column] = expressions.map(ExpressionUtils.column).asJava
}

/** An expression of several aggregates, such as a quotient of sums. */
private[headrace] final class SeveralFold(spark: SparkSession, whole: Expression, parts: Seq[(AggregateExpression, Fold)]) extends Fold {
  private val folds = parts.map(_._2)
  private def joined(of: Fold => JList[Column]): JList[Column] = folds.flatMap(of(_).asScala).asJava

  override val inputs: JList[Column] = joined(_.inputs)
  override def initial: JList[Column] = joined(_.initial)

  override def update(before: JList[Column], values: JList[Column]): JList[Column] =
    together(split(before, _.initial).zip(split(values, _.inputs)).zip(folds).map { case ((own, its), fold) => fold.update(own, its) })

  override def merge(left: JList[Column], right: JList[Column]): JList[Column] =
    together(split(left, _.initial).zip(split(right, _.initial)).zip(folds).map { case ((one, other), fold) => fold.merge(one, other) })

  override def result(after: JList[Column]): Column = {
    val values = parts.zip(split(after, _.initial)).map { case ((part, fold), own) => part.canonicalized -> spark.expression(fold.result(own)) }.toMap
    ExpressionUtils.column(whole.transformDown { case part: AggregateExpression => values(part.canonicalized) })
  }

  private def together(lists: Seq[JList[Column]]): JList[Column] = lists.flatMap(_.asScala).asJava

  private def split(all: JList[Column], size: Fold => JList[Column]): Seq[JList[Column]] = {
    val ends = folds.scanLeft(0)((end, fold) => end + size(fold).size)
    ends.zip(ends.tail).map { case (from, to) => all.subList(from, to) }
  }
}

/** Each different input counts once: they are kept, and the aggregate is made of them when it is asked for. */
private[headrace] final class DistinctFold(spark: SparkSession, fold: Fold, filter: Option[Expression]) extends Fold {
  private val arguments = fold.inputs.asScala.toSeq.map(spark.expression)
  private val element = StructType(arguments.zipWithIndex.map { case (e, i) => StructField(s"_$i", e.dataType) } :+ StructField("_", BooleanType))
  private val kind = ArrayType(element, containsNull = false)

  override val inputs: JList[Column] = GrowingFolds.columns(arguments.map(Keys.normal) ++ filter)
  override def initial: JList[Column] = GrowingFolds.columns(Seq(Literal.create(Nil, kind)))

  override def update(before: JList[Column], values: JList[Column]): JList[Column] = {
    val all = values.asScala.toSeq.map(spark.expression)
    val old = spark.expression(before.get(0))
    val fields = all.take(arguments.size).zipWithIndex.map { case (e, i) => s"_$i" -> e } :+ ("_" -> Literal(true)) // one, if there are no inputs
    val added = SetAdd(old, Rows.struct(fields), element)
    GrowingFolds.columns(Seq(all.drop(arguments.size).headOption.fold[Expression](added)(c => If(Coalesce(Seq(c, Literal(false))), added, old))))
  }

  override def merge(left: JList[Column], right: JList[Column]): JList[Column] =
    GrowingFolds.columns(Seq(SetMerge(spark.expression(left.get(0)), spark.expression(right.get(0)), element)))

  override def result(after: JList[Column]): Column = {
    val first = fold.initial.asScala.toSeq.map(spark.expression)
    val kinds = StructType(first.zipWithIndex.map { case (e, i) => StructField(s"_$i", e.dataType) }).asNullable
    val total = NamedLambdaVariable("total", kinds, nullable = false)
    val one = NamedLambdaVariable("one", element, nullable = false)
    def parts(of: NamedLambdaVariable, size: Int): JList[Column] = GrowingFolds.columns((0 until size).map(i => GetStructField(of, i, Some(s"_$i"))))
    def struct(values: Seq[Expression]): Expression = Rows.struct(values.zip(kinds).map { case (e, f) => f.name -> e })
    val step = fold.update(parts(total, first.size), parts(one, arguments.size)).asScala.toSeq.map(spark.expression)
    ExpressionUtils.column(ArrayAggregate(
      spark.expression(after.get(0)), Cast(struct(first), kinds), LambdaFunction(Cast(struct(step), kinds), Seq(total, one)),
      LambdaFunction(spark.expression(fold.result(parts(total, first.size))), Seq(total))))
  }
}

/** The set with one more row in it, if it has none of the same bytes. */
case class SetAdd(left: Expression, right: Expression, element: StructType) extends BinaryExpression with CodegenFallback {
  @transient private lazy val bytes = UnsafeProjection.create(element)
  override def dataType: DataType = ArrayType(element, containsNull = false)
  override protected def nullSafeEval(set: Any, row: Any): Any = SetAdd.added(set.asInstanceOf[ArrayData], bytes(row.asInstanceOf[InternalRow]), element.size)
  override protected def withNewChildrenInternal(l: Expression, r: Expression): Expression = copy(l, r)
}

object SetAdd {
  private[headrace] def added(set: ArrayData, row: UnsafeRow, width: Int): ArrayData = {
    val size = set.numElements()
    var i = 0
    while (i < size && set.getStruct(i, width) != row) i += 1
    if (i < size) set
    else new GenericArrayData(Array.tabulate[Any](size + 1)(n => if (n < size) set.getStruct(n, width) else row.copy()))
  }
}

/** All that is in one of two sets. */
case class SetMerge(left: Expression, right: Expression, element: StructType) extends BinaryExpression with CodegenFallback {
  @transient private lazy val bytes = UnsafeProjection.create(element)
  override def dataType: DataType = ArrayType(element, containsNull = false)
  override protected def nullSafeEval(one: Any, other: Any): Any = {
    val more = other.asInstanceOf[ArrayData]
    (0 until more.numElements()).foldLeft(one.asInstanceOf[ArrayData])((set, i) => SetAdd.added(set, bytes(more.getStruct(i, element.size)), element.size))
  }
  override protected def withNewChildrenInternal(l: Expression, r: Expression): Expression = copy(l, r)
}

/** What Spark computes with an object of its own: kept as the bytes that Spark sends from task to task. Null: it has seen nothing. */
private[headrace] final class TypedFold(spark: SparkSession, function: TypedImperativeAggregate[Any], filter: Option[Expression]) extends Fold {
  private val arguments = (function.children ++ filter).filterNot(_.foldable).distinct
  private def hollow(e: Expression): Expression = e match {
    case known if arguments.contains(known) => BoundReference(arguments.indexOf(known), known.dataType, nullable = true)
    case other => other
  }
  private val body = function.withNewChildren(function.children.map(hollow)).asInstanceOf[TypedImperativeAggregate[Any]]

  override val inputs: JList[Column] = GrowingFolds.columns(arguments)
  override def initial: JList[Column] = GrowingFolds.columns(Seq(Literal(null, BinaryType)))

  override def update(before: JList[Column], values: JList[Column]): JList[Column] = {
    val all = values.asScala.toSeq.map(spark.expression)
    val old = spark.expression(before.get(0))
    val added = TypedAdd(old +: all, body)
    GrowingFolds.columns(Seq(filter.fold[Expression](added)(f => If(Coalesce(Seq(all(arguments.indexOf(f)), Literal(false))), added, old))))
  }

  override def merge(left: JList[Column], right: JList[Column]): JList[Column] =
    GrowingFolds.columns(Seq(TypedMerge(spark.expression(left.get(0)), spark.expression(right.get(0)), body)))

  override def result(after: JList[Column]): Column = ExpressionUtils.column(TypedResult(spark.expression(after.get(0)), body))
}

/** The bytes of an aggregate with one record more. */
case class TypedAdd(children: Seq[Expression], function: TypedImperativeAggregate[Any]) extends Expression with CodegenFallback {
  @transient private lazy val values = new GenericInternalRow(children.size - 1)
  override def dataType: DataType = BinaryType
  override def nullable: Boolean = false
  override def eval(row: InternalRow): Any = {
    val buffer = TypedAdd.opened(function, children.head.eval(row))
    for (i <- 1 until children.size) values.update(i - 1, children(i).eval(row))
    TypedAdd.closed(function, function.update(buffer, values))
  }
  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): Expression = copy(newChildren)
}

object TypedAdd {
  private[headrace] def opened(function: TypedImperativeAggregate[Any], bytes: Any): Any =
    if (bytes == null) function.createAggregationBuffer() else function.deserialize(bytes.asInstanceOf[Array[Byte]])

  /** A copy: some give away the bytes that they write the next one over. */
  private[headrace] def closed(function: TypedImperativeAggregate[Any], buffer: Any): Array[Byte] = function.serialize(buffer).clone()
}

/** The bytes of an aggregate of all that two have seen. */
case class TypedMerge(left: Expression, right: Expression, function: TypedImperativeAggregate[Any]) extends BinaryExpression with CodegenFallback {
  override def dataType: DataType = BinaryType
  override def nullable: Boolean = true
  override def eval(row: InternalRow): Any = {
    val (one, other) = (left.eval(row), right.eval(row))
    if (one == null) other else if (other == null) one
    else TypedAdd.closed(function, function.merge(TypedAdd.opened(function, one), TypedAdd.opened(function, other)))
  }
  override protected def withNewChildrenInternal(l: Expression, r: Expression): Expression = copy(l, r)
}

/** The value of an aggregate. */
case class TypedResult(child: Expression, function: TypedImperativeAggregate[Any]) extends UnaryExpression with CodegenFallback {
  override def dataType: DataType = function.dataType
  override def nullable: Boolean = true
  override def eval(row: InternalRow): Any = function.eval(TypedAdd.opened(function, child.eval(row)))
  override protected def withNewChildInternal(c: Expression): Expression = copy(c)
}
