package org.apache.spark.sql.headrace

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}

/** Tables that change while a stream runs: whenever a batch is planned, it is looked anew which files they have. Spark looks once, when the
  * table is opened. */
object FreshTables extends Rule[LogicalPlan] {
  val Reload = "headrace.reload"

  override def apply(plan: LogicalPlan): LogicalPlan = {
    plan.foreach {
      case table: LogicalRelation => table.relation match {
        case files: HadoopFsRelation if files.options.get(Reload).contains("true") => files.location.refresh()
        case _ =>
      }
      case _ =>
    }
    plan
  }
}
