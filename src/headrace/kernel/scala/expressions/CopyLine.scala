package org.apache.spark.sql.headrace

import java.nio.charset.StandardCharsets.US_ASCII
import java.util.{Arrays, List => JList}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.classic.ExpressionUtils
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** A line of PostgreSQL's COPY, in its text form, of cells that are numbers, booleans or texts; all else is text before. One pass over the bytes
  * of a cell, and no text for the parts of a line. */
case class CopyLine(children: Seq[Expression]) extends Expression {
  @transient private[this] lazy val line = new CopyCells

  override def nullable: Boolean = false
  override def dataType: DataType = StringType
  override protected def withNewChildrenInternal(cells: IndexedSeq[Expression]): CopyLine = CopyLine(cells)

  override def eval(row: InternalRow): Any = {
    line.begin()
    children.foreach { cell =>
      cell.eval(row) match {
        case null => line.nothing()
        case number: Double => line.put(number)
        case number: Float => line.put(number)
        case number: Number => line.put(number.longValue)
        case yes: Boolean => line.put(yes)
        case text: UTF8String => line.put(text)
      }
    }
    line.end()
  }

  override def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val kind = classOf[CopyCells].getName
    val line = ctx.addMutableState(kind, "line", name => s"$name = new $kind();")
    val cells = ctx.splitExpressionsWithCurrentInputs(children.map { cell =>
      val made = cell.genCode(ctx)
      s"${made.code}\nif (${made.isNull}) $line.nothing(); else $line.put(${made.value});"
    }, "cells")
    ev.copy(code = code"$line.begin();\n$cells\nfinal UTF8String ${ev.value} = $line.end();", isNull = FalseLiteral)
  }
}

object CopyLine {
  def column(cells: JList[Column]): Column =
    ExpressionUtils.column(CopyLine(cells.asScala.toSeq.map(cell => ExpressionUtils.expression(cell))))
}

/** The bytes of a line, as they come together. A tab is before each cell but the first. */
final class CopyCells {
  private var bytes = new Array[Byte](256)
  private var size = 0

  def begin(): Unit = size = 0

  def end(): UTF8String = {
    reserve(1)
    bytes(size) = '\n'
    UTF8String.fromBytes(Arrays.copyOfRange(bytes, 1, size + 1))
  }

  def nothing(): Unit = {
    open(2)
    bytes(size) = '\\'
    bytes(size + 1) = 'N'
    size += 2
  }

  def put(yes: Boolean): Unit = {
    open(1)
    bytes(size) = if (yes) 't' else 'f'
    size += 1
  }

  def put(number: Long): Unit = if (number == Long.MinValue) ascii(number.toString) else {
    open(20)
    if (number < 0) { bytes(size) = '-'; size += 1 }
    digits(Math.abs(number))
  }

  def put(number: Float): Unit = ascii(number.toString)

  /** An amount with few decimals is written as a whole number with a point in it, which takes a tenth of the time. Division rounds as reading
    * does, so the check says whether just this number will be read. */
  def put(number: Double): Unit = {
    val whole = Math.rint(number * CopyCells.scale)
    if (!(Math.abs(whole) < CopyCells.exact) || whole / CopyCells.scale != number || whole == 0) ascii(number.toString) else {
      open(24)
      if (whole < 0) { bytes(size) = '-'; size += 1 }
      val units = Math.abs(whole).toLong
      digits(units / CopyCells.scale)
      bytes(size) = '.'
      var (rest, place) = (units % CopyCells.scale, CopyCells.scale / 10)
      while (place > 0) {
        size += 1
        bytes(size) = ('0' + rest / place % 10).toByte
        place /= 10
      }
      size += 1
    }
  }

  def put(text: UTF8String): Unit = {
    val length = text.numBytes
    open(3 * length)
    var i = 0
    while (i < length) {
      val byte = text.getByte(i)
      if (byte > '\r' && byte != '\\' || byte < 0) { bytes(size) = byte; size += 1 } else marked(byte)
      i += 1
    }
  }

  /** What COPY has marks for. There is no NUL in PostgreSQL's text: its picture takes its place. */
  private def marked(byte: Byte): Unit = byte match {
    case '\\' => pair('\\')
    case '\t' => pair('t')
    case '\n' => pair('n')
    case '\r' => pair('r')
    case 0 => CopyCells.nul.foreach { part => bytes(size) = part; size += 1 }
    case other => bytes(size) = other; size += 1
  }

  private def pair(mark: Char): Unit = {
    bytes(size) = '\\'
    bytes(size + 1) = mark.toByte
    size += 2
  }

  private def digits(number: Long): Unit = {
    var end = size + 1
    var rest = number / 10
    while (rest > 0) { end += 1; rest /= 10 }
    size = end
    rest = number
    do { end -= 1; bytes(end) = ('0' + rest % 10).toByte; rest /= 10 } while (rest > 0)
  }

  private def ascii(text: String): Unit = {
    open(text.length)
    text.getBytes(US_ASCII).copyToArray(bytes, size)
    size += text.length
  }

  private def open(length: Int): Unit = {
    reserve(length + 1)
    bytes(size) = '\t'
    size += 1
  }

  private def reserve(length: Int): Unit =
    if (size + length > bytes.length) bytes = Arrays.copyOf(bytes, Math.max(Math.addExact(size, length), Math.min(bytes.length, 1 << 29) * 2))
}

object CopyCells {
  private val scale = 10000L
  private val exact = 1L << 53
  private val nul = "\u2400".getBytes("UTF-8")
}
