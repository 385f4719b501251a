package org.apache.spark.sql.headrace

import java.math.{BigDecimal, BigInteger}
import java.nio.charset.StandardCharsets.ISO_8859_1

import com.fasterxml.jackson.core.io.NumberInput
import org.apache.spark.sql.types.Decimal

/**
 * One number as text, by JSON's grammar. The scan that checks it also gathers its first 18 digits, which are all that most numbers have:
 * their values then need no second look at the text and no object.
 */
private[headrace] final class NumberText {
  private var text: Array[Byte] = _
  private var from, to = 0
  private var negative, integral, finite, exact = false
  private var mantissa = 0L
  private var exponent = 0

  /** Scans the number that starts at `start`: the place behind it, or -1 if none is there. `NaN`, `Infinity` and `-Infinity` are numbers that are not finite. */
  def scan(bytes: Array[Byte], start: Int, end: Int): Int = {
    text = bytes; from = start
    negative = start < end && bytes(start) == '-'
    integral = true; finite = true; exact = true; mantissa = 0L; exponent = 0
    to = magnitude(if (negative) start + 1 else start, end)
    to
  }

  private def magnitude(start: Int, end: Int): Int = {
    if (start >= end) return -1
    val first = text(start)
    if (first == 'I') return word(NumberText.Infinity, start, end)
    if (first == 'N') return if (negative) -1 else word(NumberText.NaN, start, end)
    var i = if (first == '0') start + 1 else digits(start, end)
    if (i == start) return -1
    if (i < end && text(i) == '.') {
      val point = i
      i = digits(point + 1, end)
      if (i == point + 1) return -1
      integral = false
      exponent = point + 1 - i
    }
    if (i < end && (text(i) == 'e' || text(i) == 'E')) {
      integral = false
      i = power(i + 1, end)
    }
    i
  }

  private def word(expected: Array[Byte], start: Int, end: Int): Int = {
    finite = false
    val stop = start + expected.length
    if (stop <= end && java.util.Arrays.equals(text, start, stop, expected, 0, expected.length)) stop else -1
  }

  private def digits(start: Int, end: Int): Int = {
    var i = start
    var m = mantissa
    while (i < end && text(i) >= '0' && text(i) <= '9') {
      if (m < NumberText.Room) m = m * 10 + (text(i) - '0') else exact = false
      i += 1
    }
    mantissa = m
    i
  }

  private def power(start: Int, end: Int): Int = {
    val down = start < end && text(start) == '-'
    val first = if (down || (start < end && text(start) == '+')) start + 1 else start
    var i = first
    var e = 0
    while (i < end && text(i) >= '0' && text(i) <= '9') {
      if (e < 100000000) e = e * 10 + (text(i) - '0') // more is as good as infinite
      i += 1
    }
    exponent += (if (down) -e else e)
    if (i == first) -1 else i
  }

  private def written: String = new String(text, from, to - from, ISO_8859_1)

  /** Whether it is written as a whole number (no point, no exponent) between the bounds; `long` is then its value. */
  def isLong(least: Long, most: Long): Boolean = integral && finite && {
    if (exact) whole = if (negative) -mantissa else mantissa
    exact || (to - from <= 20 && (try { whole = java.lang.Long.parseLong(written); true } catch { case _: NumberFormatException => false }))
  } && whole >= least && whole <= most

  /**
   * Whether it is, times ten to the `power` and rounded down to a whole number, between the bounds, which have 18 digits at most; `long` is
   * then that.
   */
  def isScaled(power: Int, least: Long, most: Long): Boolean = finite && {
    var before = exponent.toLong + power // how many of the digits that are still to come stand before the point, once it is moved
    var i = from
    while (i < to && !isPower(i)) { if (isDigit(i)) before += 1; i += 1 }
    var value = 0L
    var more = false // something is behind the point
    var fits = true
    i = from
    while (i < to && !isPower(i)) {
      if (isDigit(i)) {
        if (before <= 0) more |= text(i) != '0'
        else if (value < NumberText.Room) value = value * 10 + (text(i) - '0')
        else fits = false
        before -= 1
      }
      i += 1
    }
    while (fits && value > 0 && before > 0) {
      if (value < NumberText.Room) value *= 10 else fits = false
      before -= 1
    }
    whole = if (!negative) value else if (more) -value - 1 else -value
    fits && whole >= least && whole <= most
  }

  private def isDigit(i: Int): Boolean = text(i) >= '0' && text(i) <= '9'
  private def isPower(i: Int): Boolean = text(i) == 'e' || text(i) == 'E'

  private var whole = 0L
  def long: Long = whole

  /** The nearest double; not finite if the number is too great for one. */
  def double: Double =
    if (!finite) Double.NaN
    else if (exact && mantissa <= (1L << 53) && exponent >= -22 && exponent <= 22) {
      // Both operands are exact doubles, so the one rounding of the operation is the right one.
      val magnitude = if (exponent < 0) mantissa / NumberText.Tens(-exponent) else mantissa * NumberText.Tens(exponent)
      if (negative) -magnitude else magnitude
    } else NumberInput.parseDouble(written, true)

  def float: Float =
    if (!finite) Float.NaN
    else if (exact && mantissa <= (1L << 24) && exponent >= -10 && exponent <= 10) {
      val ten = NumberText.Tens(math.abs(exponent)).toFloat
      val magnitude = if (exponent < 0) mantissa / ten else mantissa * ten
      if (negative) -magnitude else magnitude
    } else NumberInput.parseFloat(written, true)

  /** Exactly this number as a decimal, or null if it has more digits before or behind the point than fit. */
  def decimal(precision: Int, scale: Int): Decimal = {
    if (!finite) return null
    val shift = exponent + scale
    if (exact && precision <= 18 && mantissa < NumberText.Small && shift >= 0 && shift <= 9)
      return new Decimal().setOrNull((if (negative) -mantissa else mantissa) * NumberText.Tens(shift).toLong, precision, scale)
    val digits = significant()
    if (digits == null) return null
    if (digits.signum == 0) return Decimal(BigDecimal.ZERO.setScale(scale), precision, scale)
    // How many digits it would have is known before any are made: `1e999999999` must not become a gigabyte of zeros.
    val power = -digits.scale.toLong + scale
    if (power < 0 || digits.precision + power > precision) return null
    Decimal((if (negative) digits.negate else digits).setScale(scale), precision, scale)
  }

  /** The number without its sign and without the zeros around it, or null if it has more than 38 digits: no decimal has. */
  private def significant(): BigDecimal = {
    val kept = new java.lang.StringBuilder
    var i = from
    var seen, last = 0 // digits from the first that is not zero; of them, up to the last that is not zero
    while (i < to && !isPower(i)) {
      if (isDigit(i) && (seen > 0 || text(i) != '0')) {
        seen += 1
        if (text(i) != '0') last = seen
        if (seen <= 38) kept.append(text(i).toChar)
      }
      i += 1
    }
    if (last > 38) null
    else if (last == 0) BigDecimal.ZERO
    else new BigDecimal(new BigInteger(kept.substring(0, last)), -(exponent + seen - last))
  }
}

