package org.apache.spark.sql.headrace

import java.time.Duration

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.streaming.{StatefulProcessorHandle, TTLConfig}

/** The key at hand, with all that is remembered of it: its fields, its bags and maps, and its times. A task takes one key at a time, so one object
  * serves for all of a task's. */
private[headrace] final class OpenKey(plan: ScanPlan, handle: StatefulProcessorHandle) {
  import ScanTimes.NoTime
  import plan._

  private val lasting =
    if (streaming && !timed) idleMicros.fold(TTLConfig.NONE)(m => TTLConfig(Duration.ofNanos(m * 1000))) else TTLConfig.NONE
  private val states = new StateRows(handle, plan, lasting)
  private val clocks =
    if (timed) handle.getValueState[InternalRow]("clock", Rows.passThrough(Clock.schema(bags.size, bothTimers)), TTLConfig.NONE) else null
  val bagRows: Array[BagRows] = bags.map(bag => new BagRows(bag, OrderedRows(handle, s"bag ${bag.name}", keys, bag.row), this)).toArray
  private val entries = maps.map(map => EntryMap(handle, s"map $map", keys)).toArray
  (program +: alarm.map(_.program).toSeq).foreach(_.maps = entries)

  /** The state of a key that has not come before. */
  lazy val blank: UnsafeRow = UnsafeProjection.create(initial)(InternalRow.empty).copy()
  private lazy val stateOfInitial = UnsafeProjection.create(program.state)

  var values: InternalRow = _ // of the key's own columns
  var state: InternalRow = _
  var forgotten: Boolean = _
  var touched: Boolean = _ // a record of it was taken since it was opened
  var clock: Clock = _

  def become(state: InternalRow): Unit = this.state = state
  def bag(name: String): BagRows = bagRows.find(_.plan.name == name).get

  /** The first row of a key that has state to begin with. */
  def begin(values: InternalRow, first: InternalRow): Unit =
    if (maps.isEmpty) states.begin(first)
    else {
      states.begin(stateOfInitial(first))
      entries.foreach(_.open(values))
      entries.indices.foreach { i => val at = program.state.size + i; if (!first.isNullAt(at)) entries(i).putAll(first.getArray(at)) }
    }

  def open(values: InternalRow): Unit = {
    this.values = values
    val stored = states.get()
    forgotten = stored == null
    touched = false
    state = if (forgotten) blank else stored
    if (timed) readClock()
    entries.foreach(_.open(values))
    if (bags.nonEmpty) bagRows.indices.foreach(i => bagRows(i).open(values, clock.counts(i), clock.firsts(i)))
  }

  /** What the record gives, by the program of records; what that says of the state is done. */
  def take(record: InternalRow): UnsafeRow = {
    if (timed && forgotten) { // the key begins anew, and its alarms with it
      clock.fired = Long.MinValue
      clock.clockFired = Long.MinValue
    }
    touched = true
    run(program, record)
  }

  /** The program's result; what it says of the state is done. */
  def run(program: Program, left: InternalRow): UnsafeRow = {
    val result = program(state, left)
    forgotten = result.getBoolean(2)
    state = if (forgotten) blank else program.next(result)
    if (forgotten) empty()
    result
  }

  def forget(): Unit = { state = blank; forgotten = true; empty() }

  private def empty(): Unit = { bagRows.foreach(_.empty()); entries.foreach(_.empty()) }

  def saveState(): Unit = {
    if (isBlank) forgotten = true
    if (forgotten) states.clear() else states.update(state)
  }

  /** Whether a key whose bags are empty is as if it had never come: it need not be remembered, or keys that come once would pile up. */
  private def isBlank: Boolean = bags.nonEmpty && maps.isEmpty && alarm.isEmpty && state == blank && bagRows.forall(_.total == 0)

  def readClock(): Unit = clock = Clock(clocks.get(), bags.size, bothTimers)
  def writeClock(): Unit = clocks.update(clock.row)

  /** The times, as far as they are to be remembered: those of a key that is forgotten only if a timer of it will ring. */
  def saveClock(): Unit = {
    if (bags.nonEmpty) bagRows.indices.foreach { i => clock.counts(i) = bagRows(i).total; clock.firsts(i) = bagRows(i).first }
    if (!forgotten || clock.wake != NoTime || clock.clockWake != NoTime) { if (clock.changed) writeClock() }
    else if (clock.stored) clocks.clear()
  }
}
