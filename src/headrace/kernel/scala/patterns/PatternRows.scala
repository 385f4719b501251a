package org.apache.spark.sql.headrace

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.util.{ArrayData, GenericArrayData}

/** A match on its way: what it has taken, and what it may go on with. Matches that have taken the same are one. `first` and `last`
  * are the numbers of its records, `start` and `previous` their times; `mark` is the number of the record that a skip looks for. One that is as it
  * came out of the state has the row that it was `read` from. */
private[headrace] final class PartialMatch(
    val first: Long, val last: Long, val start: Long, val previous: Long, val mark: Long, val waits: Array[Long], val taken: UnsafeRow,
    val read: InternalRow = null) {
  def waitingFor(items: Array[Long]): PartialMatch = new PartialMatch(first, last, start, previous, mark, items, taken)
}

/** A match that goes out, and when that became known. */
private[headrace] final class Ended(val one: PartialMatch, val time: Long)

/** Matches as rows: as the state has those on their way, and as they go out. */
private[headrace] final class PatternRows(plan: PatternPlan) {
  import PatternRows._
  import plan.automaton.words
  import plan.buffers

  /** What a match has taken that has not begun. */
  val blank: UnsafeRow = UnsafeProjection.create(plan.initial)(InternalRow.empty).copy()

  private val width = Numbers + words + (if (buffers > 0) 1 else 0)

  def read(from: ArrayData, to: ArrayBuffer[PartialMatch]): Unit = if (from != null) {
    val size = from.numElements()
    var i = 0
    while (i < size) {
      val row = from.getStruct(i, width)
      val waits = new Array[Long](words)
      var w = 0
      while (w < words) { waits(w) = row.getLong(Numbers + w); w += 1 }
      val taken = if (buffers == 0) blank else row.getStruct(width - 1, buffers).asInstanceOf[UnsafeRow]
      to += new PartialMatch(row.getLong(0), row.getLong(1), row.getLong(2), row.getLong(3), row.getLong(4), waits, taken, row)
      i += 1
    }
  }

  def written(all: ArrayBuffer[PartialMatch]): ArrayData = array(all, this.toState)

  private val toState: PartialMatch => InternalRow = one => if (one.read != null) one.read else {
    val fields = new Array[Any](width)
    fields(0) = one.first
    fields(1) = one.last
    fields(2) = one.start
    fields(3) = one.previous
    fields(4) = one.mark
    for (w <- 0 until words) fields(Numbers + w) = one.waits(w)
    if (buffers > 0) fields(width - 1) = one.taken
    new GenericInternalRow(fields)
  }

  private val output = UnsafeProjection.create(plan.rows)
  private val times = new GenericInternalRow(2)
  private val keyed, whole = new JoinedRow

  def putOut(all: ArrayBuffer[Ended], key: InternalRow): ArrayData = array(all, (ended: Ended) => {
    times.update(0, ended.one.start)
    times.update(1, ended.time)
    output(whole(ended.one.taken, keyed(key, times))).copy()
  })

  private def array[T](all: ArrayBuffer[T], row: T => InternalRow): ArrayData =
    if (all.isEmpty) null else new GenericArrayData(Array.tabulate[Any](all.size)(i => row(all(i))))
}

private object PatternRows {
  /** So many numbers has a row that holds a match, before the items that it waits for. */
  private val Numbers = 5
}
