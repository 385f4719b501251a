package org.apache.spark.sql.headrace

import org.json4s.{DefaultFormats, Formats}
import org.json4s.jackson.JsonMethods

/** What a record may do to an item: a `step` takes it (none: -1, it is skipped), when all conditions hold; `when` has the number of a condition
  * plus one, negative where it must not hold. The match then waits for the items `to`, and is complete if it `completes`. */
private[headrace] final case class PatternEdge(step: Int, when: Array[Int], to: Array[Int], completes: Boolean) {
  override def toString: String = s"$step ${to.mkString(",")} $completes"
}

/** One thing that a match waits for, or watches: a record that meets the condition `kills` ends it. A match lives as long as it has an item that
  * is `alive`; one that is `pending` makes it complete when its time is over. That is `own` after the record taken before, if it has one. */
private[headrace] final case class PatternItem(edges: Array[PatternEdge], kills: Int, alive: Boolean, pending: Boolean, own: Long) {
  override def toString: String = s"${edges.mkString(";")} ${kills >= 0} $alive $pending"
}

/** A pattern as a table. A match is a set of items: all that it may go on with. `start` are those of a match that has not begun, `done` is the
  * item of one that has been complete before. After a match, those that began up to (`skipIncluded`) or before some record are dropped: `skip`
  * is none, next, last, or of `skipStep` the record that it took first or last.
  *
  * One that is `preferred` finds of each start one match, the one that its edges name first, as SQL's MATCH_RECOGNIZE does. A match on its way is
  * then one item, with one edge, whose items `to` are in the order of preference; -1 among them says that the match is complete. Its condition is
  * asked of what the match has taken with this record. */
private[headrace] final case class Automaton(
    items: Array[PatternItem], start: Array[Int], done: Int, within: Long, skip: String, skipStep: Int, mustSkip: Boolean, preferred: Boolean) {
  val words: Int = (items.length + 63) / 64
  override def toString: String = s"${items.mkString("|")} ${start.mkString(",")} $done $skip $skipStep${if (preferred) " preferred" else ""}"
}

private[headrace] object Automaton {
  def parse(json: String): Automaton = {
    implicit val formats: Formats = DefaultFormats
    JsonMethods.parse(json).extract[Automaton]
  }
}
