package org.apache.spark.sql.headrace

import java.util.{List => JList}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.{Inner, LeftOuter}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.streaming.StatefulProcessor
import org.apache.spark.sql.types._

/** Several branches of one stream in one plan that has no branches.
  *
  * A union of two branches would read the source twice and keep the state twice, and the two could differ: a record might be late for one and
  * on time for the other. So each row behind the fork is copied, once for each branch, and every operator of a branch is made to do its work on
  * its own copies only and to let the others pass. */
object Branches {
  /** The rows of all branches, which must have the same columns; each may be that of an output. */
  def merge(fork: Dataset[Row], branches: JList[Dataset[Row]], outputs: Boolean): DataFrame = {
    val root = fork.queryExecution.analyzed
    val branch = AttributeReference(if (outputs) Origins.branch else "__branch", IntegerType, nullable = false)()
    val start = Merging(copies(root, branches.asScala.map(_.queryExecution.analyzed).toSeq, branch), Nil, (root.output :+ branch).map(a => a.exprId -> a).toMap)
    val merged = branches.asScala.zipWithIndex.foldLeft(start) { case (below, (frame, number)) =>
      val more = number < branches.size - 1
      new Branch(root, below, below.columns(branch.exprId), number, more).join(frame.queryExecution.analyzed)
    }
    val which = merged.columns(branch.exprId)
    val columns = merged.ends.transpose.zip(branches.get(0).schema.fieldNames).map { case (same, name) =>
      Alias(CaseWhen(same.zipWithIndex.map { case (column, number) => (EqualTo(which, Literal(number)): Expression, column) }, None), name)()
    }
    Dataset.ofRows(fork.sparkSession, Project(columns, merged.plan))
  }

  /** The rows of the fork, a copy of each for each branch, with the branch's number. What most branches ask first is whether a row is refused,
    * `x IS NULL` of one x; so a row is copied for those alone that would not drop it. */
  private def copies(root: LogicalPlan, branches: Seq[LogicalPlan], number: Attribute): LogicalPlan = {
    val asked = branches.map(first(root, _))
    val subject = asked.flatten.collectFirst { case IsNull(e) if e.deterministic => e; case IsNotNull(e) if e.deterministic => e }
    def takers(isNull: Boolean): Seq[Int] = branches.indices.filter(i => asked(i).forall {
      case IsNull(e) if subject.exists(_.semanticEquals(e)) => isNull
      case IsNotNull(e) if subject.exists(_.semanticEquals(e)) => !isNull
      case _ => true
    })
    def list(numbers: Seq[Int]) = Literal.create(numbers.toList, ArrayType(IntegerType, containsNull = false))
    def exploded(numbers: Expression) = Generate(Explode(numbers), Nil, outer = false, None, Seq(number), root)
    (takers(isNull = true), takers(isNull = false)) match {
      case (same, others) if same == others => exploded(list(same))
      case (Seq(one), Seq(other)) =>
        Project(root.output :+ Alias(If(IsNull(subject.get), Literal(one), Literal(other)), number.name)(exprId = number.exprId), root)
      case (some, others) => exploded(If(IsNull(subject.get), list(some), list(others)))
    }
  }

  /** By what a branch filters the rows of the fork before anything else. */
  private def first(root: LogicalPlan, branch: LogicalPlan): Option[Expression] = branch match {
    case Filter(condition, child) if isFork(root, child) => Some(condition)
    case Join(left, _, _, _, _) => first(root, left)
    case scan: TransformWithState => first(root, scan.child)
    case one: UnaryNode => first(root, one.child)
    case _ => None
  }

  private def isFork(root: LogicalPlan, plan: LogicalPlan): Boolean = plan match {
    case SubqueryAlias(_, child) => isFork(root, child)
    case other => other eq root
  }

  /** Whether one plan can hold these branches. */
  def hold(fork: Dataset[Row], branches: JList[Dataset[Row]]): Boolean =
    try {
      val same = branches.asScala.map(frame => frame.select(org.apache.spark.sql.functions.lit(0)))
      merge(fork, same.asJava, outputs = false)
      true
    } catch { case _: BadDefinition => false }
}

