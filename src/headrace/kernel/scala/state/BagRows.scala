package org.apache.spark.sql.headrace

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{JoinedRow, UnsafeRow}
import org.apache.spark.sql.catalyst.util.GenericArrayData

/** The rows of one bag, of the key at hand. Of these there are `total`, none of them before the time `first`. */
private[headrace] final class BagRows(val plan: BagPlan, rows: OrderedRows, owner: OpenKey) {
  import ScanTimes.NoTime
  import plan.{add => adding, _}

  private var key: InternalRow = _
  private val joined = new JoinedRow
  var total: Long = _
  var first: Long = _

  def open(key: InternalRow, total: Long, first: Long): Unit = {
    this.key = key
    this.total = total
    this.first = first
    rows.open(key)
  }

  def setWatermark(micros: Long): Unit = (adding +: between +: each.toSeq).foreach(_.setWatermark(micros))
  def setClock(micros: Any): Unit = (adding +: between +: each.toSeq).foreach(_.setClock(micros))

  /** When the first row leaves, at the earliest. */
  def due: Long = if (total == 0 || expire.isEmpty || first == NoTime) NoTime else end(first)

  /** `each` for the rows that a record visits; what it puts out. */
  def visit(record: InternalRow): Iterator[InternalRow] = if (total == 0 || each.isEmpty) Iterator.empty else {
    val range = between(owner.state, record)
    if (range.isNullAt(0) || range.isNullAt(1) || range.getLong(1) < first) Iterator.empty
    else new Visit(record, rows.between(Math.max(range.getLong(0), first), range.getLong(1)), range.getLong(0) <= first)
  }

  def add(before: InternalRow, record: InternalRow): Unit = {
    val result = adding(before, record)
    if (!result.isNullAt(0)) {
      if (!explode) put(result.getStruct(0, row.size))
      else {
        val several = result.getArray(0)
        for (i <- 0 until several.numElements() if !several.isNullAt(i)) put(several.getStruct(i, row.size))
      }
    }
  }

  /** Rows leave in the order of their time, until one is due later than `limit`, which may change as they leave. */
  def leave(limit: () => Long): Iterator[InternalRow] = new Going(rows.between(first, NoTime)) {
    override protected def step(): Boolean = {
      val more = cursor.next()
      if (more && end(cursor.time) <= limit()) {
        val program = plan.leave.get
        val result = program(owner.state, joined(goes(cursor), key))
        owner.become(program.next(result))
        into.foreach(owner.bag(_).put(result.getStruct(3, plan.row.size)))
        give(program.rows(result))
        true
      } else {
        first = if (more) cursor.time else NoTime
        false
      }
    }
  }

  /** The row at hand, or the list of all that have its time; it is removed. */
  private def goes(cursor: OrderedRows#Cursor): InternalRow =
    if (together) {
      val all = cursor.removeAll()
      total -= all.length
      InternalRow(new GenericArrayData(all.asInstanceOf[Array[Any]]))
    } else {
      cursor.remove()
      total -= 1
      cursor.row
    }

  def empty(): Unit = if (total > 0) {
    val all = rows.between(first, NoTime)
    while (all.next()) all.remove()
    all.close()
    total = 0
    first = NoTime
  }

  private def end(time: Long): Long = if (time > NoTime - 1 - expire.get) NoTime - 1 else time + expire.get

  def put(row: UnsafeRow): Unit = if (!row.isNullAt(time)) {
    total += 1
    if (total > most) throw new IllegalStateException(
      s"the bag '$name' of a key would have more than $most rows, the most that it may have")
    place(row)
  }

  private def place(row: UnsafeRow): Unit = {
    val at = row.getLong(time)
    rows.add(at, row)
    first = Math.min(first, at)
  }

  /** `fromFirst`: no row lies before those that are visited. */
  private final class Visit(record: InternalRow, cursor: OrderedRows#Cursor, fromFirst: Boolean) extends Going(cursor) {
    private val program = each.get
    private val changes = program.expressions.size > 3
    private var left = limit
    private val moved = ArrayBuffer.empty[UnsafeRow] // a row with another time is put there when all are visited, or it would be visited again

    private var ahead = first // no row that stays lies before this time, as far as it has been looked
    private var stays = false

    override protected def step(): Boolean = left > 0 && cursor.next() && {
      left -= 1
      val row = cursor.row
      if (!stays) ahead = cursor.time
      val result = program(owner.state, joined(row, record))
      owner.become(program.next(result))
      if (result.getBoolean(2)) go()
      else if (changes) {
        val next = result.getStruct(3, plan.row.size)
        if (next.isNullAt(time)) go()
        else if (next.getLong(time) != cursor.time) { cursor.remove(); moved += next.copy() }
        else {
          stays = true
          if (next != row) cursor.replace(next)
        }
      } else stays = true
      give(program.rows(result))
      true
    }

    /** A row that is removed is a mark in the store for a while, and the next visit would go over it: the later it begins, the better. */
    override protected def finish(): Unit = {
      if (total == moved.size) first = NoTime else if (fromFirst) first = ahead
      moved.foreach(place)
    }

    private def go(): Unit = {
      cursor.remove()
      total -= 1
    }
  }

  /** Goes from row to row, and puts out what they give before it goes on. */
  private abstract class Going(protected val cursor: OrderedRows#Cursor) extends Iterator[InternalRow] {
    private var several: Iterator[InternalRow] = Iterator.empty
    private var done = false

    /** Take the next row; false if there is none. */
    protected def step(): Boolean
    protected def finish(): Unit = ()
    protected def give(rows: Iterator[InternalRow]): Unit = several = rows

    override def hasNext: Boolean = {
      while (!done && !several.hasNext) if (!step()) {
        done = true
        cursor.close()
        finish()
      }
      several.hasNext
    }

    override def next(): InternalRow = several.next()
  }
}
