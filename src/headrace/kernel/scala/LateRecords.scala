package org.apache.spark.sql.headrace

import org.apache.spark.sql.catalyst.expressions.{Alias, GetStructField, If, LessThanOrEqual, Literal, NamedExpression}
import org.apache.spark.sql.catalyst.expressions.aggregate.Count
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.streaming.InternalOutputModes.Complete
import org.apache.spark.sql.execution.{CollectMetricsExec, SparkPlan}
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreSaveExec
import org.apache.spark.sql.types.{IntegerType, StructType}

/** Counts the late records that an aggregate drops. Spark combines those of a task, key and window before it drops them, and reports how
  * many are left. So they are counted where they go into the aggregate, and reported as an observed metric. (Other operators, session
  * windows among them, drop records as they are, and Spark's own count is right.) */
object LateRecords extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan = plan.transform {
    case save: StateStoreSaveExec if !save.outputMode.contains(Complete) && save.eventTimeWatermarkForLateEvents.exists(_ > 0) =>
      save.copy(child = counted(save.child, s"headrace_late_${save.getStateInfo.operatorId}", save.eventTimeWatermarkForLateEvents.get))
  }

  private def counted(node: SparkPlan, name: String, watermark: Long): SparkPlan = node match {
    case combine: BaseAggregateExec if combine.requiredChildDistributionExpressions.isEmpty => // before the shuffle
      combine.groupingExpressions.find(_.metadata.contains(EventTimeWatermark.delayKey)).fold(node) { key =>
        combine.withNewChildren(Seq(CollectMetricsExec(name, Seq(late(key, watermark)), combine.child)))
      }
    case other => other.withNewChildren(other.children.map(counted(_, name, watermark)))
  }

  /** How many are of a time, or in a window with an end, that the watermark has reached. */
  private def late(key: NamedExpression, watermark: Long): NamedExpression = {
    val value = key match { case Alias(computed, _) => computed; case column => column }
    val time = if (value.dataType.isInstanceOf[StructType]) GetStructField(value, 1) else value
    val isLate = LessThanOrEqual(time, Literal(watermark * 1000, time.dataType))
    Alias(Count(If(isLate, Literal(1), Literal(null, IntegerType))).toAggregateExpression(), "records")()
  }
}
