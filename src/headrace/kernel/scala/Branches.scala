package org.apache.spark.sql.headrace

import java.util.{List => JList}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.{Inner, LeftOuter}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.types._

/** Several branches of one stream in one plan that has no branches.
  *
  * A union of two branches would read the source twice and keep the state twice, and the two could differ: a record might be late for one and
  * on time for the other. So each row behind the fork is copied, once for each branch, and every operator of a branch is made to do its work on
  * its own copies only and to let the others pass. */
object Branches {
  /** The rows of all branches, which must have the same columns. */
  def merge(fork: Dataset[Row], branches: JList[Dataset[Row]]): DataFrame = {
    val root = fork.queryExecution.analyzed
    val branch = AttributeReference("__branch", IntegerType, nullable = false)()
    val numbers = Literal.create(branches.asScala.indices.toList, ArrayType(IntegerType, containsNull = false))
    val copies: LogicalPlan = Generate(Explode(numbers), Nil, outer = false, None, Seq(branch), root)
    val (plan, ends) = branches.asScala.zipWithIndex.foldLeft((copies, Seq.empty[Seq[Expression]])) { case ((below, done), (frame, number)) =>
      val end = frame.queryExecution.analyzed
      val own = new Branch(root, below, EqualTo(branch, Literal(number)))
      (own.graft(end), done :+ end.output.map(own.here(_)))
    }
    val columns = ends.transpose.zip(branches.get(0).schema.fieldNames).map { case (same, name) =>
      Alias(CaseWhen(same.zipWithIndex.map { case (column, number) => (EqualTo(branch, Literal(number)): Expression, column) }, None), name)()
    }
    Dataset.ofRows(fork.sparkSession, Project(columns, plan))
  }
}

/** One branch: `below` takes the place of `root`, and `mine` tells which of its rows are this branch's. */
private final class Branch(root: LogicalPlan, below: LogicalPlan, mine: Expression) {
  // Two branches may have steps or tables in common. In one plan each has columns of its own.
  private val columns = scala.collection.mutable.Map.empty[ExprId, Attribute]

  /** An expression of the branch over the columns that it has here. */
  def here(e: Expression): Expression = e.transform { case a: Attribute => columns.getOrElse(a.exprId, a) }

  def graft(plan: LogicalPlan): LogicalPlan = plan match {
    case found if found eq root => below
    case SubqueryAlias(_, child) => graft(child)
    case Filter(condition, child) =>
      val input = graft(child)
      Filter(theirsOr(here(condition)), input)
    case Project(list, child) =>
      val input = graft(child)
      val made = list.collect { case alias: Alias => // what is only passed on is in the input already
        alias -> Alias(If(mine, here(alias.child), Literal(null, alias.dataType)), alias.name)(explicitMetadata = alias.explicitMetadata)
      }
      made.foreach { case (before, after) => columns(before.exprId) = after.toAttribute }
      Project(input.output ++ made.map(_._2), input)
    case Generate(generator: CollectionGenerator, _, outer, qualifier, output, child) =>
      val input = graft(child)
      val elements = here(generator.asInstanceOf[UnaryExpression].child)
      val some = And(IsNotNull(elements), GreaterThan(Size(elements, legacySizeOfNull = false), Literal(0)))
      // A row of another branch has null here, of which an outer explode makes one row.
      val mineAlone = generator.withNewChildren(Seq(If(mine, elements, Literal(null, elements.dataType)))).asInstanceOf[Generator]
      Generate(mineAlone, Nil, outer = true, qualifier, output.map(fresh), if (outer) input else Filter(theirsOr(some), input))
    case Join(child, table, kind @ (LeftOuter | Inner), condition, hint) if !table.isStreaming =>
      val input = graft(child)
      val matched = Alias(Literal(true), "__matched")()
      val own = table.output.map(column => Alias(column, column.name)(explicitMetadata = Some(column.metadata)))
      table.output.zip(own).foreach { case (before, after) => columns(before.exprId) = after.toAttribute.withNullability(true) }
      val joined = Join(input, Project(own :+ matched, table), LeftOuter, Some(condition.fold(mine)(c => And(mine, here(c)))), hint)
      if (kind == Inner) Filter(theirsOr(IsNotNull(matched.toAttribute)), joined) else joined
    case other => throw new BadDefinition("branch", s"${other.nodeName} cannot stand behind the place where several outputs part")
  }

  private def fresh(column: Attribute): Attribute = {
    val own = column.newInstance().withNullability(true)
    columns(column.exprId) = own
    own
  }

  private def theirsOr(condition: Expression): Expression = Or(Not(mine), condition)
}
