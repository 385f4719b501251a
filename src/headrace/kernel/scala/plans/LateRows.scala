package org.apache.spark.sql.headrace

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.aggregate.Partial
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.streaming.InternalOutputModes.Complete
import org.apache.spark.sql.execution.{FilterExec, SparkPlan}
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.execution.streaming.operators.stateful.{StateStoreSaveExec, WatermarkSupport}
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec
import org.apache.spark.sql.streaming.StateOperatorProgress
import org.apache.spark.sql.types.{BooleanType, DataType}

/** Counts the rows that a window drops because they are late, each of them. Spark looks at them when those of a batch with the same key and
  * window have become one already, and counts that one. Here they are dropped before, by the same condition.
  *
  * Behind a scan whose rows are behind the watermark (`time_behind`) the window waits so much longer. */
object CountLateRows extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan = plan.transformUp {
    case save: StateStoreSaveExec if !save.isInstanceOf[CountingSave] && !save.outputMode.contains(Complete) => counting(save).getOrElse(save)
    case other: WatermarkSupport if !other.isInstanceOf[StateStoreSaveExec] && !scans(other) && lag(other.children) > 0 && other.watermarkExpressionForLateEvents.isDefined =>
      throw new IllegalStateException(
        s"${other.nodeName} goes by the time of a join before it, which is behind the watermark, and Spark's own does not wait for it: put a topic between")
  }

  private def counting(whole: StateStoreSaveExec): Option[SparkPlan] = {
    val millis = lag(whole.children)
    val save = if (millis == 0) whole else whole.copy(
      eventTimeWatermarkForLateEvents = whole.eventTimeWatermarkForLateEvents.map(earlier(_, millis)),
      eventTimeWatermarkForEviction = whole.eventTimeWatermarkForEviction.map(earlier(_, millis)))
    for {
      late <- save.watermarkExpressionForLateEvents
      first <- save.child.collectFirst { case merge: BaseAggregateExec if merge.aggregateExpressions.exists(_.mode == Partial) => merge }
      if late.references.subsetOf(first.child.outputSet)
    } yield {
      val rows = SQLMetrics.createMetric(save.session.sparkContext, "number of rows which are dropped by watermark")
      val counted = save.child.transformUp { case merge if merge eq first => merge.withNewChildren(Seq(FilterExec(OnTime(late, rows), first.child))) }
      new CountingSave(save, rows, counted, millis)
    }
  }

  private def earlier(watermark: Long, millis: Long): Long = Math.max(0L, watermark - millis)

  private def scans(plan: SparkPlan): Boolean = plan match {
    case scan: TransformWithStateExec => (scan.statefulProcessor: Any).isInstanceOf[ScanProcessor] // it knows its lag itself
    case _ => false
  }

  /** So many milliseconds may the rows of these be behind the watermark. */
  private def lag(plans: Seq[SparkPlan]): Long = plans.map { plan =>
    lag(plan.children) + (plan match {
      case scan: TransformWithStateExec => (scan.statefulProcessor: Any) match {
        case ours: ScanProcessor => -Math.floorDiv(-ours.plan.behind, 1000L)
        case _ => 0L
      }
      case _ => 0L
    })
  }.maxOption.getOrElse(0L)
}

/** Whether a row is not late; counts those that are. */
case class OnTime(child: Expression, late: SQLMetric) extends UnaryExpression {
  override def dataType: DataType = BooleanType
  override def nullable: Boolean = false
  override def eval(row: InternalRow): Boolean = keep(child.eval(row) == true)

  /** For the code that Spark generates, too. */
  def keep(isLate: Boolean): Boolean = {
    if (isLate) late.add(1)
    !isLate
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    import org.apache.spark.sql.catalyst.expressions.codegen.Block._
    import org.apache.spark.sql.catalyst.expressions.codegen.FalseLiteral
    val self = ctx.addReferenceObj("onTime", this, classOf[OnTime].getName)
    val isLate = child.genCode(ctx)
    ev.copy(code = isLate.code + code"final boolean ${ev.value} = $self.keep(!${isLate.isNull} && ${isLate.value});", isNull = FalseLiteral)
  }

  override protected def withNewChildInternal(newChild: Expression): Expression = copy(newChild)
}

/** Spark's own, which reports those rows as dropped. Its watermarks are `lag` milliseconds behind Spark's. */
class CountingSave(save: StateStoreSaveExec, late: SQLMetric, child: SparkPlan, lag: Long)
    extends StateStoreSaveExec(
      save.keyExpressions,
      save.stateInfo,
      save.outputMode,
      save.eventTimeWatermarkForLateEvents,
      save.eventTimeWatermarkForEviction,
      save.stateFormatVersion,
      child,
    ) {
  override def nodeName: String = "StateStoreSave"
  override protected def withNewChildInternal(newChild: SparkPlan): StateStoreSaveExec = new CountingSave(save, late, newChild, lag)

  override def shouldRunAnotherBatch(watermark: Long): Boolean = super.shouldRunAnotherBatch(watermark - lag)

  /** Spark copies a node with the parameters of its constructor, of which this one has others. */
  override def makeCopy(args: Array[AnyRef]): SparkPlan = {
    val copied = StateStoreSaveExec(
      args(0).asInstanceOf[Seq[Attribute]], save.stateInfo, save.outputMode, save.eventTimeWatermarkForLateEvents, save.eventTimeWatermarkForEviction,
      save.stateFormatVersion, args.last.asInstanceOf[SparkPlan])
    new CountingSave(copied, late, copied.child, lag)
  }

  override def getProgress(): StateOperatorProgress = {
    val known = super.getProgress()
    known.copy(known.numRowsUpdated, known.numRowsDroppedByWatermark + late.value, known.numRowsRemoved)
  }
}
