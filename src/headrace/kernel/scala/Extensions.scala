package org.apache.spark.sql.headrace

import org.apache.spark.sql.SparkSessionExtensions

/** What headrace adds to a session; Spark calls it once, by the name in `spark.sql.extensions`. */
class Extensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = ()
}
