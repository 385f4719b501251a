package org.apache.spark.sql.headrace

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreWriter
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec
import org.apache.spark.sql.streaming.StatefulProcessor

/** A scan behind another stateful operator judges what is late by the watermark of the batch before: what that operator lets out in a batch
  * lies between the two. Spark tells its operators, but not their processors. (In real time a query has one state.) */
object JudgeLateness extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan = plan.transformUp {
    case scan: TransformWithStateExec if !scan.isRealTimeMode && scan.child.exists(_.isInstanceOf[StateStoreWriter]) =>
      (scan.statefulProcessor: Any) match {
        case processor: ScanProcessor =>
          scan.copy(statefulProcessor = processor.judgingBy(scan.eventTimeWatermarkForLateEvents).asInstanceOf[StatefulProcessor[Any, Any, Any]])
        case _ => scan
      }
  }
}
