package org.apache.spark.sql.headrace

import java.time.Duration

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.streaming._
import org.apache.spark.sql.types._

/** The compiled form of a step: three expressions (the new state, what to emit, whether to forget the key), over the state, then the
  * watermark and the answer of a call, as far as they are `told`, and the record behind them, of which only the first columns are known.
  * The `call` is made once, before them. */
private[headrace] final case class Program(expressions: Seq[Expression], explode: Boolean, state: StructType, told: Boolean, call: Option[Expression]) {
  @transient private lazy val ask = UnsafeProjection.create(call.toSeq)
  @transient private lazy val extras = new GenericInternalRow((if (told) 1 else 0) + call.size)
  @transient private lazy val left = new JoinedRow

  /** From now on this is the watermark that expressions see. */
  def tell(micros: Long): Unit = if (told) extras.update(0, micros)

  private def before(state: InternalRow, record: InternalRow): InternalRow = if (!told && call.isEmpty) state else {
    val row = left(state, extras)
    if (call.isDefined) {
      val answer = ask(input(row, record))
      extras.update(extras.numFields - 1, if (answer.isNullAt(0)) null else answer.getStruct(0, call.get.dataType.asInstanceOf[StructType].size))
    }
    row
  }


  @transient private lazy val input = new JoinedRow
  @transient private lazy val even, odd = UnsafeProjection.create(expressions)
  @transient private var turn = false

  /** The result lives in a buffer of its projection. There are two that take turns, so that the state it was made from is not
    * written over meanwhile, and no state is copied. */
  def apply(state: InternalRow, record: InternalRow): UnsafeRow = {
    turn = !turn
    val row = before(state, record)
    (if (turn) odd else even)(input(row, record))
  }

  @transient private lazy val evenState, oddState = new UnsafeRow(state.size)
  @transient private lazy val evenRow, oddRow = new UnsafeRow(rowWidth)

  /** The new state that the last result holds. */
  def next(result: UnsafeRow): UnsafeRow = Program.struct(result, 0, if (turn) oddState else evenState)

  /** The row that the last result puts out, if it is one and not an array of them. */
  def emitted(result: UnsafeRow): UnsafeRow = Program.struct(result, 1, if (turn) oddRow else evenRow)

  def emit: Expression = expressions(1)

  @transient lazy val rowWidth: Int = (emit.dataType match {
    case ArrayType(row: StructType, _) => row
    case row: StructType => row
  }).size
}

private[headrace] object Program {
  /** A struct within a row, as `getStruct` gives it, but without a new object for each: a field holds its offset and its size. */
  private def struct(result: UnsafeRow, field: Int, struct: UnsafeRow): UnsafeRow = {
    val place = result.getLong(field)
    struct.pointTo(result.getBaseObject, result.getBaseOffset + (place >> 32).toInt, place.toInt)
    struct
  }
}

private[headrace] final case class AlarmProgram(at: Expression, program: Program) {
  @transient lazy val time: UnsafeProjection = UnsafeProjection.create(Seq(at))
}

private[headrace] final case class KeyRow(types: Seq[DataType])

/** A scan, resolved and compiled. A row begins with the columns of `record`, those that expressions name. */
private[headrace] final case class ScanPlan(
    keys: KeyRow,
    record: StructType,
    program: Program,
    initial: Seq[Expression],
    alarm: Option[AlarmProgram],
    idleMicros: Option[Long],
    eventTime: Option[Int],
    ties: Seq[Int],
    waits: Boolean,
    lateRow: Option[Expression],
    lateAfter: Option[Expression],
    streaming: Boolean,
    passing: Option[Passing] = None)

/** Rows of other branches of the same query come with the records: each whole, in the column `at` of a record that is none, with so many
  * `fields`. They go out as they came, behind the `width` columns of the scan's own rows. */
private[headrace] final case class Passing(at: Int, fields: Int, width: Int)

