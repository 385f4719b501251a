package org.apache.spark.sql.headrace

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{LongType, StructField, StructType}

/** What a key remembers of time: its timer (ms), its newest record and its last alarm (both in microseconds); and, of each of its bags, how many
  * rows there are and a time before which there are none. */
private[headrace] final class Clock(var wake: Long, var seen: Long, var fired: Long, val counts: Array[Long], val firsts: Array[Long]) {
  def row: InternalRow =
    if (counts.isEmpty) InternalRow(wake, seen, fired) else InternalRow.fromSeq(Seq(wake, seen, fired) ++ counts ++ firsts)
}

private[headrace] object Clock {
  def schema(bags: Int): StructType =
    StructType((Seq("wake", "seen", "fired") ++ (0 until bags).map(i => s"count_$i") ++ (0 until bags).map(i => s"first_$i")).map(StructField(_, LongType)))

  private val none = Array.empty[Long]
  private def longs(bags: Int, value: Int => Long): Array[Long] = if (bags == 0) none else Array.tabulate(bags)(value)

  def apply(row: InternalRow, bags: Int): Clock =
    if (row == null) new Clock(ScanProcessor.NoTime, ScanProcessor.NoTime, Long.MinValue, longs(bags, _ => 0L), longs(bags, _ => ScanProcessor.NoTime))
    else new Clock(row.getLong(0), row.getLong(1), row.getLong(2), longs(bags, i => row.getLong(3 + i)), longs(bags, i => row.getLong(3 + bags + i)))
}
