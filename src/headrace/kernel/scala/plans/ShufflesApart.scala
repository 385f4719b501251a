package org.apache.spark.sql.headrace

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.exchange.{REQUIRED_BY_STATEFUL_OPERATOR, ShuffleExchangeExec}
import org.apache.spark.sql.execution.streaming.operators.stateful.EventTimeWatermarkExec

/** Two operators with state over the same records of one stream have equal shuffles, of which Spark computes one and uses it again. But it reckons
  * from the leaves of a plan which watermark an operator has, and a shuffle that is used again is a leaf without one: the operator behind it would
  * never let anything out, and then all of it at the end, too late for the next. So equal shuffles by event time are told apart, by a wish about
  * the size of partitions, which a stream does not look at. */
object ShufflesApart extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan = if (plan.collect { case shuffle if timed(shuffle) => shuffle }.size < 2) plan else {
    val numbers = Iterator.from(1)
    plan.transformUp { case shuffle: ShuffleExchangeExec if timed(shuffle) => shuffle.copy(advisoryPartitionSize = Some(numbers.next().toLong)) }
  }

  private def timed(plan: SparkPlan): Boolean = plan match {
    case shuffle: ShuffleExchangeExec => shuffle.shuffleOrigin == REQUIRED_BY_STATEFUL_OPERATOR && shuffle.exists(_.isInstanceOf[EventTimeWatermarkExec])
    case _ => false
  }
}
