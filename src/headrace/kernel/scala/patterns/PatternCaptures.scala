package org.apache.spark.sql.headrace

import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.{UnresolvedAttribute, UnresolvedFunction, UnresolvedStar}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical.Aggregate
import org.apache.spark.sql.classic.{ExpressionUtils, SparkSession}
import org.apache.spark.sql.execution.LogicalRDD
import org.apache.spark.sql.types._

/** What a match remembers of the records that it has taken: the buffers of the aggregates that conditions and output ask for, and no more.
  *
  * `sum(small.amount)` is over the records that the step `small` has taken, `small.amount` is that of the last of them, and `match` stands for
  * all steps together, as the name of a union does for some. A bare name is the record at hand in a condition, and the last one that was taken in
  * the output. `__step` is the name of the step that took a record. */
private[headrace] final class Captures(spark: SparkSession, record: Seq[Attribute], steps: Seq[String], unions: Map[String, Seq[String]]) {
  private val all = "match"
  private val owners: Map[String, Seq[Attribute]] = (steps ++ unions.keys :+ all).map(owner => owner -> record.map(_.newInstance().withQualifier(Seq(owner)))).toMap
  private val marks: Map[String, Attribute] = owners.keys.map(owner => owner -> AttributeReference("__record", BooleanType, nullable = false)(qualifier = Seq(owner))).toMap
  private val takers: Map[String, Attribute] = owners.keys.map(owner => owner -> AttributeReference("__step", StringType, nullable = false)(qualifier = Seq(owner))).toMap
  private val hidden = AttributeSet(marks.values ++ takers.values)
  private val ownerOf: Map[ExprId, String] = owners.flatMap { case (owner, columns) => (columns :+ marks(owner) :+ takers(owner)).map(_.exprId -> owner) }
  private val kept = ArrayBuffer.empty[Kept]

  /** An aggregate over the records of an owner, with the columns that hold its buffers. */
  private final case class Kept(owner: String, function: AggregateFunction, distinct: Boolean, filter: Option[Expression], fold: Fold, buffers: Seq[Attribute])

  def buffers: Seq[Attribute] = kept.toSeq.flatMap(_.buffers)
  def initial: Seq[Expression] = kept.toSeq.flatMap(_.fold.initial.asScala.map(spark.expression))
  def described: Seq[String] = kept.toSeq.map(k => s"${k.owner} ${k.function.sql} ${k.buffers.map(_.dataType.simpleString)}")

  /** The buffers when a step takes the record. */
  def updates(step: String): Seq[Expression] = kept.toSeq.flatMap {
    case Kept(owner, _, _, _, fold, before) if owner == step || owner == all || unions.get(owner).exists(_.contains(step)) =>
      val mine = AttributeMap(owners(owner).zip(record).map { case (a, r) => a -> (r: Expression) } ++
        Seq(marks(owner) -> Literal(true), takers(owner) -> Literal(step)))
      fold.update(before.map(ExpressionUtils.column).asJava, fold.inputs).asScala.map(spark.expression(_).transform { case a: Attribute => mine.getOrElse(a, a) })
    case other => other.buffers
  }

  def condition(at: String, column: Column): Expression = {
    val Seq(one) = resolved(at, column, "record", owners.values.flatten.toSeq ++ record ++ hidden)
    Scope.fit(at, remembered(at, one match { case Alias(child, _) => child; case other => other }), BooleanType)
  }

  def output(at: String, columns: Seq[Column]): Seq[NamedExpression] =
    columns.flatMap(resolved(at, _, all, owners.values.flatten.toSeq ++ hidden)).map {
      case a: Attribute => Alias(remembered(at, a), a.name)()
      case alias: Alias => Alias(remembered(at, alias.child), alias.name)()
    }

  private def resolved(at: String, column: Column, bare: String, columns: Seq[Attribute]): Seq[NamedExpression] = try {
    val relation = LogicalRDD(columns, spark.sparkContext.emptyRDD[InternalRow])(spark)
    val named = qualified(bare, Set.empty)(spark.toRichColumn(column).named).asInstanceOf[NamedExpression]
    spark.sessionState.analyzer.execute(Aggregate(Nil, Seq(named), relation)) match {
      case Aggregate(_, list, leaf, _) if (leaf eq relation) && list.forall(_.resolved) => list.filterNot(c => hidden.contains(c.toAttribute))
      case plan =>
        spark.sessionState.analyzer.checkAnalysis(plan)
        throw new BadDefinition(at, s"'$column' is more than one value of a match", "write it with aggregates over what a step has taken: F.sum('small.amount')")
    }
  } catch {
    case e: BadDefinition => throw e
    case NonFatal(e) => throw new BadDefinition(at, e.getMessage, cause = e)
  }

  /** Names as they are meant: what no step is named before is `bare`, but for the variables of lambdas; and `count(small.*)` counts records. */
  private def qualified(bare: String, variables: Set[String])(e: Expression): Expression = {
    def known(name: String) = name.equalsIgnoreCase("record") || owners.keys.exists(_.equalsIgnoreCase(name))
    def full(parts: Seq[String]) = if (parts.size > 1 && known(parts.head)) parts else bare +: parts
    e match {
      case f: UnresolvedFunction if f.nameParts.size == 1 && f.nameParts.head.equalsIgnoreCase("count") && f.arguments.size == 1 => f.arguments.head match {
        case UnresolvedStar(Some(Seq(owner))) => f.copy(arguments = Seq(UnresolvedAttribute(Seq(owner, "__record"))))
        case _ => f.mapChildren(qualified(bare, variables))
      }
      case a: UnresolvedAttribute => UnresolvedAttribute(full(a.nameParts))
      case UnresolvedStar(target) => UnresolvedStar(Some(target.fold(Seq(bare))(full)))
      case LambdaFunction(body, arguments, hidden) =>
        LambdaFunction(qualified(bare, variables ++ arguments.map(_.name.toLowerCase))(body), arguments, hidden)
      case v: UnresolvedNamedLambdaVariable if !variables(v.nameParts.head.toLowerCase) => UnresolvedAttribute(full(v.nameParts))
      case other => other.mapChildren(qualified(bare, variables))
    }
  }

  /** The expression over buffers, instead of aggregates. */
  private def remembered(at: String, e: Expression): Expression = {
    def replaced(e: Expression): Expression = Folds.spelledOut(e) match {
      case AggregateExpression(function, _, distinct, filter, _) => keep(at, function, distinct, filter)
      case a: Attribute if ownerOf.contains(a.exprId) => keep(at, Last(a, ignoreNulls = false), distinct = false, None)
      case other => other.mapChildren(replaced)
    }
    val over = replaced(e)
    Scope.check(at, over)
    over
  }

  private def keep(at: String, function: AggregateFunction, distinct: Boolean, filter: Option[Expression]): Expression = {
    val read = (function.children ++ filter).flatMap(_.references)
    val owner = read.map(a => ownerOf.getOrElse(a.exprId, "")).distinct match {
      case Seq(one) if one.nonEmpty => one
      case Seq() => all
      case _ => throw new BadDefinition(
        at, s"'${function.prettyName}' looks at records of more than one step, or at the record at hand",
        "an aggregate is over what one step has taken, sum(small.amount), or over all of it, sum(match.amount); compare lists otherwise: " +
          "exists(collect_list(small.amount), x -> x > amount)")
    }
    (function.children ++ filter).foreach(Scope.check(at, _))
    val same = kept.find(k => k.owner == owner && k.function == function && k.distinct == distinct && k.filter == filter).getOrElse {
      val fold = function match {
        case list: CollectList if !distinct => new ListFold(spark, list, filter)
        case other => GrowingFolds(spark, at, AggregateExpression(other, Complete, distinct, filter))
      }
      val buffers = fold.initial.asScala.toSeq.map(spark.expression).zipWithIndex.map { case (first, i) =>
        AttributeReference(s"${owner}_${function.prettyName}_${kept.size}_$i", first.dataType.asNullable)()
      }
      kept += Kept(owner, function, distinct, filter, fold, buffers)
      kept.last
    }
    spark.expression(same.fold.result(same.buffers.map(ExpressionUtils.column).asJava))
  }
}

