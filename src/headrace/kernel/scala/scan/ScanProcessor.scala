package org.apache.spark.sql.headrace

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
private[headrace] final class ScanProcessor(val plan: ScanPlan, lateMillis: Option[Long] = None)
  extends StatefulProcessorWithInitialState[InternalRow, InternalRow, InternalRow, InternalRow] {

  import ScanProcessor._
  import ScanTimes.{BeforeAll, NoTime}
  import plan._

  private val times = ScanTimes(lag, lateMillis)
  import times.{clockTime, lateLimit, waitsUntil, wakesFrom, watermark}

  /** The same of another plan. */
  def of(plan: ScanPlan): ScanProcessor = new ScanProcessor(plan, lateMillis)

  def judgingBy(lateMillis: Option[Long]): ScanProcessor = new ScanProcessor(plan, lateMillis)

  @transient private var key: OpenKey = _
  @transient private var due: DueEvents = _
  @transient private var waiting: WaitingRows = _
  @transient private var others: PassingRows = _ // if there are any
  @transient private var lateRows: SQLMetric = _
  @transient private lazy val late: UnsafeProjection = UnsafeProjection.create(lateRow.map(Seq(_)).get)
  @transient private lazy val latest: UnsafeProjection = UnsafeProjection.create(lateAfter.toSeq)
  @transient private lazy val joined = new JoinedRow
  @transient private lazy val byTime: Ordering[InternalRow] =
    RowOrdering.create((eventTime.toSeq ++ ties).map(i => SortOrder(BoundReference(i, record(i).dataType, nullable = true), Ascending)), Nil)

  override def init(outputMode: OutputMode, timeMode: TimeMode): Unit = {
    key = new OpenKey(plan, getHandle)
    if (eventTime.isDefined && streaming && waits) waiting = new WaitingRows(OrderedRows(getHandle, "waiting", keys, record), record)
    due = new DueEvents(plan, times, key, getHandle)
    others = plan.passing.map(new PassingRows(_)).orNull
    lateRows = Handles.metric(getHandle, "numRowsDroppedByWatermark")
  }

  override def handleInitialState(values: InternalRow, first: InternalRow, now: TimerValues): Unit = {
    key.begin(values, first)
    if (timed && streaming) {
      open(values)
      if (expiresByTheClock) due.saw(clockTime(now))
      due.arm(NoTime)
      key.writeClock()
    }
  }

  override def handleInputRows(values: InternalRow, rows: Iterator[InternalRow], now: TimerValues): Iterator[InternalRow] =
    if (others == null) handle(values, rows, now) else others.widened(handle(values, rows, now))

  private def passes(row: InternalRow): Boolean = others != null && others.isOne(row)

  private def handle(values: InternalRow, rows: Iterator[InternalRow], now: TimerValues): Iterator[InternalRow] = {
    setClock(now)
    eventTime match {
      case None =>
        open(values)
        new Steps(askedAhead(rows), now)
      case Some(time) if streaming && waits => keep(values, rows, time, lateLimit(now))
      case Some(time) if !waits =>
        open(values)
        val limit = if (streaming) lateLimit(now) else BeforeAll
        due.passed = limit
        setWatermark(limit)
        due.advance(limit) ++ rows.flatMap { row => // what the watermark has passed comes before a record that it has passed, too
          if (passes(row)) Iterator.single(others.passedBy(row)) else if (isLate(row, time, limit)) Iterator.single(tooLate(row)) else take(row, time)
        } ++ settle() ++ close(now)
      case Some(time) =>
        open(values)
        setWatermark(BeforeAll)
        val (passing, ours) = rows.map(_.copy()).toArray.partition(passes)
        val (timeless, records) = ours.partition(_.isNullAt(time))
        passing.iterator.map(others.passedBy) ++ timeless.iterator.map(tooLate) ++ inOrder(records, time) ++ settle() ++ close(now)
    }
  }

  override def handleExpiredTimer(values: InternalRow, now: TimerValues, expired: ExpiredTimerInfo): Iterator[InternalRow] = {
    val timers = due.eventTimers
    val rows =
      if (timers == null) expire(values, now, expired.getExpiryTimeInMs())
      else if (timers.rouses(expired)) timers.due(values, expired, now.getCurrentWatermarkInMs())((values, time) => expire(values, now, time))
      else ring(values, now, expired)
    if (others == null) rows else others.widened(rows)
  }

  /** An alarm by the clock, of a key that has one by event time, too. */
  private def ring(values: InternalRow, now: TimerValues, expired: ExpiredTimerInfo): Iterator[InternalRow] = {
    open(values)
    if (key.clock.clockWake == expired.getExpiryTimeInMs()) key.clock.clockWake = NoTime
    due.ringByTheClock(clockTime(now)) ++ save(NoTime)
  }

  private def expire(values: InternalRow, now: TimerValues, expired: Long): Iterator[InternalRow] = {
    open(values)
    val from = wakesFrom(key.clock.wake)
    if (key.clock.wake == expired) key.clock.wake = NoTime // the timer that brought us here is removed
    eventTime match {
      case None => due.advance(clockTime(now)) ++ close(now)
      case Some(time) if now.getCurrentWatermarkInMs() >= EndOfInput.watermark =>
        setWatermark(lateLimit(now))
        (if (waits) inOrder(waiting.takeOut(values, from, NoTime)._1, time) else Iterator.empty) ++ due.ringOut() ++ { key.forget(); save(NoTime) }
      case Some(_) if !waits => due.advance(watermark(now)) ++ save(NoTime)
      case Some(time) =>
        val limit = watermark(now)
        setWatermark(lateLimit(now))
        val (records, next) = waiting.takeOut(values, from, limit)
        inOrder(records, time) ++ settle() ++ due.advance(limit) ++ save(next)
    }
  }

  /** What records give as they come, then what their end brings. The way of most records, and one object for all of a key's: each of Scala's
    * ways to say this makes several for every record. */
  private final class Steps(records: Iterator[InternalRow], now: TimerValues) extends Iterator[InternalRow] {
    private var ready: InternalRow = _
    private val time = if (expiresByTheClock) clockTime(now) else NoTime
    // A record may come before the timer by which the key has expired: what was due until then comes first.
    private var several: Iterator[InternalRow] = if (expiresByTheClock && due.expiryTime() <= time) due.advance(time) else Iterator.empty
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
      if (expiresByTheClock) due.saw(time)
      if (program.explode || bags.nonEmpty) several = step(record)
      else {
        val result = key.take(record)
        if (!result.isNullAt(1)) ready = program.emitted(result)
      }
    }
  }

  /** Records in the order of event time; equal times: of the columns that are to break ties, then of arrival. */
  private def inOrder(records: Array[InternalRow], time: Int): Iterator[InternalRow] = {
    val sorted = records.sorted(byTime).iterator
    (if (betweenRecords) sorted else askedAhead(sorted)).flatMap(take(_, time))
  }

  /** Whether something may be due between two records. */
  private val betweenRecords = alarm.isDefined || idleMicros.isDefined || bags.nonEmpty

  private def askedAhead(records: Iterator[InternalRow]): Iterator[InternalRow] =
    if (program.asksAhead) new AskedAhead(records, program, () => key.state, passes) else records

  /** One record of event time: what was to happen before it happens first. */
  private def take(row: InternalRow, time: Int): Iterator[InternalRow] = {
    val at = row.getLong(time)
    due.advance(at - 1) ++ { due.saw(at); step(row) }
  }

  private def tooLate(row: InternalRow): InternalRow = {
    lateRows.add(1)
    late(joined(key.blank, row)).getStruct(0, program.rowWidth)
  }

  /** What a key puts out when its records that came together have been taken. */
  private def settle(): Iterator[InternalRow] =
    if (settled.isEmpty || !key.touched || key.forgotten) Iterator.empty else settled.get.rows(settled.get(key.state, key.values))

  private def step(row: InternalRow): Iterator[InternalRow] =
    if (bags.isEmpty) counted(program.rows(key.take(row))) else key.bagRows.iterator.flatMap(_.visit(row)) ++ visited(row)

  /** The record itself, when it has visited the bags. What it adds to them is made of the state that it had then. */
  private def visited(row: InternalRow): Iterator[InternalRow] = {
    val before = key.state
    val result = key.take(row)
    if (!key.forgotten) key.bagRows.foreach(_.add(before, row))
    counted(program.rows(result))
  }

  private def counted(rows: Iterator[InternalRow]): Iterator[InternalRow] = refused match {
    case None => rows
    case Some(port) => rows.map { row => if (!row.isNullAt(port)) lateRows.add(1); row }
  }

  private def setWatermark(micros: Long): Unit = {
    val time = Math.min(Math.max(micros, FirstTime), LastTime)
    program.setWatermark(time)
    key.bagRows.foreach(_.setWatermark(time))
  }

  private def setClock(now: TimerValues): Unit = {
    val time = if (streaming) clockTime(now) else null // a batch has no clock
    program.setClock(time)
    key.bagRows.foreach(_.setClock(time))
  }

  private def open(values: InternalRow): Unit = {
    key.open(values)
    due.passed = NoTime
  }

  private def close(now: TimerValues): Iterator[InternalRow] =
    if (streaming) save(NoTime)
    else if (alarm.isEmpty && bags.isEmpty) Iterator.empty // a batch ends here: there is no one to keep the state for
    else due.ringOut()

  private def save(next: Long): Iterator[InternalRow] = {
    key.saveState()
    if (timed) { due.arm(next); key.saveClock() }
    Iterator.empty
  }

  private def isLate(row: InternalRow, time: Int, limit: Long): Boolean = row.isNullAt(time) || (lateAfter match {
    case None => row.getLong(time) <= limit
    case Some(_) => val end = latest(row); end.isNullAt(0) || end.getLong(0) <= limit
  })

  /** Records wait in the state until the watermark reaches them; those it has passed (or that have no time) are late. */
  private def keep(values: InternalRow, rows: Iterator[InternalRow], time: Int, limit: Long): Iterator[InternalRow] = {
    var first = NoTime
    waiting.open(values)
    rows.flatMap { row =>
      if (passes(row)) Iterator.single(others.passedBy(row))
      else if (isLate(row, time, limit)) Iterator.single(tooLate(row))
      else { first = Math.min(first, row.getLong(time)); waiting.add(row.getLong(time), row); Iterator.empty }
    } ++ {
      key.readClock()
      val wake = waitsUntil(key.clock.wake)
      if (first < wake) { due.wakeAt(first); key.writeClock() }
      Iterator.empty
    }
  }
}

private object ScanProcessor {
  /** What expressions see of a watermark that is before all time, and of one that is behind it: the first and the last day that Spark and
    * Python can show, of the years 1 and 9999. */
  private val FirstTime = -62135596800000000L
  private val LastTime = 253402214400000000L
}
