package org.apache.spark.sql.headrace

import java.nio.ByteOrder

import scala.util.control.NoStackTrace

import org.apache.spark.unsafe.Platform

/** The bytes are not a JSON document. One object for all, without a stack trace: a flood of bad records must not cost more than good ones. */
private[headrace] object NotJson extends Exception with NoStackTrace

/**
 * A strict reader of one JSON document (RFC 8259) in UTF-8. Everything it passes over is checked, also what is skipped: grammar, UTF-8,
 * control characters. Beyond the RFC it knows `NaN`, `Infinity` and `-Infinity`, so that they can be told from broken text; it does not
 * skip a byte order mark, and refuses documents nested deeper than 1000.
 *
 * A string without escapes is a slice of the document itself, and nothing is copied.
 */
private[headrace] final class JsonCursor {
  private var doc: Array[Byte] = _
  private var at, end = 0

  /** The text of the last string: `text(from until to)`, in UTF-8. */
  var text: Array[Byte] = _
  var from, to = 0
  /** An escape named half of a surrogate pair: the string has no UTF-8 form, and its text must not be used. */
  var halved = false

  val number = new NumberText

  private var scratch = new Array[Byte](64)

  def open(document: Array[Byte]): Unit = { doc = document; at = 0; end = document.length }

  def fail(): Nothing = throw NotJson

  /** The next byte that is not white space; not consumed. */
  def peek(): Byte = {
    while (at < end) {
      val b = doc(at)
      if (b != ' ' && b != '\n' && b != '\r' && b != '\t') return b
      at += 1
    }
    fail()
  }

  def expect(b: Char): Unit = if (peek() == b) at += 1 else fail()

  /** Whether a member or element follows (a comma is passed), or the end of the object or array (`close` is passed). */
  def more(close: Char): Boolean = {
    val b = peek()
    at += 1
    if (b == ',') true else if (b == close) false else fail()
  }

  /** Passes the opening bracket; whether anything stands before the closing one, which is passed too if not. */
  def enter(close: Char): Boolean = {
    at += 1
    val empty = peek() == close
    if (empty) at += 1
    !empty
  }

  def finish(): Unit = {
    while (at < end) {
      val b = doc(at)
      if (b != ' ' && b != '\n' && b != '\r' && b != '\t') fail()
      at += 1
    }
  }

  def place: Int = at

  /** What was passed from that place on. */
  def since(start: Int): Array[Byte] = java.util.Arrays.copyOfRange(doc, start, at)

  /** Passes these bytes if they are what comes next. */
  def passes(bytes: Array[Byte]): Boolean = {
    val stop = at + bytes.length
    val same = stop <= end && java.util.Arrays.equals(doc, at, stop, bytes, 0, bytes.length)
    if (same) at = stop
    same
  }

  /** Passes `null`, `true` or `false`. */
  def literal(word: Array[Byte]): Unit = if (!passes(word)) fail()

  /** Passes a number, and leaves it in `number`. */
  def readNumber(): Unit = {
    at = number.scan(doc, at, end)
    if (at < 0) fail()
  }

  /** Passes a string, and leaves it in `text`, `from` and `to`. */
  def readString(): Unit = {
    val start = at + 1
    val i = JsonCursor.plain(doc, start, end)
    if (i < end && doc(i) == '"') {
      text = doc; from = start; to = i; halved = false
      at = i + 1
    } else readLongWay(start, i)
  }

  /** A string with escapes or more than ASCII: `start until plain` is known to be neither. */
  private def readLongWay(start: Int, plain: Int): Unit = {
    var i = plain
    var copied = -1 // bytes in `scratch`, once there was an escape
    var kept = start // what is not copied yet begins here
    halved = false
    while (true) {
      if (i >= end) fail()
      val b = doc(i)
      if (b == '"') {
        if (copied < 0) { text = doc; from = start; to = i }
        else { to = append(copied, kept, i); from = 0; text = java.util.Arrays.copyOf(scratch, to) } // it may be kept as it is
        at = i + 1
        return
      } else if (b == '\\') {
        copied = append(math.max(copied, 0), kept, i)
        at = i + 1
        copied = escape(copied)
        i = at
        kept = at
      } else if (b < 0) i += utf8(i)
      else if (b < 0x20) fail()
      else i += 1
    }
  }

  private def append(copied: Int, from: Int, to: Int): Int = {
    room(copied + to - from + 4)
    System.arraycopy(doc, from, scratch, copied, to - from)
    copied + to - from
  }

  private def room(size: Int): Unit = if (size > scratch.length) scratch = java.util.Arrays.copyOf(scratch, size * 2)

  /** Decodes what stands behind a backslash into `scratch`, which has room for four bytes. */
  private def escape(copied: Int): Int = {
    if (at >= end) fail()
    at += 1
    doc(at - 1) match {
      case 'u' => unicode(copied)
      case 'n' => put(copied, '\n')
      case 't' => put(copied, '\t')
      case 'r' => put(copied, '\r')
      case 'b' => put(copied, '\b')
      case 'f' => put(copied, '\f')
      case b @ ('"' | '\\' | '/') => put(copied, b)
      case _ => fail()
    }
  }

  private def put(copied: Int, b: Int): Int = { scratch(copied) = b.toByte; copied + 1 }

  private def unicode(copied: Int): Int = {
    val c = hex4()
    if (c < 0x80) put(copied, c)
    else if (c < 0x800) put(put(copied, 0xc0 | c >> 6), 0x80 | c & 0x3f)
    else if (c < 0xd800 || c > 0xdfff) put(put(put(copied, 0xe0 | c >> 12), 0x80 | c >> 6 & 0x3f), 0x80 | c & 0x3f)
    else {
      val low = if (c < 0xdc00 && at + 1 < end && doc(at) == '\\' && doc(at + 1) == 'u') { at += 2; hex4() } else -1
      if (low >= 0xdc00 && low <= 0xdfff) {
        val point = 0x10000 + (c - 0xd800 << 10) + (low - 0xdc00)
        put(put(put(put(copied, 0xf0 | point >> 18), 0x80 | point >> 12 & 0x3f), 0x80 | point >> 6 & 0x3f), 0x80 | point & 0x3f)
      } else {
        halved = true
        if (low >= 0) at -= 6 // it was an escape of its own
        copied
      }
    }
  }

  private def hex4(): Int = {
    if (at + 4 > end) fail()
    var c = 0
    var i = 0
    while (i < 4) {
      val digit = Character.digit(doc(at + i).toInt, 16)
      if (digit < 0) fail()
      c = c << 4 | digit
      i += 1
    }
    at += 4
    c
  }

  /** The length of the well-formed sequence at `i`, whose first byte is not ASCII: no overlong form, no surrogate, nothing above U+10FFFF. */
  private def utf8(i: Int): Int = {
    val b = doc(i) & 0xff
    val size = if (b >= 0xc2 && b < 0xe0) 2 else if (b >= 0xe0 && b < 0xf0) 3 else if (b >= 0xf0 && b < 0xf5) 4 else fail()
    if (i + size > end) fail()
    var k = 1
    while (k < size) {
      if ((doc(i + k) & 0xc0) != 0x80) fail()
      k += 1
    }
    val next = doc(i + 1) & 0xff
    if ((b == 0xe0 && next < 0xa0) || (b == 0xed && next > 0x9f) || (b == 0xf0 && next < 0x90) || (b == 0xf4 && next > 0x8f)) fail()
    size
  }

  /** Passes one value of any kind. */
  def skip(): Unit = skip(0)

  private def skip(depth: Int): Unit = {
    if (depth > JsonCursor.Deepest) fail()
    peek() match {
      case '"' => readString()
      case '{' =>
        if (enter('}')) do { if (peek() != '"') fail(); readString(); expect(':'); skip(depth + 1) } while (more('}'))
      case '[' =>
        if (enter(']')) do skip(depth + 1) while (more(']'))
      case 't' => literal(JsonCursor.True)
      case 'f' => literal(JsonCursor.False)
      case 'n' => literal(JsonCursor.Null)
      case _ => readNumber()
    }
  }
}

