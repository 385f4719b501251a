package org.apache.spark.sql.headrace

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.{StateStoreColumnFamilySchemaUtils, TimerKeyEncoder}
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.{DriverStatefulProcessorHandleImpl, ImplicitGroupingKeyTracker, StatefulProcessorHandleImpl}
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.timers.{TimerStateImpl, TimerStateUtils}
import org.apache.spark.sql.streaming.{ExpiredTimerInfo, StatefulProcessorHandle, TimeMode}
import org.apache.spark.sql.types.StructType

/** Timers by event time, of an operator whose own timers go by the clock.
  *
  * They are Spark's, in a second place of the same store. Spark looks at the operator's own at the end of each batch, and not at these. So one
  * of the operator's is always due, at a time before all others: it rouses us, we look, and set the next one, at a time that is still earlier,
  * so that it does not ring twice at one look. */
private[headrace] final class EventTimers(handle: StatefulProcessorHandleImpl, timers: TimerStateImpl) {
  private var next = 0L // the time of the one that rouses us; it is set in this task if it is before all time

  /** Of the key at hand. */
  def register(millis: Long): Unit = {
    timers.registerTimer(millis)
    if (next == 0) rouse(-1)
  }

  def delete(millis: Long): Unit = timers.deleteTimer(millis)

  /** Whether this timer is for nothing but to look at ours. */
  def rouses(expired: ExpiredTimerInfo): Boolean = expired.getExpiryTimeInMs() < 0

  /** What the timers give that are due at this watermark. */
  def due(expired: ExpiredTimerInfo, watermark: Long)(expire: (InternalRow, Long) => Iterator[InternalRow]): Iterator[InternalRow] = {
    val rung = expired.getExpiryTimeInMs()
    if (next == 0 || next == rung) rouse(rung - 1) // else it is left over from an earlier batch, and this one's is set
    timers.getExpiredTimers(watermark).flatMap { case (key, time) =>
      new OfKey(key, expire(key.asInstanceOf[InternalRow], time)) ++ { ImplicitGroupingKeyTracker.setImplicitKey(key); timers.deleteTimer(time); Iterator.empty }
    }
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
  def apply(handle: StatefulProcessorHandle, keys: StructType): EventTimers = {
    val encoder = Rows.passThrough(keys).asInstanceOf[ExpressionEncoder[Any]]
    handle match {
      case driver: DriverStatefulProcessorHandleImpl => // asks which variables there are
        val (byKey, byTime) = TimerStateUtils.getTimerStateVarNames(TimeMode.EventTime().toString)
        val schemas = new TimerKeyEncoder(encoder)
        driver.columnFamilySchemas.put(byKey, StateStoreColumnFamilySchemaUtils.getTimerStateSchema(byKey, schemas.schemaForKeyRow, schemas.schemaForValueRow))
        driver.columnFamilySchemas.put(
          byTime, StateStoreColumnFamilySchemaUtils.getSecIndexTimerStateSchema(byTime, schemas.keySchemaForSecIndex, schemas.schemaForValueRow))
        null
      case task: StatefulProcessorHandleImpl => new EventTimers(task, new TimerStateImpl(Handles.store(task), TimeMode.EventTime(), encoder))
    }
  }
}