private[headrace] object NumberText {
  private val Infinity = "Infinity".getBytes(ISO_8859_1)
  private val NaN = "NaN".getBytes(ISO_8859_1)
  private val Room = 100000000000000000L // below it, one more digit fits
  private val Small = 1000000000L // times a billion it still fits
  private val Tens = Array.iterate(1.0, 23)(_ * 10)
}

/** Dates and times as text: digits by arithmetic, no objects. */
private[headrace] object TimeText {
  final val Refused = Long.MinValue

  final val Day = 86400000000L
  /** The first and last instants of the years 1 to 9999. */
  val First: Long = days(1, 1, 1) * Day
  val Last: Long = days(10000, 1, 1) * Day - 1

  /** Days since 1970-01-01 of `YYYY-MM-DD`, or Refused. */
  def date(text: Array[Byte], from: Int, to: Int): Long =
    if (to - from != 10 || text(from + 4) != '-' || text(from + 7) != '-') Refused
    else {
      val century = two(text, from)
      val year = century * 100 + two(text, from + 2)
      val month = two(text, from + 5)
      val day = two(text, from + 8)
      if (century < 0 || year < 1 || two(text, from + 2) < 0 || month < 1 || month > 12 || day < 1 || day > length(year, month)) Refused
      else days(year, month, day)
    }

  /**
   * Microseconds since 1970-01-01 UTC of `YYYY-MM-DDTHH:MM:SS`, with `T` or one space, up to six decimals, and `Z`, an offset `±HH:MM` or
   * nothing, which is UTC; or Refused. So is an instant outside the years 1 to 9999: neither Python nor Spark's text forms have it.
   */
  def timestamp(text: Array[Byte], from: Int, to: Int): Long = {
    if (to - from < 19 || (text(from + 10) != 'T' && text(from + 10) != ' ') || text(from + 13) != ':' || text(from + 16) != ':') return Refused
    val day = date(text, from, from + 10)
    val hour = two(text, from + 11)
    val minute = two(text, from + 14)
    val second = two(text, from + 17)
    if (day == Refused || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) return Refused
    var i = from + 19
    var micros = 0
    if (i < to && text(i) == '.') {
      var unit = 1000000
      i += 1
      while (i < to && unit > 1 && text(i) >= '0' && text(i) <= '9') {
        unit /= 10
        micros += (text(i) - '0') * unit
        i += 1
      }
      if (unit == 1000000) return Refused
    }
    val offset = zone(text, i, to)
    if (offset == Refused) return Refused
    val instant = day * Day + (hour * 3600 + minute * 60 + second - offset) * 1000000L + micros
    if (instant < First || instant > Last) Refused else instant
  }

  /** Seconds east of UTC of what stands behind the time, or Refused. */
  private def zone(text: Array[Byte], from: Int, to: Int): Long = to - from match {
    case 0 => 0
    case 1 if text(from) == 'Z' => 0
    case 6 if (text(from) == '+' || text(from) == '-') && text(from + 3) == ':' =>
      val hours = two(text, from + 1)
      val minutes = two(text, from + 4)
      if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) Refused
      else (if (text(from) == '-') -1L else 1L) * (hours * 3600 + minutes * 60)
    case _ => Refused
  }

  private def two(text: Array[Byte], at: Int): Int = {
    val tens = text(at) - '0'
    val ones = text(at + 1) - '0'
    if (tens < 0 || tens > 9 || ones < 0 || ones > 9) -1 else tens * 10 + ones
  }

  private def length(year: Int, month: Int): Int = month match {
    case 2 => if (year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)) 29 else 28
    case 4 | 6 | 9 | 11 => 30
    case _ => 31
  }

  /** Counted in years that begin in March, so that the odd month is the last: the days before month m are then (153 m + 2) / 5. */
  private def days(year: Int, month: Int, day: Int): Long = {
    val y = if (month > 2) year else year - 1
    val m = if (month > 2) month - 3 else month + 9
    365L * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 719469
  }
}
