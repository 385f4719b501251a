package org.apache.spark.sql.headrace

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.{DriverStatefulProcessorHandleImpl, StatefulProcessorHandleImpl}
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.streaming.StatefulProcessorHandle
import org.apache.spark.sql.types.StructType

/** Rows of a key in the order of their time, in Spark's own state store: what lies between two times is read, changed and removed without a
  * look at the rest. Rows of equal times are in the order in which they were added.
  *
  * It is the layout of Spark's join of two streams: an entry for each key and time, with a list of rows. Spark offers it to its own operators
  * only, so the store is taken out of the handle. */
private[headrace] final class OrderedRows(store: StateStore, name: String, keys: StructType, row: StructType) {
  private val keySchema = OrderedRows.keySchema(keys)
  store.createColFamilyIfAbsent(name, keySchema, row, TimestampAsPostfixKeyStateEncoderSpec(keySchema), useMultipleValuesPerKey = true)

  private val first, end = TimestampKeyStateEncoder.getAttachTimestampProjection(keys)
  private var low, high: UnsafeRow = _
  private var cursor: Cursor = _
  Option(TaskContext.get()).foreach(_.addTaskCompletionListener[Unit](_ => if (cursor != null) cursor.release()))

  /** What follows is about this key. */
  def open(key: InternalRow): Unit = {
    low = first(key)
    high = end(key)
  }

  def add(time: Long, row: UnsafeRow): Unit = store.merge(at(time), row, name)

  /** The rows from one time to another, both included, as they are now. There is one cursor at a time. */
  def between(from: Long, to: Long): Cursor = {
    high.setLong(keys.size, Math.min(to, Long.MaxValue - 1) + 1)
    cursor = new Cursor(OrderedRows.unheard(store.rangeScanWithMultiValues(Some(at(from)), Some(high), name)))
    cursor
  }

  private def at(time: Long): UnsafeRow = {
    low.setLong(keys.size, time)
    low
  }

  /** Goes from row to row. It must be closed: the changes of the last time are written then. */
  final class Cursor(pairs: StateStoreIterator[UnsafeRowPair]) {
    private val rows = ArrayBuffer.empty[UnsafeRow] // those of one time
    private var place, kept = 0
    private var changed = false
    private var now, aheadTime = 0L
    private var ahead: UnsafeRow = _
    private var open = true
    step()

    def time: Long = now
    def row: UnsafeRow = rows(place - 1)

    def next(): Boolean = {
      if (place == rows.size) {
        write()
        if (ahead == null) return false
        now = aheadTime
        rows.clear()
        place = 0
        kept = 0
        while (ahead != null && aheadTime == now) { rows += ahead; step() }
      }
      place += 1
      kept += 1
      if (kept < place) rows(kept - 1) = rows(place - 1)
      true
    }

    /** The row at hand goes. */
    def remove(): Unit = {
      kept -= 1
      changed = true
    }

    /** All rows of the time at hand go, of which it must be the first. */
    def removeAll(): Array[AnyRef] = {
      val all = rows.toArray[AnyRef]
      place = rows.size
      kept = 0
      changed = true
      all
    }

    /** The row at hand becomes this one. */
    def replace(row: UnsafeRow): Unit = {
      rows(kept - 1) = row.copy()
      changed = true
    }

    def close(): Unit = {
      write()
      release()
    }

    private[OrderedRows] def release(): Unit = if (open) {
      open = false
      pairs.close()
    }

    private def step(): Unit =
      if (pairs.hasNext) {
        val pair = pairs.next()
        aheadTime = TimestampKeyStateEncoder.extractTimestamp(pair.key)
        ahead = pair.value.copy()
      } else {
        ahead = null
        release()
      }

    private def write(): Unit = if (changed) {
      changed = false
      val remain = rows.take(kept) ++ rows.drop(place)
      if (remain.isEmpty) store.remove(at(now), name) else store.putList(at(now), remain.toArray, name)
    }
  }
}

private[headrace] object OrderedRows {
  /** On the driver Spark asks which variables there are, and gives no store: then there is nothing to use, either. */
  def apply(handle: StatefulProcessorHandle, name: String, keys: StructType, row: StructType): OrderedRows = handle match {
    case driver: DriverStatefulProcessorHandleImpl =>
      val schema = keySchema(keys)
      driver.columnFamilySchemas.put(
        name, StateStoreColFamilySchema(name, 0, schema, 0, row, Some(TimestampAsPostfixKeyStateEncoderSpec(schema))))
      null
    case task: StatefulProcessorHandleImpl => new OrderedRows(Handles.store(task), name, keys, row)
  }

  /** For each iterator Spark adds a listener to the task, which holds it until the task ends. Here there is an iterator for each record. */
  def unheard[T](scan: => T): T = {
    val task = TaskContext.get()
    if (task == null) scan
    else {
      TaskContext.unset()
      try scan
      finally TaskContext.setTaskContext(task)
    }
  }

  private def keySchema(keys: StructType): StructType = TimestampKeyStateEncoder.keySchemaWithTimestamp(keys.asNullable)
}
