package org.apache.spark.sql.headrace

import java.util.UUID

import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeMap}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.streaming.TimeMode
import org.apache.spark.unsafe.types.CalendarInterval

/** Where a stream's watermark is measured.
  *
  * Behind a union there would be one for all its inputs, which follows the fastest, and the records of the others would be late. So each
  * input has a watermark of its own, and of several Spark takes the least. What is between the union and the place where the time is said
  * is done in each input by itself, and the union comes last. Inputs that are all read from one source go on together: they have one
  * watermark, behind the union.
  */
object Watermarks {
  /** A stream that has just been given its watermark, with the watermark moved to where it belongs. */
  def placed(marked: Dataset[Row]): DataFrame = marked.queryExecution.analyzed match {
    case EventTimeWatermark(_, time, delay, stream) if meeting(stream).isDefined => Dataset.ofRows(marked.sparkSession, place(stream, time, delay))
    case _ => marked
  }

  private def place(stream: LogicalPlan, time: Attribute, delay: CalendarInterval): LogicalPlan = meeting(stream) match {
    case None if time.metadata.contains(EventTimeWatermark.delayKey) => stream // its time has been said before
    case None => EventTimeWatermark(UUID.randomUUID(), time, delay, stream)
    case Some(Meeting(union, after)) =>
      val inputs = union.children.map { input =>
        val alone = after.foldLeft(named(input, union.output))((below, step) => step(below))
        place(alone, alone.output.find(_.exprId == time.exprId).get, delay)
      }
      // The first gives the union's columns their identity; those of the others must differ from them.
      Union(inputs.head +: inputs.tail.map(input => Project(input.output.map(a => Alias(a, a.name)()), input)))
  }

  /** An input of a union with the columns that those behind the union know. */
  private def named(input: LogicalPlan, columns: Seq[Attribute]): LogicalPlan =
    if (input.output.map(_.exprId) == columns.map(_.exprId)) input
    else Project(input.output.zip(columns).map { case (own, common) => Alias(own, common.name)(exprId = common.exprId) }, input)

  /** A union of several sources, and what is done after it, the first thing first. */
  private final case class Meeting(union: Union, after: List[LogicalPlan => LogicalPlan])

  private def meeting(plan: LogicalPlan): Option[Meeting] = {
    def find(node: LogicalPlan, after: List[LogicalPlan => LogicalPlan]): Option[Meeting] = (node, rows(node)) match {
      case (union: Union, _) => Option.when(sources(union).size > 1)(Meeting(union, after))
      case (_, Some(child)) => find(child, renewed(node, child) _ :: after)
      case (scan: TransformWithState, _) if scan.timeMode == TimeMode.ProcessingTime() => None // time begins anew behind it
      case _ if node.exists(mixes) => throw new BadDefinition("union", s"the streams that met in it have no event_time of their own, and behind " +
        s"${node.nodeName} it is too late for that: the fastest would make the others late")
      case _ => None
    }
    find(plan, Nil)
  }

  /** What an operator makes rows of, one by one and without state, so that it may as well be done before a union. */
  private def rows(node: LogicalPlan): Option[LogicalPlan] = node match {
    case _: Project | _: Filter | _: Generate | _: SubqueryAlias | _: ResolvedHint | _: RepartitionOperation => Some(node.children.head)
    case join: Join => Seq(join.left, join.right).filter(_.isStreaming) match { case Seq(one) => Some(one); case _ => None }
    case _ => None
  }

  /** The operator over another child, of which it takes the columns as they are there: with their watermark, if they have one. */
  private def renewed(node: LogicalPlan, child: LogicalPlan)(below: LogicalPlan): LogicalPlan = {
    val columns = AttributeMap(below.output.map(a => a -> a))
    node.withNewChildren(node.children.map(c => if (c eq child) below else c)).transformExpressions {
      case a: Attribute => columns.getOrElse(a, a)
    }
  }

  private def mixes(node: LogicalPlan): Boolean = node match {
    case union: Union => sources(union).size > 1 && !union.children.forall(_.exists(_.isInstanceOf[EventTimeWatermark]))
    case _ => false
  }

  private def sources(plan: LogicalPlan): Set[LogicalPlan] = plan.collectLeaves().filter(_.isStreaming).toSet
}
