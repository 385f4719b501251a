package org.apache.spark.sql.headrace

import java.time.Duration
import java.util.{Map => JMap}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.streaming._
import org.apache.spark.sql.types._

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
  extends StatefulProcessorWithInitialState[InternalRow, InternalRow, InternalRow, InternalRow] with HasState {

  import ScanProcessor._
  import plan._

  private val times = ScanTimes(lag, lateMillis)
  import times.{clockTime, lateLimit, later, millis, waitsUntil, wakesFrom, watermark}

  /** What a checkpoint depends on, by the words of the program; schemas are Spark's JSON. */
  def remembers: JMap[String, AnyRef] = Map[String, AnyRef](
    "fields" -> program.state.json,
    "bags" -> StructType(bags.map(bag => StructField(bag.name, bag.row))).json,
    "maps" -> maps.asJava,
    "event_time" -> eventTime.map(record(_).name).orNull,
    "waiting" -> (if (waitsForTime) record.json else null),
    "timer" -> Boolean.box(alarm.isDefined),
    "clock" -> Boolean.box(clockAlarm.isDefined),
    "idle" -> Boolean.box(idleMicros.isDefined),
    "leaving" -> Boolean.box(bags.exists(_.expire.isDefined))).asJava

  /** The same, where the fields of keys have had other places before. */
  def goingOn(place: String, former: Seq[Former]): ScanProcessor = new ScanProcessor(plan.copy(place = place, former = former), lateMillis)

  /** Whether no record comes out before the watermark has passed it. */
  def waitsForTime: Boolean = eventTime.isDefined && waits

  /** How much later is it known of what comes out that everything up to a time is there. */
  def lagBehind: Long = plan.behind

  def judgingBy(lateMillis: Option[Long]): ScanProcessor = new ScanProcessor(plan, lateMillis)

  def passing(others: Passing): ScanProcessor = new ScanProcessor(plan.copy(passing = Some(others)), lateMillis)

  /** What a record gives, if that is all that comes out and at most one row; and what a row gives that passes by, if there are such. */
  def emission: Option[Seq[OneRow]] =
    if (eventTime.isDefined || alarm.isDefined || clockAlarm.isDefined || settled.isDefined || bags.nonEmpty || program.explode) None
    else OneRow.of(program.emit).map(own => plan.passing.fold(Seq(own))(_.both(own)))

  /** The same with other such rows. */
  def emitting(rows: Seq[OneRow]): ScanProcessor = {
    val next = program.copy(expressions = program.expressions.updated(1, rows.head.expression))
    new ScanProcessor(plan.copy(program = next, passing = plan.passing.map(_.copy(made = rows.lift(1)))), lateMillis)
  }

  /** How many columns its own rows have. */
  def width: Int = program.rowWidth

  /** Why its rows are not each of one record, if they are not, or not the same ones however batches are cut. */
  def unlikeRecords: Option[String] =
    if (eventTime.isDefined) Some("which of its records are late depends on the batches that they come in")
    else if (bags.nonEmpty) Some("its rows are made of several records, or of the time")
    else if (settled.isDefined) Some("it has a row for those records of a key that come in one batch")
    else Option.when((alarm.map(_.program) ++ clockAlarm.map(_.program)).exists(!_.silent))("it has rows of an alarm, which no record makes")

  /** The same, where a record has its origin in this column, and so has what comes out for it, at the end. */
  def carrying(at: Int, name: String): ScanProcessor =
    new ScanProcessor(plan.copy(program = program.carrying(at, name), passing = plan.passing.map(_.carrying(at))), lateMillis)

  @transient private var states: StateRows = _
  @transient private var clocks: ValueState[InternalRow] = _
  @transient private var waiting: WaitingRows = _
  @transient private var others: PassingRows = _ // if there are any
  @transient private lazy val blank: UnsafeRow = UnsafeProjection.create(initial)(InternalRow.empty).copy()
  @transient private lazy val late: UnsafeProjection = UnsafeProjection.create(lateRow.map(Seq(_)).get)
  @transient private lazy val latest: UnsafeProjection = UnsafeProjection.create(lateAfter.toSeq)
  @transient private lazy val joined = new JoinedRow
  @transient private lazy val byTime: Ordering[InternalRow] =
    RowOrdering.create((eventTime.toSeq ++ ties).map(i => SortOrder(BoundReference(i, record(i).dataType, nullable = true), Ascending)), Nil)

  // The key at hand. One task takes one key at a time, so these are fields and not arguments.
  @transient private var key: InternalRow = _
  @transient var state: InternalRow = _
  @transient private var forgotten: Boolean = _
  @transient private var clock: Clock = _
  @transient private var kept: Array[BagRows] = _
  @transient private var entries: Array[EntryMap] = _
  @transient private var passed: Long = _ // rows of a bag leave up to this time: where records do not come in order, that of the watermark

  @transient private var touched: Boolean = _ // a record of it was taken since it was opened
  @transient private var lateRows: SQLMetric = _
  @transient private var eventTimers: EventTimers = _ // if alarms go by event time

  override def become(state: InternalRow): Unit = this.state = state
  override def bag(name: String): BagRows = kept.find(_.plan.name == name).get

  // Spark has timers by the clock or by event time. The first are Spark's, the second in a place of our own: so a key may have both.
  private val both = streaming && eventTime.isDefined && clockAlarm.isDefined

  // Without alarm, expiry, bags or records that wait, there is nothing to remember of time.
  private val timed = alarm.isDefined || both || bags.nonEmpty || eventTime.isDefined && (waits || idleMicros.isDefined)

  // By the clock and without an alarm, Spark expires the state itself, with half the reads and writes of a timer that each record moves. But
  // to Spark every change of the state is a sign of life, also that of an alarm.
  private val expiresByTheClock = streaming && eventTime.isEmpty && idleMicros.isDefined && (alarm.isDefined || bags.nonEmpty)

  override def init(outputMode: OutputMode, timeMode: TimeMode): Unit = {
    val ttl = if (streaming && !timed) idleMicros.fold(TTLConfig.NONE)(m => TTLConfig(Duration.ofNanos(m * 1000))) else TTLConfig.NONE
    states = new StateRows(getHandle, plan, ttl)
    if (timed) clocks = getHandle.getValueState[InternalRow]("clock", Rows.passThrough(Clock.schema(bags.size, both)), TTLConfig.NONE)
    kept = bags.map(bag => new BagRows(bag, OrderedRows(getHandle, s"bag ${bag.name}", keys, bag.row), this)).toArray
    entries = maps.map(map => EntryMap(getHandle, s"map $map", keys)).toArray
    (program +: alarm.map(_.program).toSeq).foreach(_.maps = entries)
    if (eventTime.isDefined && streaming && waits) waiting = new WaitingRows(OrderedRows(getHandle, "waiting", keys, record), record)
    others = plan.passing.map(new PassingRows(_)).orNull
    lateRows = Handles.metric(getHandle, "numRowsDroppedByWatermark")
    if (timed && streaming && eventTime.isDefined) eventTimers = EventTimers(getHandle, keys)
  }

  override def handleInitialState(key: InternalRow, first: InternalRow, now: TimerValues): Unit = {
    if (maps.isEmpty) states.begin(first)
    else {
      states.begin(stateOfInitial(first))
      entries.foreach(_.open(key))
      entries.indices.foreach { i => val at = program.state.size + i; if (!first.isNullAt(at)) entries(i).putAll(first.getArray(at)) }
    }
    if (timed && streaming) {
      open(key)
      if (expiresByTheClock) saw(clockTime(now))
      arm(NoTime)
      clocks.update(clock.row)
    }
  }

  @transient private lazy val stateOfInitial: UnsafeProjection = UnsafeProjection.create(program.state)

  override def handleInputRows(key: InternalRow, rows: Iterator[InternalRow], now: TimerValues): Iterator[InternalRow] =
    if (others == null) handle(key, rows, now) else others.widened(handle(key, rows, now))

  private def passes(row: InternalRow): Boolean = others != null && others.isOne(row)

  private def handle(key: InternalRow, rows: Iterator[InternalRow], now: TimerValues): Iterator[InternalRow] = {
    setClock(now)
    eventTime match {
      case None =>
        open(key)
        new Steps(askedAhead(rows), now)
      case Some(time) if streaming && waits => keep(key, rows, time, lateLimit(now))
      case Some(time) if !waits =>
        open(key)
        val limit = if (streaming) lateLimit(now) else BeforeAll
        passed = limit
        setWatermark(limit)
        advance(limit) ++ rows.flatMap { row => // what the watermark has passed comes before a record that it has passed, too
          if (passes(row)) Iterator.single(others.passedBy(row)) else if (isLate(row, time, limit)) Iterator.single(tooLate(row)) else take(row, time)
        } ++ settle() ++ close(now)
      case Some(time) =>
        open(key)
        setWatermark(BeforeAll)
        val (passing, ours) = rows.map(_.copy()).toArray.partition(passes)
        val (timeless, records) = ours.partition(_.isNullAt(time))
        passing.iterator.map(others.passedBy) ++ timeless.iterator.map(tooLate) ++ inOrder(records, time) ++ settle() ++ close(now)
    }
  }

  override def handleExpiredTimer(key: InternalRow, now: TimerValues, expired: ExpiredTimerInfo): Iterator[InternalRow] = {
    val rows =
      if (eventTimers == null) expire(key, now, expired.getExpiryTimeInMs())
      else if (eventTimers.rouses(expired)) eventTimers.due(key, expired, now.getCurrentWatermarkInMs())((key, time) => expire(key, now, time))
      else ring(key, now, expired)
    if (others == null) rows else others.widened(rows)
  }

  /** An alarm by the clock, of a key that has one by event time, too. */
  private def ring(key: InternalRow, now: TimerValues, expired: ExpiredTimerInfo): Iterator[InternalRow] = {
    open(key)
    if (clock.clockWake == expired.getExpiryTimeInMs()) clock.clockWake = NoTime
    ring(clockTime(now)) ++ save(NoTime)
  }

  private def ring(limit: Long): Iterator[InternalRow] = {
    val time = clockAlarmTime()
    if (time > limit) Iterator.empty else { clock.clockFired = time; fire(clockAlarm.get.program, time) ++ ring(limit) }
  }

  private def expire(key: InternalRow, now: TimerValues, expired: Long): Iterator[InternalRow] = {
    open(key)
    val from = wakesFrom(clock.wake)
    if (clock.wake == expired) clock.wake = NoTime // the timer that brought us here is removed
    eventTime match {
      case None => advance(clockTime(now)) ++ close(now)
      case Some(time) if now.getCurrentWatermarkInMs() >= EndOfInput.watermark =>
        setWatermark(lateLimit(now))
        (if (waits) inOrder(waiting.takeOut(key, from, NoTime)._1, time) else Iterator.empty) ++ ringOut() ++ { expire(); save(NoTime) }
      case Some(_) if !waits => advance(watermark(now)) ++ save(NoTime)
      case Some(time) =>
        val limit = watermark(now)
        setWatermark(lateLimit(now))
        val (due, next) = waiting.takeOut(key, from, limit)
        inOrder(due, time) ++ settle() ++ advance(limit) ++ save(next)
    }
  }

  /** What records give as they come, then what their end brings. The way of most records, and one object for all of a key's: each of Scala's
    * ways to say this makes several for every record. */
  private final class Steps(records: Iterator[InternalRow], now: TimerValues) extends Iterator[InternalRow] {
    private var ready: InternalRow = _
    private val time = if (expiresByTheClock) clockTime(now) else NoTime
    // A record may come before the timer by which the key has expired: what was due until then comes first.
    private var several: Iterator[InternalRow] = if (expiresByTheClock && expiryTime() <= time) advance(time) else Iterator.empty
    private var closed = false

    override def hasNext: Boolean = {
      while (ready == null) {
        if (several.hasNext) ready = several.next()
        else if (records.hasNext) take(records.next())
        else if (closed) return false
        else { closed = true; several = if (settled.isEmpty) close(now) else settle() ++ close(now) }
      }
      true
    }

    override def next(): InternalRow = {
      if (!hasNext) throw new NoSuchElementException
      val row = ready
      ready = null
      row
    }

    private def take(record: InternalRow): Unit = if (passes(record)) ready = others.passedBy(record) else {
      if (expiresByTheClock) saw(time)
      if (program.explode || bags.nonEmpty) several = step(record)
      else {
        val result = taken(record)
        if (!result.isNullAt(1)) ready = program.emitted(result)
      }
    }
  }

  /** Records in the order of event time; equal times: of the columns that are to break ties, then of arrival. */
  private def inOrder(records: Array[InternalRow], time: Int): Iterator[InternalRow] =
    (if (timesMatter) records.sorted(byTime).iterator else askedAhead(records.sorted(byTime).iterator)).flatMap(take(_, time))

  /** Whether something may be due between two records. */
  private val timesMatter = alarm.isDefined || idleMicros.isDefined || bags.nonEmpty

  private def askedAhead(records: Iterator[InternalRow]): Iterator[InternalRow] =
    if (program.asksAhead) new AskedAhead(records, program, () => state, passes) else records

  /** One record of event time: what was to happen before it happens first. */
  private def take(row: InternalRow, time: Int): Iterator[InternalRow] = {
    val at = row.getLong(time)
    advance(at - 1) ++ { saw(at); step(row) }
  }

  private def tooLate(row: InternalRow): InternalRow = {
    lateRows.add(1)
    late(joined(blank, row)).getStruct(0, program.rowWidth)
  }

  /** What a key puts out when its records that came together have been taken. */
  private def settle(): Iterator[InternalRow] =
    if (settled.isEmpty || !touched || forgotten) Iterator.empty else settled.get.rows(settled.get(state, key))

  private def step(row: InternalRow): Iterator[InternalRow] =
    if (bags.isEmpty) counted(program.rows(taken(row))) else kept.iterator.flatMap(_.visit(row)) ++ visited(row)

  /** The record itself, when it has visited the bags. What it adds to them is made of the state that it had then. */
  private def visited(row: InternalRow): Iterator[InternalRow] = {
    val before = state
    val result = taken(row)
    if (!forgotten) kept.foreach(_.add(before, row))
    counted(program.rows(result))
  }

  private def counted(rows: Iterator[InternalRow]): Iterator[InternalRow] = refused match {
    case None => rows
    case Some(port) => rows.map { row => if (!row.isNullAt(port)) lateRows.add(1); row }
  }

  private def taken(row: InternalRow): UnsafeRow = {
    if (timed && forgotten) { // the key begins anew, and its alarms with it
      clock.fired = Long.MinValue
      clock.clockFired = Long.MinValue
    }
    touched = true
    changed(program, row)
  }

  private def setWatermark(micros: Long): Unit = {
    val time = Math.min(Math.max(micros, FirstTime), LastTime)
    program.setWatermark(time)
    kept.foreach(_.setWatermark(time))
  }

  private def setClock(now: TimerValues): Unit = {
    val time = if (streaming) clockTime(now) else null // a batch has no clock
    program.setClock(time)
    kept.foreach(_.setClock(time))
  }

  /** The program's result; what it says of the state is done. */
  private def changed(program: Program, left: InternalRow): UnsafeRow = {
    val result = program(state, left)
    forgotten = result.getBoolean(2)
    state = if (forgotten) blank else program.next(result)
    if (forgotten) { kept.foreach(_.empty()); entries.foreach(_.empty()) }
    result
  }

  /** What is due up to `limit` (included), in the order of its time: rows that leave a bag, alarms, expiry. */
  private def advance(limit: Long): Iterator[InternalRow] = if (!timed) Iterator.empty else {
    val ring = alarmTime()
    val expiry = expiryTime()
    val leaving = nextBag(Math.min(Math.min(limit, passed), Math.min(ring, expiry)))
    if (leaving != null) leaving.leave(() => Math.min(limit, bound(leaving))) ++ advance(limit)
    else if (ring <= limit && ring <= expiry) { clock.fired = ring; fire(alarm.get.program, ring) ++ advance(limit) }
    else { if (expiry <= limit) expire(); Iterator.empty }
  }

  /** What is due at the end of the input, one after the other, until nothing is or the key expires. */
  private def ringOut(rung: Int = 0): Iterator[InternalRow] = {
    passed = NoTime
    val ring = alarmTime()
    val leaving = nextBag(Math.min(ring, expiryTime()))
    if (leaving != null) leaving.leave(() => bound(leaving)) ++ ringOut(rung)
    else if (ring == NoTime || ring > expiryTime()) Iterator.empty
    else if (rung < MostAtTheEnd) { clock.fired = ring; fire(alarm.get.program, ring) ++ ringOut(rung + 1) }
    else throw new IllegalStateException(s"the timer of a key sets itself again and again: it has rung $rung times since the input ended")
  }

  /** The bag whose rows are the first to leave, if that is not after `limit`; of several, the first. */
  private def nextBag(limit: Long): BagRows = if (bags.isEmpty) null else {
    val first = kept.minBy(_.due)
    if (first.due <= limit && first.due != NoTime) first else null
  }

  /** So far may rows leave this bag before something else is due. */
  private def bound(bag: BagRows): Long =
    kept.iterator.takeWhile(_ ne bag).map(_.due - 1) // of equal times, the first bag comes first
      .concat(kept.iterator.dropWhile(_ ne bag).drop(1).map(_.due))
      .concat(Iterator(passed, alarmTime(), expiryTime())).min

  private def fire(program: Program, time: Long): Iterator[InternalRow] = {
    val left = new GenericInternalRow(keys.size + 1)
    keys.indices.foreach(i => left.update(i, if (key.isNullAt(i)) null else key.get(i, keys(i).dataType)))
    left.update(keys.size, time)
    program.rows(changed(program, left))
  }

  private def expire(): Unit = { state = blank; forgotten = true; kept.foreach(_.empty()); entries.foreach(_.empty()) }

  /** When the alarm is due; an alarm that is not later than the last one that rang does not ring again. What is forgotten has none. */
  private def alarmTime(): Long = if (alarm.isEmpty || forgotten) NoTime else after(alarm.get.time(state), clock.fired)

  private def clockAlarmTime(): Long = if (!both || forgotten) NoTime else after(clockAlarm.get.time(state), clock.clockFired)

  private def after(at: UnsafeRow, last: Long): Long = if (at.isNullAt(0) || at.getLong(0) <= last) NoTime else at.getLong(0)

  private def expiryTime(): Long =
    if (idleMicros.isEmpty || forgotten || clock.seen == NoTime) NoTime else clock.seen + idleMicros.get

  private def open(key: InternalRow): Unit = {
    this.key = key
    val stored = states.get()
    forgotten = stored == null
    touched = false
    state = if (forgotten) blank else stored
    if (timed) clock = Clock(clocks.get(), bags.size, both)
    entries.foreach(_.open(key))
    if (bags.nonEmpty) {
      passed = NoTime
      kept.indices.foreach(i => kept(i).open(key, clock.counts(i), clock.firsts(i)))
    }
  }

  private def close(now: TimerValues): Iterator[InternalRow] =
    if (streaming) save(NoTime)
    else if (alarm.isEmpty && bags.isEmpty) Iterator.empty // a batch ends here: there is no one to keep the state for
    else ringOut()

  private def save(next: Long): Iterator[InternalRow] = {
    if (isBlank) forgotten = true
    if (forgotten) states.clear() else states.update(state)
    if (timed) {
      if (bags.nonEmpty) kept.indices.foreach { i => clock.counts(i) = kept(i).total; clock.firsts(i) = kept(i).first }
      arm(next)
      if (!forgotten || clock.wake != NoTime || clock.clockWake != NoTime) { if (clock.changed) clocks.update(clock.row) }
      else if (clock.stored) clocks.clear()
    }
    Iterator.empty
  }

  /** Whether a key whose bags are empty is as if it had never come: it need not be remembered, or keys that come once would pile up. */
  private def isBlank: Boolean = bags.nonEmpty && maps.isEmpty && alarm.isEmpty && state == blank && kept.forall(_.total == 0)

  /** One timer a key: for the first thing that is due, be it a waiting record, the alarm, expiry or a row that leaves a bag. */
  private def arm(next: Long): Unit = {
    val own = Math.min(next, Math.min(alarmTime(), expiryTime()))
    wakeAt(kept.foldLeft(own)((first, bag) => Math.min(first, bag.due)))
    if (both) clock.clockWake = moved(clock.clockWake, millis(clockAlarmTime()), getHandle.registerTimer, getHandle.deleteTimer)
  }

  private def wakeAt(micros: Long): Unit = {
    val at = millis(if (micros == NoTime) NoTime else later(micros))
    clock.wake =
      if (eventTimers != null) moved(clock.wake, at, eventTimers.register, eventTimers.delete)
      else moved(clock.wake, at, getHandle.registerTimer, getHandle.deleteTimer)
  }

  private def moved(from: Long, to: Long, register: Long => Unit, delete: Long => Unit): Long = {
    if (from != to) {
      if (from != NoTime) delete(from)
      if (to != NoTime) register(to)
    }
    to
  }

  private def isLate(row: InternalRow, time: Int, limit: Long): Boolean = row.isNullAt(time) || (lateAfter match {
    case None => row.getLong(time) <= limit
    case Some(_) => val end = latest(row); end.isNullAt(0) || end.getLong(0) <= limit
  })

  private def saw(time: Long): Unit = if (timed) clock.seen = if (forgotten || clock.seen == NoTime) time else Math.max(clock.seen, time)

  /** Records wait in the state until the watermark reaches them; those it has passed (or that have no time) are late. */
  private def keep(key: InternalRow, rows: Iterator[InternalRow], time: Int, limit: Long): Iterator[InternalRow] = {
    var first = NoTime
    waiting.open(key)
    rows.flatMap { row =>
      if (passes(row)) Iterator.single(others.passedBy(row))
      else if (isLate(row, time, limit)) Iterator.single(tooLate(row))
      else { first = Math.min(first, row.getLong(time)); waiting.add(row.getLong(time), row); Iterator.empty }
    } ++ {
      clock = Clock(clocks.get(), bags.size, both)
      val wake = waitsUntil(clock.wake)
      if (first < wake) { wakeAt(first); clocks.update(clock.row) }
      Iterator.empty
    }
  }
}

private[headrace] object ScanProcessor {
  val NoTime: Long = Long.MaxValue
  val BeforeAll: Long = Long.MinValue

  /** What expressions see of a watermark that is before all time, and of one that is behind it: the first and the last day that Spark and
    * Python can show, of the years 1 and 9999. */
  private val FirstTime = -62135596800000000L
  private val LastTime = 253402214400000000L

  /** So often may an alarm ring after the end of the input. */
  private val MostAtTheEnd = 100000
}
