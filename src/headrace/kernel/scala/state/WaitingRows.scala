package org.apache.spark.sql.headrace

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.types.StructType

/** Records of a key that wait for the watermark. A row may have more columns than a `record` has; only those are kept. */
private[headrace] final class WaitingRows(rows: OrderedRows, record: StructType) {
  import ScanTimes.NoTime

  private lazy val columns = UnsafeProjection.create(record)

  /** What is added from now on is of this key. */
  def open(key: InternalRow): Unit = rows.open(key)

  def add(time: Long, row: InternalRow): Unit = rows.add(time, columns(row))

  /** The records of a key that have waited from `from` until `limit` (both included), and the time of the first that has to wait longer. That
    * and what is behind it are not touched. */
  def takeOut(key: InternalRow, from: Long, limit: Long): (Array[InternalRow], Long) = {
    rows.open(key)
    val due = Array.newBuilder[InternalRow]
    val all = rows.between(from, NoTime)
    var next = NoTime
    while (next == NoTime && all.next()) if (all.time > limit) next = all.time else { due += all.row; all.remove() }
    all.close()
    (due.result(), next)
  }
}
