package org.apache.spark.sql.headrace

import java.time.Instant

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.streaming.checkpointing.{OffsetMap, OffsetSeq, OffsetSeqBase, OffsetSeqLog}

/** The end of a stream's input: a last batch without records, whose watermark no time is behind.
  *
  * Spark has a log of the batches that it is going to run, each with its positions in the sources and its watermark, and what is planned
  * there it runs when it starts. So the end is planned as Spark would plan a batch that only looks at the time, and outlives a crash as any
  * other batch does. */
object EndOfInput {
  /** In milliseconds. Later than any time that is meant, and early enough for Spark to add to it. */
  val watermark: Long = Instant.parse("+200000-01-01T00:00:00Z").toEpochMilli

  /** Plan the end behind the last batch, which must be complete. */
  def plan(spark: SparkSession, checkpoint: String): Unit = {
    val log = new OffsetSeqLog(spark, s"$checkpoint/offsets")
    val (last, batch) = log.getLatest().getOrElse(throw new IllegalStateException(s"no batch was ever planned in $checkpoint"))
    if (!isEnd(batch) && !log.add(last + 1, end(batch))) throw new IllegalStateException(s"another query goes on from $checkpoint")
  }

  /** Whether the last batch that was planned is the end. */
  def isPlanned(spark: SparkSession, checkpoint: String): Boolean =
    new OffsetSeqLog(spark, s"$checkpoint/offsets", readOnly = true).getLatest().exists { case (_, batch) => isEnd(batch) }

  private def isEnd(batch: OffsetSeqBase): Boolean = batch.metadataOpt.exists(_.batchWatermarkMs == watermark)

  private def end(batch: OffsetSeqBase): OffsetSeqBase = {
    val now = System.currentTimeMillis()
    batch match {
      case positions: OffsetSeq => positions.copy(metadataOpt = positions.metadataOpt.map(_.copy(batchWatermarkMs = watermark, batchTimestampMs = now)))
      case positions: OffsetMap => positions.copy(metadata = positions.metadata.copy(batchWatermarkMs = watermark, batchTimestampMs = now))
    }
  }
}
