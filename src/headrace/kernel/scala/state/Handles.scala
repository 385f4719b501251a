package org.apache.spark.sql.headrace

import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.StatefulProcessorHandleImpl
import org.apache.spark.sql.execution.streaming.state.StateStore
import org.apache.spark.sql.streaming.StatefulProcessorHandle

/** What Spark's handle of a stateful operator holds, and offers to its own operators only. */
private[headrace] object Handles {
  def store(handle: StatefulProcessorHandleImpl): StateStore = stores.get(handle).asInstanceOf[StateStore]

  /** One of the operator's numbers; on the driver, where there are none, one that nobody reads. */
  def metric(handle: StatefulProcessorHandle, name: String): SQLMetric = handle match {
    case task: StatefulProcessorHandleImpl => metrics.get(task).asInstanceOf[Map[String, SQLMetric]].getOrElse(name, new SQLMetric("sum"))
    case _ => new SQLMetric("sum")
  }

  private lazy val stores = field("store")
  private lazy val metrics = field("metrics")

  private def field(name: String) = {
    val field = classOf[StatefulProcessorHandleImpl].getDeclaredField(name)
    field.setAccessible(true)
    field
  }
}