/** The branches so far: one plan, the last columns of each branch, and where the columns of the fork are in it. */
private final case class Merging(plan: LogicalPlan, ends: Seq[Seq[Expression]], columns: Map[ExprId, Attribute])

/** One branch more: the plan of the others takes the place of `root`, and in its rows `which` is the number of their branch. If there are `more`
  * to come, they will want the columns of the root. */
private final class Branch(root: LogicalPlan, others: Merging, which: Attribute, number: Int, more: Boolean) {
  // Two branches may have steps or tables in common. In one plan each has columns of its own.
  private val columns = scala.collection.mutable.Map.from(others.columns)

  // A scan makes new rows, so what the others have is under new names behind it.
  private val moved = scala.collection.mutable.Map.empty[ExprId, Attribute]

  def join(end: LogicalPlan): Merging = {
    val plan = graft(end)
    Merging(
      plan,
      others.ends.map(_.map(_.transform { case a: Attribute => now(a) })) :+ end.output.map(here(_)),
      others.columns.map { case (id, a) => id -> now(a) })
  }

  /** What a column of the others is called by now. */
  private def now(a: Attribute): Attribute = moved.get(a.exprId).fold(a)(now)

  /** Whether a row is of this branch. */
  private def mine: Expression = EqualTo(now(which), Literal(number))

  /** An expression of the branch over the columns that it has here. */
  private def here(e: Expression): Expression = e.transform { case a: Attribute => place(a) }

  private def place(a: Attribute): Attribute = columns.getOrElse(a.exprId, a)

  private def graft(plan: LogicalPlan): LogicalPlan = plan match {
    case same if same eq root => others.plan
    case SubqueryAlias(_, child) => graft(child)
    case Filter(condition, child) =>
      val input = graft(child)
      Filter(theirsOr(here(condition)), input)
    case Project(list, scan: TransformWithState) if Scan.processor(scan).isDefined => passedBy(scan, list)
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

  /** A scan with the columns that are taken from its rows. Rows that are not this branch's pass it by: it gets them whole, in one more column, and
    * puts them out as they came. */
  private def passedBy(scan: TransformWithState, taken: Seq[NamedExpression]): LogicalPlan = {
    val input = graft(scan.child)
    val needed = AttributeSet(others.ends.flatten ++ Seq(which) ++ (if (more) others.columns.values else Nil))
    val carried = others.plan.output.filter(needed.contains)
    val whole = Rows.struct(carried.zipWithIndex.map { case (a, i) => s"_$i" -> (a: Expression) })
    val passing = Alias(If(mine, Literal(null, whole.dataType), whole), "__passing")()
    val rows = Project(scan.child.output.map(place) :+ passing, input)
    val own = scan.outputObjAttr.dataType.asInstanceOf[StructType]
    val out = AttributeReference("out", own.add("__passing", whole.dataType), nullable = false)()
    columns(scan.outputObjAttr.exprId) = out
    val processor = Scan.processor(scan).get
    val letting = processor.of(processor.plan.copy(passing = Some(Passing(scan.child.output.size, whole.dataType, own.size))))
    val moving = scan.copy(
      keyDeserializer = here(scan.keyDeserializer), groupingAttributes = scan.groupingAttributes.map(place),
      dataAttributes = scan.dataAttributes.map(place) :+ passing.toAttribute,
      statefulProcessor = letting.asInstanceOf[StatefulProcessor[Any, Any, Any]], outputObjAttr = out, child = rows)
    val passed = GetStructField(out, own.size)
    val back = carried.zipWithIndex.map { case (a, i) =>
      val value = GetStructField(passed, i)
      val same = Alias(if (a.exprId == which.exprId) If(IsNull(passed), Literal(number), value) else value, a.name)()
      moved(a.exprId) = same.toAttribute
      same
    }
    val fields = taken.map { column => // in rows that pass by, the scan's own columns are null
      val same = Alias(here(column match { case Alias(child, _) => child; case other => other }), column.name)(explicitMetadata = Some(column.metadata))
      columns(column.exprId) = same.toAttribute
      same
    }
    Project(back ++ fields, moving)
  }

  private def fresh(column: Attribute): Attribute = {
    val own = column.newInstance().withNullability(true)
    columns(column.exprId) = own
    own
  }

  private def theirsOr(condition: Expression): Expression = Or(Not(mine), condition)
}
