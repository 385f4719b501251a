package org.apache.spark.sql.headrace

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeRow}
import org.apache.spark.sql.streaming.StatefulProcessorHandle

/** What time brings to the key at hand, in the order of its time: rows leave a bag, alarms ring, the key expires. And the one timer that rings for
  * the first of these. */
private[headrace] final class DueEvents(plan: ScanPlan, times: ScanTimes, key: OpenKey, handle: StatefulProcessorHandle) {
  import DueEvents.MostAtTheEnd
  import ScanTimes.NoTime
  import plan.{alarm, bags, bothTimers, clockAlarm, eventTime, idleMicros, keys, streaming, timed}

  /** If alarms go by event time; else null. */
  val eventTimers: EventTimers = if (timed && streaming && eventTime.isDefined) EventTimers(handle, keys) else null

  /** Rows of a bag leave up to this time: where records do not come in order, that of the watermark. */
  var passed: Long = _

  /** The key has a record of this time. */
  def saw(time: Long): Unit =
    if (timed) key.clock.seen = if (key.forgotten || key.clock.seen == NoTime) time else Math.max(key.clock.seen, time)

  /** What is due up to `limit` (included). */
  def advance(limit: Long): Iterator[InternalRow] = if (!timed) Iterator.empty else {
    val ring = alarmTime()
    val expiry = expiryTime()
    val leaving = nextBag(Math.min(Math.min(limit, passed), Math.min(ring, expiry)))
    if (leaving != null) leaving.leave(() => Math.min(limit, bound(leaving))) ++ advance(limit)
    else if (ring <= limit && ring <= expiry) { key.clock.fired = ring; fire(alarm.get.program, ring) ++ advance(limit) }
    else { if (expiry <= limit) key.forget(); Iterator.empty }
  }

  /** What is due at the end of the input, one after the other, until nothing is or the key expires. */
  def ringOut(rung: Int = 0): Iterator[InternalRow] = {
    passed = NoTime
    val ring = alarmTime()
    val leaving = nextBag(Math.min(ring, expiryTime()))
    if (leaving != null) leaving.leave(() => bound(leaving)) ++ ringOut(rung)
    else if (ring == NoTime || ring > expiryTime()) Iterator.empty
    else if (rung < MostAtTheEnd) { key.clock.fired = ring; fire(alarm.get.program, ring) ++ ringOut(rung + 1) }
    else throw new IllegalStateException(s"the timer of a key sets itself again and again: it has rung $rung times since the input ended")
  }

  /** Alarms by the clock of a key that has one by event time, too. */
  def ringByTheClock(limit: Long): Iterator[InternalRow] = {
    val time = clockAlarmTime()
    if (time > limit) Iterator.empty else { key.clock.clockFired = time; fire(clockAlarm.get.program, time) ++ ringByTheClock(limit) }
  }

  /** The bag whose rows are the first to leave, if that is not after `limit`; of several, the first. */
  private def nextBag(limit: Long): BagRows = if (bags.isEmpty) null else {
    val first = key.bagRows.minBy(_.due)
    if (first.due <= limit && first.due != NoTime) first else null
  }

  /** So far may rows leave this bag before something else is due. */
  private def bound(bag: BagRows): Long =
    key.bagRows.iterator.takeWhile(_ ne bag).map(_.due - 1) // of equal times, the first bag comes first
      .concat(key.bagRows.iterator.dropWhile(_ ne bag).drop(1).map(_.due))
      .concat(Iterator(passed, alarmTime(), expiryTime())).min

  private def fire(program: Program, time: Long): Iterator[InternalRow] = {
    val left = new GenericInternalRow(keys.size + 1)
    keys.indices.foreach(i => left.update(i, if (key.values.isNullAt(i)) null else key.values.get(i, keys(i).dataType)))
    left.update(keys.size, time)
    program.rows(key.run(program, left))
  }

  /** When the alarm is due; an alarm that is not later than the last one that rang does not ring again. What is forgotten has none. */
  private def alarmTime(): Long = if (alarm.isEmpty || key.forgotten) NoTime else after(alarm.get.time(key.state), key.clock.fired)

  private def clockAlarmTime(): Long =
    if (!bothTimers || key.forgotten) NoTime else after(clockAlarm.get.time(key.state), key.clock.clockFired)

  private def after(at: UnsafeRow, last: Long): Long = if (at.isNullAt(0) || at.getLong(0) <= last) NoTime else at.getLong(0)

  def expiryTime(): Long =
    if (idleMicros.isEmpty || key.forgotten || key.clock.seen == NoTime) NoTime else key.clock.seen + idleMicros.get

  /** One timer a key: for the first thing that is due, be it a waiting record (`next`), the alarm, expiry or a row that leaves a bag. */
  def arm(next: Long): Unit = {
    val own = Math.min(next, Math.min(alarmTime(), expiryTime()))
    wakeAt(key.bagRows.foldLeft(own)((first, bag) => Math.min(first, bag.due)))
    if (bothTimers) key.clock.clockWake = moved(key.clock.clockWake, times.millis(clockAlarmTime()), handle.registerTimer, handle.deleteTimer)
  }

  def wakeAt(micros: Long): Unit = {
    val at = times.millis(if (micros == NoTime) NoTime else times.later(micros))
    key.clock.wake =
      if (eventTimers != null) moved(key.clock.wake, at, eventTimers.register, eventTimers.delete)
      else moved(key.clock.wake, at, handle.registerTimer, handle.deleteTimer)
  }

  private def moved(from: Long, to: Long, register: Long => Unit, delete: Long => Unit): Long = {
    if (from != to) {
      if (from != NoTime) delete(from)
      if (to != NoTime) register(to)
    }
    to
  }
}

private object DueEvents {
  /** So often may an alarm ring after the end of the input. */
  private val MostAtTheEnd = 100000
}
