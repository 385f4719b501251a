package org.apache.spark.sql.headrace

import org.apache.spark.SparkEnv
import org.apache.spark.storage.RDDBlockId

/** Rows that are kept for the driver. */
object StoredRows {
  /** Whether a partition has been computed, and is kept somewhere. (Who asks for its rows before would compute it a second time.) */
  def has(rdd: Int, partition: Int): Boolean = SparkEnv.get.blockManager.master.contains(RDDBlockId(rdd, partition))
}
