package org.apache.spark.sql.headrace

import java.lang.{Long => JLong}
import java.util.{Collections, WeakHashMap}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution
import org.apache.spark.sql.internal.SQLConf

/** The first batches of a real-time query are short. Between two batches a large program runs, seldom: the first time it takes seconds, by code
  * that Java has just loaded, and at one end a minute it would not be called often enough to be compiled for hours. So a query begins with
  * many ends, one soon after the other and then ever more seldom, and those that follow find it compiled. */
private[headrace] object Rehearsals {
  private val ends = "spark.headrace.realTime.rehearsals"
  private val shortest = 200L // milliseconds
  private val ofOneLength = 20

  /** The number of the batch with which each source of a query that runs began. */
  private val first = Collections.synchronizedMap(new WeakHashMap[MicroBatchStream, JLong])

  /** For how many milliseconds each partition of a source is read at most, in the batch that begins: in a rehearsal, however long it takes until
    * a reader is there. */
  def limit(source: MicroBatchStream, conf: SQLConf): Long = {
    val batch = SparkSession.active.sparkContext.getLocalProperty(MicroBatchExecution.BATCH_ID_KEY).toLong
    val number = batch - first.computeIfAbsent(source, _ => batch)
    if (number < conf.getConfString(ends, "0").toLong) shortest << math.min(number / ofOneLength, 10) else Long.MaxValue
  }
}