private[headrace] object JsonCursor {
  val True: Array[Byte] = "true".getBytes
  val False: Array[Byte] = "false".getBytes
  val Null: Array[Byte] = "null".getBytes
  private val Deepest = 1000

  /** Where the run of plain ASCII text (no quote, no backslash, no control character) that begins at `start` ends. */
  private def plain(doc: Array[Byte], start: Int, end: Int): Int = {
    var i = start
    while (i + 8 <= end) {
      val marks = special(word(doc, i))
      if (marks != 0) return i + (java.lang.Long.numberOfTrailingZeros(marks) >> 3)
      i += 8
    }
    while (i < end && { val b = doc(i); b >= 0x20 && b != '"' && b != '\\' }) i += 1
    i
  }

  /** Eight bytes, the first of them lowest. */
  private def word(doc: Array[Byte], i: Int): Long = {
    val native = Platform.getLong(doc, Platform.BYTE_ARRAY_OFFSET + i)
    if (ByteOrder.nativeOrder == ByteOrder.LITTLE_ENDIAN) native else java.lang.Long.reverseBytes(native)
  }

  private final val Ones = 0x0101010101010101L
  private final val Tops = 0x8080808080808080L

  /** The top bits of those bytes that are not plain. A borrow may mark bytes above one that is not, but never one below it. */
  private def special(word: Long): Long = {
    val quote = word ^ Ones * '"'
    val backslash = word ^ Ones * '\\'
    (word | (word - Ones * 0x20 | quote - Ones | backslash - Ones)) & Tops
  }
}
