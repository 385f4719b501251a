package org.apache.spark.sql.headrace

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, JoinedRow, Predicate}

/** The conditions of a pattern, for the record at hand and one match after the other. Each is asked once: those of the record alone for all
  * matches, the others for each match. */
private[headrace] final class PatternConditions(conditions: Seq[(Expression, Boolean)]) {
  private val tests = conditions.map(c => Predicate.create(c._1)).toArray
  private val ofRecord = conditions.map(_._2).toArray
  private val known = new Array[Long](tests.length)
  private val holds = new Array[Boolean](tests.length)
  private var recordTurn, matchTurn, turn = 0L
  private var record: InternalRow = _
  private val joined = new JoinedRow

  def nextRecord(record: InternalRow): Unit = {
    this.record = record
    turn += 1
    recordTurn = turn
  }

  /** From now on it is about a match that has taken this. */
  def nextMatch(taken: InternalRow): Unit = {
    turn += 1
    matchTurn = turn
    joined(taken, record)
  }

  /** What a match has taken, which is this from now on, and the record. */
  def input(taken: InternalRow): InternalRow = joined(taken, record)

  /** Whether all of these hold, by their numbers plus one; those with negative ones must not. */
  def meets(when: Array[Int]): Boolean = {
    var i = 0
    while (i < when.length) {
      if (test(Math.abs(when(i)) - 1) != (when(i) > 0)) return false
      i += 1
    }
    true
  }

  /** The same of those of the record alone. */
  def meetsByRecord(when: Array[Int]): Boolean =
    when.forall(w => !ofRecord(Math.abs(w) - 1) || test(Math.abs(w) - 1) == w > 0)

  def test(condition: Int): Boolean = {
    val now = if (ofRecord(condition)) recordTurn else matchTurn
    if (known(condition) != now) {
      known(condition) = now
      holds(condition) = tests(condition).eval(joined)
    }
    holds(condition)
  }
}
