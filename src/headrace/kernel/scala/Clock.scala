package org.apache.spark.sql.headrace

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{LongType, StructField, StructType}

/** What a key remembers of time: its timer (ms), its newest record and its last alarm (both in microseconds); and, of each of its bags, how many
  * rows there are and a time before which there are none. If it has an alarm by the clock beside one by event time, also the timer and the last
  * ring of that. */
private[headrace] final class Clock(
    before: InternalRow, var wake: Long, var seen: Long, var fired: Long, val counts: Array[Long], val firsts: Array[Long], both: Boolean, var clockWake: Long, var clockFired: Long) {
  def stored: Boolean = before != null

  def changed: Boolean = {
    val now = row
    !stored || (0 until now.numFields).exists(i => now.getLong(i) != before.getLong(i))
  }

  def row: InternalRow =
    if (counts.isEmpty && !both) InternalRow(wake, seen, fired)
    else InternalRow.fromSeq(Seq(wake, seen, fired) ++ counts ++ firsts ++ (if (both) Seq(clockWake, clockFired) else Nil))
}

private[headrace] object Clock {
  def schema(bags: Int, both: Boolean): StructType = {
    val ofBags = (0 until bags).map(i => s"count_$i") ++ (0 until bags).map(i => s"first_$i")
    StructType((Seq("wake", "seen", "fired") ++ ofBags ++ (if (both) Seq("clock_wake", "clock_fired") else Nil)).map(StructField(_, LongType)))
  }

  private val none = Array.empty[Long]
  private def longs(bags: Int, value: Int => Long): Array[Long] = if (bags == 0) none else Array.tabulate(bags)(value)

  def apply(row: InternalRow, bags: Int, both: Boolean): Clock = {
    import ScanProcessor.NoTime
    if (row == null) new Clock(null, NoTime, NoTime, Long.MinValue, longs(bags, _ => 0L), longs(bags, _ => NoTime), both, NoTime, Long.MinValue)
    else new Clock(
      row, row.getLong(0), row.getLong(1), row.getLong(2), longs(bags, i => row.getLong(3 + i)), longs(bags, i => row.getLong(3 + bags + i)),
      both, if (both) row.getLong(3 + 2 * bags) else NoTime, if (both) row.getLong(4 + 2 * bags) else Long.MinValue)
  }
}
