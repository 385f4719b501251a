package org.apache.spark.sql.headrace

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.{DriverStatefulProcessorHandleImpl, ImplicitGroupingKeyTracker, StatefulProcessorHandleImpl}
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.streaming.{ExpiredTimerInfo, StatefulProcessorHandle}
import org.apache.spark.sql.types.{DataType, NullType, StructType}

/** Timers by event time: one of a key, which knows when it rings. They lie in a place of their own in Spark's store, by their time.
  *
  * Spark keeps its own timers twice, by key and by time, and looks for one before it writes it. It looks at them at the end of each batch, and not
  * at these. So one of Spark's is always due, at a time before all others: it rouses us, we look, and set the next one, at a time that is still
  * earlier, so that it does not ring twice at one look. */
private[headrace] final class EventTimers(handle: StatefulProcessorHandleImpl, store: StateStore, keys: StructType) {
  import EventTimers._

  private val schema = keySchema(keys)
  store.createColFamilyIfAbsent(Place, schema, Nothing, TimestampAsPrefixKeyStateEncoderSpec(schema), isInternal = true)

  private val withTime = TimestampKeyStateEncoder.getAttachTimestampProjection(keys.asNullable)
  private val withoutTime = TimestampKeyStateEncoder.getDetachTimestampProjection(schema)
  private val nothing = UnsafeProjection.create(Array[DataType](NullType))(InternalRow(null)).copy()
  private var next = 0L // the time of the one that rouses us; it is set in this task if it is before all time

  /** Of the key at hand. */
  def register(millis: Long): Unit = {
    store.put(at(key, millis), nothing, Place)
    if (next == 0) rouse(-1)
  }

  def delete(millis: Long): Unit = store.remove(at(key, millis), Place)

  /** Whether this timer is for nothing but to look at ours. */
  def rouses(expired: ExpiredTimerInfo): Boolean = expired.getExpiryTimeInMs() < 0

  /** What the timers give that are due at this watermark. Each is gone when its key is asked. In the end Spark removes the timer that roused us, so
    * the key at hand must be its key again. */
  def due(rouser: InternalRow, expired: ExpiredTimerInfo, watermark: Long)(expire: (InternalRow, Long) => Iterator[InternalRow]): Iterator[InternalRow] = {
    val rung = expired.getExpiryTimeInMs()
    if (next == 0 || next == rung) rouse(rung - 1) // else it is left over from an earlier batch, and this one's is set
    val end = at(new GenericInternalRow(keys.size), watermark + 1).copy()
    store.rangeScan(None, Some(end), Place).flatMap { timer =>
      val time = TimestampKeyStateEncoder.extractTimestamp(timer.key)
      if (time > watermark) Iterator.empty
      else {
        val key = withoutTime(timer.key).copy()
        store.remove(timer.key, Place)
        new OfKey(key, expire(key, time))
      }
    } ++ { ImplicitGroupingKeyTracker.setImplicitKey(rouser); Iterator.empty }
  }

  private def key: InternalRow = ImplicitGroupingKeyTracker.getImplicitKeyOption.get.asInstanceOf[InternalRow]

  private def at(key: InternalRow, millis: Long): UnsafeRow = {
    val row = withTime(key)
    row.setLong(keys.size, millis)
    row
  }

  private def rouse(millis: Long): Unit = {
    handle.registerTimer(millis)
    next = millis
  }

  /** Spark's state is that of the key that was named last. */
  private final class OfKey(key: Any, rows: => Iterator[InternalRow]) extends Iterator[InternalRow] {
    private lazy val all = rows
    override def hasNext: Boolean = { ImplicitGroupingKeyTracker.setImplicitKey(key); all.hasNext }
    override def next(): InternalRow = { ImplicitGroupingKeyTracker.setImplicitKey(key); all.next() }
  }
}

private[headrace] object EventTimers {
  private val Place = "$due"
  private val Nothing = new StructType().add("nothing", NullType)

  def apply(handle: StatefulProcessorHandle, keys: StructType): EventTimers = handle match {
    case driver: DriverStatefulProcessorHandleImpl => // asks which variables there are
      val schema = keySchema(keys)
      driver.columnFamilySchemas.put(Place, StateStoreColFamilySchema(Place, 0, schema, 0, Nothing, Some(TimestampAsPrefixKeyStateEncoderSpec(schema))))
      null
    case task: StatefulProcessorHandleImpl => new EventTimers(task, Handles.store(task), keys)
  }

  private def keySchema(keys: StructType): StructType = TimestampKeyStateEncoder.keySchemaWithTimestamp(keys.asNullable)
}
