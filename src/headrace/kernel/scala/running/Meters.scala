package org.apache.spark.sql.headrace

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLongArray

import scala.jdk.CollectionConverters._

import org.apache.spark.{SparkContext, TaskContext}

/** How many records a task has taken up, by the milliseconds that they had waited: exact up to 31, then to the sixteenth part. */
final class Meter {
  private[headrace] val counts = new AtomicLongArray(Meter.buckets)

  /** Counts a record, and gives back its milliseconds. */
  def add(millis: Long): Long = {
    counts.incrementAndGet(Meter.bucket(math.max(millis, 0L)))
    millis
  }
}

object Meter {
  private[headrace] val buckets = 32 + 58 * 16

  def bucket(millis: Long): Int =
    if (millis < 32) millis.toInt
    else {
      val power = 63 - java.lang.Long.numberOfLeadingZeros(millis)
      32 + (power - 5) * 16 + ((millis >>> (power - 4)) & 15).toInt
    }

  /** The least that is counted there. */
  def least(bucket: Int): Long =
    if (bucket < 32) bucket.toLong else (16L + (bucket - 32) % 16) << ((bucket - 32) / 16 + 1)
}

/** The meters of the queries that run in this process, for whoever watches them. Spark's own numbers come when a batch ends, which in
  * real-time mode may be minutes away. Tasks in other processes, on a cluster, are not seen. */
object Meters {
  private val runs = new ConcurrentHashMap[String, ConcurrentHashMap[Int, Meter]]()

  /** The meter of this task; of the partition, rather, from batch to batch, so that tasks do not wait for each other. */
  def here(): Meter = {
    val task = TaskContext.get()
    val run = if (task == null) null else task.getLocalProperty(SparkContext.SPARK_JOB_GROUP_ID)
    if (run == null) new Meter
    else runs.computeIfAbsent(run, _ => new ConcurrentHashMap[Int, Meter]()).computeIfAbsent(task.partitionId(), _ => new Meter)
  }

  /** Of a run, since it began: "milliseconds:records …", in no order, the same milliseconds perhaps more than once. */
  def read(run: String): String = {
    val meters = Option(runs.get(run)).fold(Iterable.empty[Meter])(_.values.asScala)
    val counted = for (meter <- meters; i <- 0 until Meter.buckets; count = meter.counts.get(i) if count > 0) yield s"${Meter.least(i)}:$count"
    counted.mkString(" ")
  }

  def forget(run: String): Unit = runs.remove(run)
}
