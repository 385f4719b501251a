package org.apache.spark.sql.headrace

import org.apache.spark.sql.streaming.TimerValues

/** The clock, the watermark and the timers as a scan sees them, in microseconds. Its records may be so much behind the watermark (`lag`), and what
  * is late may be judged by another one (`lateMillis`). */
private[headrace] final case class ScanTimes(lag: Long, lateMillis: Option[Long]) {
  import ScanTimes.{BeforeAll, NoTime}

  def clockTime(now: TimerValues): Long = now.getCurrentProcessingTimeInMs() * 1000

  /** A timer for this time rings when the watermark is so much past it as records may be behind it. */
  def later(micros: Long): Long = if (micros > NoTime - 1 - lag) NoTime - 1 else micros + lag

  def watermark(now: TimerValues): Long = micros(now.getCurrentWatermarkInMs())

  def lateLimit(now: TimerValues): Long = lateMillis.fold(watermark(now))(micros)

  /** Spark's first watermark is the epoch, before anything was seen: nothing is behind that. */
  def micros(millis: Long): Long = if (millis <= 0) BeforeAll else Math.multiplyExact(millis, 1000L) - lag

  /** A timer has milliseconds: round up. One at or before the epoch would ring while the watermark is still unknown, and be gone; and one
    * behind the end of the input would not ring then. */
  def millis(micros: Long): Long =
    if (micros == NoTime) NoTime else Math.min(EndOfInput.watermark, Math.max(1L, -Math.floorDiv(-micros, 1000L)))

  /** Before this time nothing waits: the timer of a key is set for its first. What was removed before it need not be stepped over again. */
  def wakesFrom(wake: Long): Long = if (wake <= 1 || wake == NoTime) BeforeAll else (wake - 1) * 1000 - lag

  /** For what waits first a timer is set. */
  def waitsUntil(wake: Long): Long = if (wake == NoTime) NoTime else wake * 1000 - lag
}

private[headrace] object ScanTimes {
  val NoTime: Long = Long.MaxValue
  val BeforeAll: Long = Long.MinValue
}