/** The scan itself: for each record of a key, in order, (state, record) -> (state', rows out).
  *
  * Without event time a record is taken as it arrives. With it, a stream keeps records until the watermark has passed them and
  * takes them in the order of their time; a batch has them all and sorts them. Told not to wait, both take records as they arrive.
  * Alarms and expiry fall between the records, before the first that is later, so the result does not depend on how the stream was
  * cut into batches.
  *
  * A batch of a stream has two watermarks. Behind another stateful operator, what is not later than that of the batch before (`lateMillis`) is
  * late; what is not later than its own is due. So what one scan lets out because it is due is not late for the next.
  */
private[headrace] final class ScanProcessor(plan: ScanPlan, lateMillis: Option[Long] = None)
  extends StatefulProcessorWithInitialState[InternalRow, InternalRow, InternalRow, InternalRow] {

  import ScanProcessor._
  import plan._

  /** What a key remembers: a checkpoint with another one is refused before a job starts. */
  def stateSchema: StructType = program.state

  /** Whether no record comes out before the watermark has passed it. */
  def waitsForTime: Boolean = eventTime.isDefined && waits

  def judgingBy(lateMillis: Option[Long]): ScanProcessor = new ScanProcessor(plan, lateMillis)

  def passing(others: Passing): ScanProcessor = new ScanProcessor(plan.copy(passing = Some(others)), lateMillis)

  @transient private var states: ValueState[InternalRow] = _
  @transient private var clocks: ValueState[InternalRow] = _
  @transient private var waiting: ListState[InternalRow] = _
  @transient private lazy val blank: UnsafeRow = UnsafeProjection.create(initial)(InternalRow.empty).copy()
  @transient private lazy val late: UnsafeProjection = UnsafeProjection.create(lateRow.map(Seq(_)).get)
  @transient private lazy val latest: UnsafeProjection = UnsafeProjection.create(lateAfter.toSeq)
  @transient private lazy val joined = new JoinedRow
  @transient private lazy val byTime: Ordering[InternalRow] =
    RowOrdering.create((eventTime.toSeq ++ ties).map(i => SortOrder(BoundReference(i, record(i).dataType, nullable = true), Ascending)), Nil)

  // The key at hand. One task takes one key at a time, so these are fields and not arguments.
  @transient private var key: InternalRow = _
  @transient private var state: InternalRow = _
  @transient private var forgotten: Boolean = _
  @transient private var clock: Clock = _

  // Without alarm, expiry or records that wait, there is nothing to remember of time.
  private val timed = alarm.isDefined || eventTime.isDefined && (waits || idleMicros.isDefined)

  // By the clock and without an alarm, Spark expires the state itself, with half the reads and writes of a timer that each record moves. But
  // to Spark every change of the state is a sign of life, also that of an alarm.
  private val expiresByTheClock = streaming && eventTime.isEmpty && idleMicros.isDefined && alarm.isDefined

  override def init(outputMode: OutputMode, timeMode: TimeMode): Unit = {
    val ttl = if (streaming && !timed) idleMicros.fold(TTLConfig.NONE)(m => TTLConfig(Duration.ofNanos(m * 1000))) else TTLConfig.NONE
    states = getHandle.getValueState[InternalRow]("state", Rows.passThrough(program.state), ttl)
    if (timed) clocks = getHandle.getValueState[InternalRow]("clock", Rows.passThrough(Clock.schema), TTLConfig.NONE)
    if (eventTime.isDefined && streaming && waits) waiting = getHandle.getListState[InternalRow]("waiting", Rows.passThrough(record), TTLConfig.NONE)
  }

  override def handleInitialState(key: InternalRow, first: InternalRow, now: TimerValues): Unit = {
    states.update(first)
    if (timed && streaming) {
      open(key)
      if (expiresByTheClock) saw(clockTime(now))
      arm(NoTime)
      clocks.update(clock.row)
    }
  }

  override def handleInputRows(key: InternalRow, rows: Iterator[InternalRow], now: TimerValues): Iterator[InternalRow] =
    if (plan.passing.isEmpty) handle(key, rows, now) else handle(key, rows, now).map(whole)

  // The way of rows that pass by; one row of them is there at a time.
  @transient private lazy val passed, own = new JoinedRow
  @transient private lazy val noRow = new GenericInternalRow(plan.passing.get.width)
  @transient private lazy val none, other = new GenericInternalRow(1)

  private def passes(row: InternalRow): Boolean = plan.passing.isDefined && !row.isNullAt(plan.passing.get.at)

  private def pass(row: InternalRow): InternalRow = {
    other.update(0, row.getStruct(plan.passing.get.at, plan.passing.get.fields))
    passed(noRow, other)
  }

  private def whole(row: InternalRow): InternalRow = if (row eq passed) row else own(row, none)

  private def handle(key: InternalRow, rows: Iterator[InternalRow], now: TimerValues): Iterator[InternalRow] =
    eventTime match {
      case None =>
        open(key)
        new Steps(rows, now)
      case Some(time) if streaming && waits => keep(key, rows, time, lateLimit(now))
      case Some(time) if !waits =>
        open(key)
        val limit = if (streaming) lateLimit(now) else BeforeAll
        tell(limit)
        rows.flatMap { row =>
          if (passes(row)) Iterator.single(pass(row)) else if (isLate(row, time, limit)) Iterator.single(tooLate(row)) else take(row, time)
        } ++ close(now)
      case Some(time) =>
        open(key)
        tell(BeforeAll)
        val (others, ours) = rows.map(_.copy()).toArray.partition(passes)
        val (timeless, records) = ours.partition(_.isNullAt(time))
        others.iterator.map(pass) ++ timeless.iterator.map(tooLate) ++ inOrder(records, time) ++ close(now)
    }

  override def handleExpiredTimer(key: InternalRow, now: TimerValues, expired: ExpiredTimerInfo): Iterator[InternalRow] =
    if (plan.passing.isEmpty) expire(key, now, expired) else expire(key, now, expired).map(whole)

  private def expire(key: InternalRow, now: TimerValues, expired: ExpiredTimerInfo): Iterator[InternalRow] = {
    open(key)
    if (clock.wake == expired.getExpiryTimeInMs()) clock.wake = NoTime // Spark removes the timer that brought us here
    eventTime match {
      case None => advance(clockTime(now)) ++ close(now)
      case Some(time) if now.getCurrentWatermarkInMs() >= EndOfInput.watermark =>
        val rest = if (waits) waiting.get().toArray else Array.empty[InternalRow]
        if (waits) waiting.clear()
        inOrder(rest, time) ++ ringOut() ++ { expire(); save(NoTime) }
      case Some(_) if !waits => advance(watermark(now)) ++ save(NoTime)
      case Some(time) =>
        val limit = watermark(now)
        tell(lateLimit(now))
        val (due, rest) = waiting.get().toArray.partition(_.getLong(time) <= limit)
        if (rest.isEmpty) waiting.clear() else waiting.put(rest)
        val next = if (rest.isEmpty) NoTime else rest.iterator.map(_.getLong(time)).min
        inOrder(due, time) ++ advance(limit) ++ save(next)
    }
  }

  /** What records give as they come, then what their end brings. The way of most records, and one object for all of a key's: each of Scala's
    * ways to say this makes several for every record. */
  private final class Steps(records: Iterator[InternalRow], now: TimerValues) extends Iterator[InternalRow] {
    private var ready: InternalRow = _
    private val time = if (expiresByTheClock) clockTime(now) else NoTime
    // A record may come before the timer that would have told that the key has expired: what was due until then comes first.
    private var several: Iterator[InternalRow] = if (expiresByTheClock && expiryTime() <= time) advance(time) else Iterator.empty
    private var closed = false

    override def hasNext: Boolean = {
      while (ready == null) {
        if (several.hasNext) ready = several.next()
        else if (records.hasNext) take(records.next())
        else if (closed) return false
        else { closed = true; several = close(now) }
      }
      true
    }

    override def next(): InternalRow = {
      if (!hasNext) throw new NoSuchElementException
      val row = ready
      ready = null
      row
    }

    private def take(record: InternalRow): Unit = if (passes(record)) ready = pass(record) else {
      if (expiresByTheClock) saw(time)
      if (program.explode) several = step(record)
      else {
        val result = taken(record)
        if (!result.isNullAt(1)) ready = program.emitted(result)
      }
    }
  }

  /** Records in the order of event time; equal times: of the columns that are to break ties, then of arrival. */
  private def inOrder(records: Array[InternalRow], time: Int): Iterator[InternalRow] =
    records.sorted(byTime).iterator.flatMap(take(_, time))

  /** One record of event time: what was to happen before it happens first. */
  private def take(row: InternalRow, time: Int): Iterator[InternalRow] = {
    val at = row.getLong(time)
    advance(at - 1) ++ { saw(at); step(row) }
  }

  private def tooLate(row: InternalRow): InternalRow = late(joined(blank, row)).getStruct(0, program.rowWidth)

  private def step(row: InternalRow): Iterator[InternalRow] = rowsOf(program, taken(row))

  private def taken(row: InternalRow): UnsafeRow = {
    if (timed && forgotten) clock.fired = Long.MinValue // the key begins anew, and its alarms with it
    changed(program, row)
  }

  private def tell(micros: Long): Unit = program.tell(Math.max(micros, FirstTime))

  /** The program's result; what it says of the state is done. */
  private def changed(program: Program, left: InternalRow): UnsafeRow = {
    val result = program(state, left)
    forgotten = result.getBoolean(2)
    state = if (forgotten) blank else program.next(result)
    result
  }

  private def rowsOf(program: Program, result: UnsafeRow): Iterator[InternalRow] =
    if (result.isNullAt(1)) Iterator.empty
    else if (!program.explode) Iterator.single(program.emitted(result))
    else {
      val rows = result.getArray(1)
      Iterator.range(0, rows.numElements()).filterNot(i => rows.isNullAt(i)).map(i => rows.getStruct(i, program.rowWidth))
    }

  /** Alarms and expiry up to `limit` (included), in the order of their time. */
  private def advance(limit: Long): Iterator[InternalRow] = if (!timed) Iterator.empty else {
    val ring = alarmTime()
    val expiry = expiryTime()
    if (ring <= limit && ring <= expiry) { clock.fired = ring; fire(ring) ++ advance(limit) }
    else { if (expiry <= limit) expire(); Iterator.empty }
  }

  /** The alarms that are set at the end of the input, one after the other, until none is set or the key expires. */
  private def ringOut(rung: Int = 0): Iterator[InternalRow] = {
    val ring = alarmTime()
    if (ring == NoTime || ring > expiryTime()) Iterator.empty
    else if (rung < MostAtTheEnd) { clock.fired = ring; fire(ring) ++ ringOut(rung + 1) }
    else throw new IllegalStateException(s"the timer of a key sets itself again and again: it has rung $rung times since the input ended")
  }

  private def fire(time: Long): Iterator[InternalRow] = {
    val left = new GenericInternalRow(keys.types.size + 1)
    keys.types.indices.foreach(i => left.update(i, if (key.isNullAt(i)) null else key.get(i, keys.types(i))))
    left.update(keys.types.size, time)
    rowsOf(alarm.get.program, changed(alarm.get.program, left))
  }

  private def expire(): Unit = { state = blank; forgotten = true }

  /** When the alarm is due; an alarm that is not later than the last one that rang does not ring again. What is forgotten has none. */
  private def alarmTime(): Long = if (alarm.isEmpty || forgotten) NoTime else {
    val at = alarm.get.time(state)
    if (at.isNullAt(0) || at.getLong(0) <= clock.fired) NoTime else at.getLong(0)
  }

  private def expiryTime(): Long =
    if (idleMicros.isEmpty || forgotten || clock.seen == NoTime) NoTime else clock.seen + idleMicros.get

  private def open(key: InternalRow): Unit = {
    this.key = key
    val found = states.get()
    forgotten = found == null
    state = if (forgotten) blank else found
    if (timed) clock = Clock(clocks.get())
  }

  private def close(now: TimerValues): Iterator[InternalRow] =
    if (streaming) save(NoTime)
    else if (alarm.isEmpty) Iterator.empty // a batch ends here: there is no one to keep the state for
    else ringOut()

  private def save(next: Long): Iterator[InternalRow] = {
    if (forgotten) states.clear() else states.update(state)
    if (timed) {
      arm(next)
      if (forgotten && clock.wake == NoTime) clocks.clear() else clocks.update(clock.row)
    }
    Iterator.empty
  }

  /** One timer a key: for the first thing that is due, be it a waiting record, the alarm or expiry. */
  private def arm(next: Long): Unit = wakeAt(Seq(next, alarmTime(), expiryTime()).min)

  private def wakeAt(micros: Long): Unit = {
    // A timer has milliseconds: round up. One at or before the epoch would ring while the watermark is still unknown, and be gone; and one
    // behind the end of the input would not ring then.
    val wake = if (micros == NoTime) NoTime else Math.min(EndOfInput.watermark, Math.max(1L, -Math.floorDiv(-micros, 1000L)))
    if (wake != clock.wake) {
      if (clock.wake != NoTime) getHandle.deleteTimer(clock.wake)
      if (wake != NoTime) getHandle.registerTimer(wake)
      clock.wake = wake
    }
  }

  private def isLate(row: InternalRow, time: Int, limit: Long): Boolean = row.isNullAt(time) || (lateAfter match {
    case None => row.getLong(time) <= limit
    case Some(_) => val end = latest(row); end.isNullAt(0) || end.getLong(0) <= limit
  })

  private def saw(time: Long): Unit = if (timed) clock.seen = if (forgotten || clock.seen == NoTime) time else Math.max(clock.seen, time)

  /** Records wait in the state until the watermark reaches them; those it has passed (or that have no time) are late. */
  private def keep(key: InternalRow, rows: Iterator[InternalRow], time: Int, limit: Long): Iterator[InternalRow] = {
    var first = NoTime
    rows.flatMap { row =>
      if (passes(row)) Iterator.single(pass(row))
      else if (isLate(row, time, limit)) Iterator.single(tooLate(row))
      else { first = Math.min(first, row.getLong(time)); waiting.appendValue(row); Iterator.empty }
    } ++ {
      clock = Clock(clocks.get())
      val wake = if (clock.wake == NoTime) NoTime else clock.wake * 1000
      if (first < wake) { wakeAt(first); clocks.update(clock.row) }
      Iterator.empty
    }
  }

  private def clockTime(now: TimerValues): Long = now.getCurrentProcessingTimeInMs() * 1000

  private def watermark(now: TimerValues): Long = micros(now.getCurrentWatermarkInMs())

  private def lateLimit(now: TimerValues): Long = lateMillis.fold(watermark(now))(micros)

  /** Spark's first watermark is the epoch, before anything was seen: nothing is behind that. */
  private def micros(millis: Long): Long = if (millis <= 0) BeforeAll else Math.multiplyExact(millis, 1000L)
}

private[headrace] object ScanProcessor {
  val NoTime: Long = Long.MaxValue
  val BeforeAll: Long = Long.MinValue

  /** The first time that Spark can show, year one: what expressions see of a watermark that is before all time. */
  private val FirstTime = -62135596800000000L

  /** So often may an alarm ring after the end of the input. */
  private val MostAtTheEnd = 100000
}

/** What a key remembers of time: its timer (ms), its newest record and its last alarm (both in microseconds). */
private[headrace] final class Clock(var wake: Long, var seen: Long, var fired: Long) {
  def row: InternalRow = InternalRow(wake, seen, fired)
}

private[headrace] object Clock {
  val schema: StructType = new StructType().add("wake", LongType).add("seen", LongType).add("fired", LongType)
  def apply(row: InternalRow): Clock =
    if (row == null) new Clock(ScanProcessor.NoTime, ScanProcessor.NoTime, Long.MinValue) else new Clock(row.getLong(0), row.getLong(1), row.getLong(2))
}