/** collect_list is not made of expressions in Spark. As there, a null is left out. */
private[headrace] final class ListFold(spark: SparkSession, function: CollectList, filter: Option[Expression]) extends Fold {
  import java.util.{List => JList}

  private val kind = ArrayType(function.child.dataType, containsNull = false)
  override val inputs: JList[Column] = (function.child +: filter.toSeq).map(ExpressionUtils.column).asJava
  override def initial: JList[Column] = Seq(ExpressionUtils.column(Literal.create(Nil, kind))).asJava
  override def update(before: JList[Column], values: JList[Column]): JList[Column] = {
    val (list, value, more) = (spark.expression(before.get(0)), spark.expression(values.get(0)), values.asScala.drop(1).map(spark.expression))
    val counts = more.foldLeft[Expression](IsNotNull(value))((one, other) => And(one, Coalesce(Seq(other, Literal(false)))))
    Seq(ExpressionUtils.column(If(counts, Concat(Seq(list, CreateArray(Seq(value)))), list))).asJava
  }
  override def merge(left: JList[Column], right: JList[Column]): JList[Column] =
    Seq(ExpressionUtils.column(Concat(Seq(spark.expression(left.get(0)), spark.expression(right.get(0)))))).asJava
  override def result(after: JList[Column]): Column = after.get(0)
}
