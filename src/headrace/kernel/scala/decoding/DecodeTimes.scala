package org.apache.spark.sql.headrace

import java.nio.charset.StandardCharsets.UTF_8
import java.text.ParsePosition
import java.time.{DateTimeException, ZoneOffset}
import java.time.temporal.{ChronoField, TemporalQueries}

import scala.util.control.NonFatal

import org.apache.spark.SparkThrowable
import org.apache.spark.sql.catalyst.util.{Iso8601TimestampFormatter, TimestampFormatter}
import org.apache.spark.sql.types.{DataType, DateType}

/**
 * Times that a field declares to be written in another way than ISO 8601: as a number since 1970-01-01 UTC, or by one of Spark's patterns.
 * The reader of ISO times, which all other fields have, knows nothing of this.
 */
private[headrace] object DeclaredTimes {
  def reader(form: String, dataType: DataType): ValueReader = form match {
    case "epoch_seconds" => new Epoch(6)
    case "epoch_millis" => new Epoch(3)
    case "epoch_micros" => new Epoch(0)
    case pattern => new Patterned(new TimePattern(pattern), dataType == DateType)
  }

  /** `power` is how many digits the unit is above the microsecond. */
  private final class Epoch(power: Int) extends ValueReader.Numeric {
    override protected def take(number: NumberText, into: DecodedRecord, i: Int): Boolean = {
      val fits = number.isScaled(power, TimeText.First, TimeText.Last)
      if (fits) into.setBits(i, number.long)
      fits
    }
  }

  private final class Patterned(pattern: TimePattern, day: Boolean) extends ValueReader {
    override def fromString(text: Array[Byte], from: Int, to: Int, into: DecodedRecord, i: Int): Int = {
      val instant = pattern.micros(new String(text, from, to - from, UTF_8))
      if (instant == TimeText.Refused) Status.WrongType
      else {
        into.setBits(i, if (day) Math.floorDiv(instant, TimeText.Day) else instant)
        Status.Read
      }
    }
  }

  /** What is wrong with a pattern, or null. What it does not tell of the date, or of the half of the day, Spark would make up. */
  def fault(pattern: String): String =
    try {
      val read = new TimePattern(pattern)
      val instant = read.micros(read.format(Afternoon))
      if (Math.floorDiv(instant, TimeText.Day) != Afternoon / TimeText.Day) "it does not tell year, month and day"
      else if (hour(instant) != 0 && hour(instant) != hour(Afternoon)) "it does not tell which half of the day an hour is in"
      else null
    } catch {
      case error: SparkThrowable if error.getMessageParameters.containsKey("c") =>
        s"no time is read by the letter '${error.getMessageParameters.get("c")}'"
      case NonFatal(error) => String.valueOf(error.getMessage).linesIterator.next()
    }

  private def hour(instant: Long): Long = Math.floorMod(instant, TimeText.Day) / 3600000000L

  private val Afternoon = 981216306000000L // 2001-02-03T16:05:06Z
}

/** One of Spark's patterns, with its meaning there (`to_timestamp`): strict, in English. A text that has no zone is in UTC. */
private[headrace] final class TimePattern(pattern: String)
    extends Iso8601TimestampFormatter(pattern, ZoneOffset.UTC, TimestampFormatter.defaultLocale, isParsing = true) {

  /** Microseconds since 1970-01-01 UTC, or Refused. */
  def micros(text: String): Long = {
    // First without the check of what the fields say: most texts that do not fit end here, without the cost of an exception.
    val place = new ParsePosition(0)
    if (formatter.parseUnresolved(text, place) == null || place.getIndex != text.length) TimeText.Refused
    else try {
      val parsed = formatter.parse(text)
      val zone = parsed.query(TemporalQueries.zone())
      val time = toZonedDateTime(parsed, if (zone == null) ZoneOffset.UTC else zone)
      val instant = Math.addExact(Math.multiplyExact(time.toEpochSecond, 1000000L), time.get(ChronoField.MICRO_OF_SECOND).toLong)
      if (instant < TimeText.First || instant > TimeText.Last) TimeText.Refused else instant
    } catch { case _: DateTimeException | _: ArithmeticException => TimeText.Refused }
  }
}
