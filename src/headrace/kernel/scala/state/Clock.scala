package org.apache.spark.sql.headrace

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types.{LongType, StructField, StructType}

/** What a key remembers of time: its timer (ms), its newest record and its last alarm (both in microseconds); and, of each of its bags, how many
  * rows there are and a time before which there are none. If it has an alarm by the clock beside one by event time, also the timer and the last
  * ring of that. */
private[headrace] final class Clock(
    before: InternalRow, var wake: Long, var seen: Long, var fired: Long, val counts: Array[Long], val firsts: Array[Long], both: Boolean, var clockWake: Long, var clockFired: Long) {
  def stored: Boolean = before != null

  def changed: Boolean = {
    val now = row
    var i = 0
    while (stored && i < now.numFields && now.getLong(i) == before.getLong(i)) i += 1
    i < now.numFields
  }

  def row: InternalRow = {
    val bags = counts.length
    val fields = new Array[Any](3 + 2 * bags + (if (both) 2 else 0))
    fields(0) = wake
    fields(1) = seen
    fields(2) = fired
    for (i <- 0 until bags) { fields(3 + i) = counts(i); fields(3 + bags + i) = firsts(i) }
    if (both) { fields(3 + 2 * bags) = clockWake; fields(4 + 2 * bags) = clockFired }
    new GenericInternalRow(fields)
  }
}

private[headrace] object Clock {
  def schema(bags: Int, both: Boolean): StructType = {
    val ofBags = (0 until bags).map(i => s"count_$i") ++ (0 until bags).map(i => s"first_$i")
    StructType((Seq("wake", "seen", "fired") ++ ofBags ++ (if (both) Seq("clock_wake", "clock_fired") else Nil)).map(StructField(_, LongType)))
  }

  private val none = Array.empty[Long]
  private def longs(bags: Int, value: Int => Long): Array[Long] = if (bags == 0) none else Array.tabulate(bags)(value)

  def apply(row: InternalRow, bags: Int, both: Boolean): Clock = {
    import ScanTimes.NoTime
    if (row == null) new Clock(null, NoTime, NoTime, Long.MinValue, longs(bags, _ => 0L), longs(bags, _ => NoTime), both, NoTime, Long.MinValue)
    else new Clock(
      row, row.getLong(0), row.getLong(1), row.getLong(2), longs(bags, i => row.getLong(3 + i)), longs(bags, i => row.getLong(3 + bags + i)),
      both, if (both) row.getLong(3 + 2 * bags) else NoTime, if (both) row.getLong(4 + 2 * bags) else Long.MinValue)
  }
}
