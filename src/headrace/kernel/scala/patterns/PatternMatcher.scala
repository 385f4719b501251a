package org.apache.spark.sql.headrace

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.ArrayData

/** Runs the automaton over the records of a key, one at a time. */
private[headrace] final class Matcher(plan: PatternPlan) {
  import ItemBits._
  import Matcher._
  import ScanTimes.NoTime
  import plan.{alarms, automaton, buffers, most}
  import automaton.{items, words}

  private val conditions = new PatternConditions(plan.conditions)
  private val rows = new PatternRows(plan)
  import conditions.{meets, meetsByRecord, test}
  import rows.blank
  private val takes = plan.steps.map(UnsafeProjection.create(_)).toArray
  private val skips = automaton.skip != "none"
  private val own = items.exists(_.own > 0)
  private val timed = own || automaton.within > 0
  private val living = new Array[Long](words)
  for (i <- items.indices if items(i).alive) add(living, i)
  private val starts = automaton.start.flatMap(items(_).edges).filter(_.step >= 0)
  private val kills = items.exists(_.kills >= 0)

  // The key at hand.
  private var partial, following = ArrayBuffer.empty[PartialMatch]
  private val waiting, ready = ArrayBuffer.empty[PartialMatch] // complete ones: held back, and of this moment
  private var before, beforeWaiting: ArrayData = _
  private var count = 0L
  private var changed, changedWaiting = false
  private val matches, timedOut = ArrayBuffer.empty[Ended]

  // What the match at hand becomes: for each step that takes the record, and when the record is skipped.
  private val targets = Array.fill(takes.length)(new Array[Long](words))
  private val touched, completes = new Array[Boolean](takes.length)
  private val stays = new Array[Long](words)
  private var dead, finished = false

  def open(partials: ArrayData, complete: ArrayData, count: Any): Unit = {
    this.count = if (count == null) 0L else count.asInstanceOf[Long]
    partial.clear()
    waiting.clear()
    matches.clear()
    timedOut.clear()
    before = partials
    beforeWaiting = complete
    changed = false
    changedWaiting = false
    rows.read(partials, partial)
    rows.read(complete, waiting)
  }

  /** Time is over for what is due up to and including this one. */
  def ring(time: Long): Unit = if ((timed || automaton.preferred) && partial.nonEmpty) {
    var next = due()
    while (next <= time) {
      expire(next)
      next = due()
    }
  }

  def take(record: InternalRow): Unit = if (plan.time.isEmpty || !record.isNullAt(plan.time.get)) {
    val time = if (plan.time.isEmpty) 0L else record.getLong(plan.time.get)
    ring(time)
    conditions.nextRecord(record)
    following.clear()
    if (automaton.preferred) prefer(time) else {
      var i = 0
      while (i < partial.size) {
        goOn(partial(i), time)
        i += 1
      }
      begin(time)
    }
    if (changed) become(following)
    if (partial.size + waiting.size + ready.size > most) throw new IllegalStateException(
      s"a key would have more than $most partial matches of a pattern, the most that it may have")
    count += 1
    if (ready.nonEmpty || waiting.nonEmpty) release(time)
  }

  private def become(next: ArrayBuffer[PartialMatch]): Unit = {
    following = partial
    partial = next
  }

  private def goOn(one: PartialMatch, time: Long): Unit = {
    conditions.nextMatch(one.taken)
    dead = false
    finished = false
    java.util.Arrays.fill(stays, 0L)
    if (kills) each(one.waits, this.watch)
    if (!dead) {
      each(one.waits, this.follow)
      taken(one.first, one.start, one.mark, one.taken, time)
    }
    if (finished) ready += one
    if (dead || !lives(stays)) changed = true
    else if (java.util.Arrays.equals(stays, one.waits)) following += one
    else {
      changed = true
      following += one.waitingFor(stays.clone())
    }
  }

  private val watch: Int => Unit = i => if (items(i).kills >= 0 && test(items(i).kills)) dead = true

  private val follow: Int => Unit = i => {
    val edges = items(i).edges
    var e = 0
    while (e < edges.length) {
      val edge = edges(e)
      if (meets(edge.when)) {
        if (edge.step >= 0) touch(edge) else if (edge.completes) finished = true else addAll(stays, edge.to)
      }
      e += 1
    }
  }

  /** A match that begins with this record. */
  private def begin(time: Long): Unit = {
    conditions.nextMatch(blank)
    var i = 0
    while (i < starts.length) {
      if (meets(starts(i).when)) touch(starts(i))
      i += 1
    }
    taken(count, time, -1L, blank, time)
  }

  // -- one match of each start, the preferred one -----------------------------------------------------------------------------------------

  /** What the record makes of the matches on their way. Those of one start stand together, the preferred first; when one is complete, those
    * behind it are dropped, and it waits for those before it. */
  private def prefer(time: Long): Unit = {
    changed = true
    var i = 0
    while (i < partial.size) {
      val first = partial(i).first
      val from = following.size
      var complete = false
      while (i < partial.size && partial(i).first == first) {
        if (!complete) complete = goesOn(partial(i), time, from)
        i += 1
      }
    }
    val from = following.size
    automaton.start.iterator.takeWhile(item => !goesOn(new PartialMatch(count, count, time, time, -1L, only(item), blank), time, from)).foreach(_ => ())
  }

  private def only(item: Int): Array[Long] = {
    val bits = new Array[Long](words)
    add(bits, item)
    bits
  }

  /** Adds what becomes of a match with the record, if it may take it; whether that made it complete. */
  private def goesOn(one: PartialMatch, time: Long, from: Int): Boolean = {
    val edge = items(ItemBits.first(one.waits)).edges(0)
    conditions.nextMatch(one.taken)
    if (!meetsByRecord(edge.when)) return false
    val after = if (buffers == 0) blank else takes(edge.step)(conditions.input(one.taken)).copy()
    conditions.input(after)
    if (!meets(edge.when)) return false
    val mark = if (edge.step == automaton.skipStep && (automaton.skip == "to last" || one.mark < 0)) count else one.mark
    var t = 0
    while (t < edge.to.length) {
      if (edge.to(t) < 0) {
        if (waiting.exists(_.first == one.first)) {
          waiting.filterInPlace(_.first != one.first)
          changedWaiting = true
        }
        ready += new PartialMatch(one.first, count, one.start, time, mark, new Array[Long](words), after)
        return true
      }
      val next = new PartialMatch(one.first, count, one.start, time, mark, only(edge.to(t)), after)
      if (!following.iterator.drop(from).exists(same(_, next))) following += next
      t += 1
    }
    false
  }

  /** Two that wait for the same and remember the same have the same future: the preferred one is enough. */
  private def same(one: PartialMatch, other: PartialMatch): Boolean =
    java.util.Arrays.equals(one.waits, other.waits) && one.mark == other.mark && one.taken == other.taken

  private def touch(edge: PatternEdge): Unit = {
    touched(edge.step) = true
    completes(edge.step) |= edge.completes
    addAll(targets(edge.step), edge.to)
  }

  /** The matches that have taken the record, by the order of the steps. */
  private def taken(first: Long, start: Long, mark: Long, before: UnsafeRow, time: Long): Unit = {
    var step = 0
    while (step < takes.length) {
      if (touched(step)) {
        val after = if (buffers == 0) blank else takes(step)(conditions.input(before)).copy()
        val marked = if (step == automaton.skipStep && (automaton.skip == "to last" || mark < 0)) count else mark
        val one = new PartialMatch(first, count, start, time, marked, targets(step).clone(), after)
        if (completes(step)) ready += one
        if (lives(one.waits)) {
          following += one
          changed = true
        }
        touched(step) = false
        completes(step) = false
        java.util.Arrays.fill(targets(step), 0L)
      }
      step += 1
    }
  }

  private def due(one: PartialMatch): Long = {
    var first = if (automaton.within > 0) later(one.start, automaton.within) else if (automaton.preferred && waiting.nonEmpty) End else NoTime
    if (own) each(one.waits, i => if (items(i).own > 0) first = Math.min(first, later(one.previous, items(i).own)))
    first
  }

  private def due(): Long = {
    var first = NoTime
    var i = 0
    if (timed || automaton.preferred) while (i < partial.size) {
      first = Math.min(first, due(partial(i)))
      i += 1
    }
    first
  }

  private def expire(time: Long): Unit = {
    changed = true
    following.clear()
    if (automaton.preferred) following ++= partial.filter(due(_) > time) // what is complete, if one is, is let go
    else for (one <- partial) if (due(one) > time) following += one else {
      val all = automaton.within > 0 && later(one.start, automaton.within) <= time
      val rest = new Array[Long](words)
      var complete = false
      each(one.waits, i =>
        if (all || items(i).own > 0 && later(one.previous, items(i).own) <= time) complete |= items(i).pending else add(rest, i))
      if (complete) {
        ready += one
        add(rest, automaton.done)
      }
      if (lives(rest)) following += one.waitingFor(rest)
      else if (!complete && !(automaton.done >= 0 && has(one.waits, automaton.done))) timedOut += new Ended(one, time)
    }
    become(following)
    release(time)
  }

  /** Complete matches go out: at once, or, with a skip, in the order in which they began, when none that began earlier is on its way. */
  private def release(time: Long): Unit = if (!skips) {
    ready.foreach(one => matches += new Ended(one, time))
    ready.clear()
  } else {
    if (ready.nonEmpty) {
      val all = (waiting ++ ready).sortBy(_.first) // in which equal ones stay as they are
      waiting.clear()
      waiting ++= all
      ready.clear()
      changedWaiting = true
    }
    val ties = if (automaton.preferred) 1 else 0 // one that is preferred has the same start
    while (waiting.nonEmpty && (partial.isEmpty || waiting.head.first + ties <= partial.head.first)) {
      val one = waiting.remove(0)
      changedWaiting = true
      matches += new Ended(one, if (time == End) one.previous else time)
      if (automaton.preferred && automaton.skip.startsWith("to") && one.mark == one.first) throw new IllegalStateException(
        "a match would be looked for again where it began: it skips to its own first record")
      drop(automaton.skip match {
        case "next" => one.first + 1
        case "last" => one.last + 1
        case _ if one.mark < 0 && automaton.mustSkip => throw new IllegalStateException("a match has no record of the step that it should skip to")
        case _ => one.mark
      })
    }
  }

  /** What began before this record. */
  private def drop(limit: Long): Unit = {
    if (partial.exists(_.first < limit)) {
      changed = true
      partial.filterInPlace(_.first >= limit)
    }
    waiting.filterInPlace(_.first >= limit)
  }

  def putsOut: Boolean = matches.nonEmpty || timedOut.nonEmpty

  /** The state as it becomes, and what goes out. */
  def result(key: InternalRow): InternalRow = {
    val over = partial.isEmpty && waiting.isEmpty
    val first = if (alarms && !over) due() else NoTime
    val fields = new Array[Any](7)
    fields(0) = if (!changed) before else rows.written(partial)
    fields(1) = if (!changedWaiting) beforeWaiting else rows.written(waiting)
    fields(2) = if (over) null else count
    fields(3) = if (first == NoTime) null else first
    fields(4) = over
    if (putsOut) {
      fields(5) = rows.putOut(matches, key)
      fields(6) = rows.putOut(timedOut, key)
    }
    new GenericInternalRow(fields)
  }

  private def lives(waits: Array[Long]): Boolean = {
    var w = 0
    while (w < words) { if ((waits(w) & living(w)) != 0) return true; w += 1 }
    false
  }
}

private object Matcher {
  import ScanTimes.NoTime

  /** The end of the input, as an alarm has it. */
  private val End = NoTime - 1

  private def later(time: Long, by: Long): Long = if (time > NoTime - 1 - by) NoTime - 1 else time + by
}
