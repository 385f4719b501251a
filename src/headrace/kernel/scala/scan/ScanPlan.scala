package org.apache.spark.sql.headrace

import java.util.{Map => JMap}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.types.{StructField, StructType}

/** A scan, resolved and compiled. A row begins with the columns of `record`, those that expressions name. The time of what comes in may be so many
  * microseconds before the watermark (`lag`), and that of what goes out may be so much before what it comes from (`behind`).
  * `refused` is the place of the port whose rows are counted as late. The fields of a key are in the `place` of this name, or still in a `former` one. */
private[headrace] final case class ScanPlan(
    keys: StructType,
    record: StructType,
    program: Program,
    initial: Seq[Expression],
    alarm: Option[AlarmProgram],
    clockAlarm: Option[AlarmProgram],
    settled: Option[Program],
    idleMicros: Option[Long],
    eventTime: Option[Int],
    ties: Seq[Int],
    waits: Boolean,
    lateRow: Option[Expression],
    lateAfter: Option[Expression],
    bags: Seq[BagPlan],
    maps: Seq[String],
    streaming: Boolean,
    lag: Long,
    behind: Long,
    refused: Option[Int],
    passing: Option[Passing] = None,
    place: String = "state",
    former: Seq[Former] = Nil) {

  /** Spark has timers by the clock or by event time. The first are Spark's, the second in a place of our own: so a key may have both. */
  val bothTimers: Boolean = streaming && eventTime.isDefined && clockAlarm.isDefined

  /** Without alarm, expiry, bags or records that wait, there is nothing to remember of time. */
  val timed: Boolean = alarm.isDefined || bothTimers || bags.nonEmpty || eventTime.isDefined && (waits || idleMicros.isDefined)

  /** By the clock and without an alarm, Spark expires the state itself, with half the reads and writes of a timer that each record moves. But
    * to Spark every change of the state is a sign of life, also that of an alarm. */
  val expiresByTheClock: Boolean = streaming && eventTime.isEmpty && idleMicros.isDefined && (alarm.isDefined || bags.nonEmpty)

  /** Whether no record comes out before the watermark has passed it. */
  def waitsForTime: Boolean = eventTime.isDefined && waits

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

  /** What a record gives, if that is all that comes out and at most one row; and what a row gives that passes by, if there are such. */
  def emission: Option[Seq[OneRow]] =
    if (eventTime.isDefined || alarm.isDefined || clockAlarm.isDefined || settled.isDefined || bags.nonEmpty || program.explode) None
    else OneRow.of(program.emit).map(own => passing.fold(Seq(own))(_.both(own)))

  /** The same with other such rows. */
  def emitting(rows: Seq[OneRow]): ScanPlan =
    copy(
      program = program.copy(expressions = program.expressions.updated(1, rows.head.expression)),
      passing = passing.map(_.copy(made = rows.lift(1))))

  /** Why its rows are not each of one record, if they are not, or not the same ones however batches are cut. */
  def unlikeRecords: Option[String] =
    if (eventTime.isDefined) Some("which of its records are late depends on the batches that they come in")
    else if (bags.nonEmpty) Some("its rows are made of several records, or of the time")
    else if (settled.isDefined) Some("it has a row for those records of a key that come in one batch")
    else Option.when((alarm.map(_.program) ++ clockAlarm.map(_.program)).exists(!_.silent))("it has rows of an alarm, which no record makes")

  /** The same, where a record has its origin in this column, and so has what comes out for it, at the end. */
  def carrying(at: Int, name: String): ScanPlan = copy(program = program.carrying(at, name), passing = passing.map(_.carrying(at)))
}
