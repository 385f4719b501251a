package org.apache.spark.sql.headrace

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}

/** What a session needs to know of headrace: `spark.sql.extensions=org.apache.spark.sql.headrace.Extensions`. */
class Extensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    for (rule <- Seq(SortByArrival, JudgeLateness, FilesInOrder, CountLateRows, IdleSources, ShufflesApart))
      extensions.injectColumnar(_ => new ColumnarRule { override def preColumnarTransitions: Rule[SparkPlan] = rule })
    extensions.injectOptimizerRule(_ => NarrowScans)
    extensions.injectPlannerStrategy(_ => EndableScans)
    extensions.injectPlanNormalizationRule(_ => FreshTables) // once a batch, before anything looks at the files
  }
}
