package org.apache.spark.sql.headrace

import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, CodeGenerator, ExprCode}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.expressions.codegen.FalseLiteral
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.classic.ExpressionUtils
import org.apache.spark.sql.types.{ArrayType, DataType, StructType}
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.bitset.BitSetMethods

/** An array of structs with one more at its end (none if that is null), without those whose time, the field `at`, is before `oldest` or null.
  *
  * It is `filter(concat(rows, array(added)), row -> row.at >= oldest)`, which takes every row apart and puts it together again; here their bytes
  * are copied, most often all at once. */
case class RecentRows(rows: Expression, added: Expression, oldest: Expression, at: String) extends TernaryExpression {
  override def first: Expression = rows
  override def second: Expression = added
  override def third: Expression = oldest
  override def dataType: DataType = rows.dataType
  override def nullable: Boolean = false

  @transient private lazy val copier = {
    val row = rows.dataType.asInstanceOf[ArrayType].elementType.asInstanceOf[StructType]
    new RecentRows.Copier(row, row.fieldIndex(at))
  }

  override def eval(input: InternalRow): Any = {
    val limit = oldest.eval(input)
    copy(rows.eval(input).asInstanceOf[ArrayData], added.eval(input).asInstanceOf[InternalRow], limit == null, if (limit == null) 0L else limit.asInstanceOf[Long])
  }

  /** For the code that Spark generates, too. */
  def copy(rows: ArrayData, added: InternalRow, none: Boolean, oldest: Long): ArrayData = copier(rows, added, none, oldest)

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val self = ctx.addReferenceObj("recentRows", this, classOf[RecentRows].getName)
    val (all, more, limit) = (rows.genCode(ctx), added.genCode(ctx), oldest.genCode(ctx))
    ev.copy(
      code = all.code + more.code + limit.code +
        code"""final ArrayData ${ev.value} = $self.copy(
              |  ${all.isNull} ? null : ${all.value}, ${more.isNull} ? null : ${more.value}, ${limit.isNull}, ${limit.value});""".stripMargin,
      isNull = FalseLiteral)
  }

  override protected def withNewChildrenInternal(one: Expression, two: Expression, three: Expression): Expression = RecentRows(one, two, three, at)
}

object RecentRows {
  def column(rows: Column, added: Column, oldest: Column, at: String): Column =
    ExpressionUtils.column(RecentRows(ExpressionUtils.expression(rows), ExpressionUtils.expression(added), ExpressionUtils.expression(oldest), at))

  private final class Copier(row: StructType, at: Int) {
    private lazy val unsafeRow = UnsafeProjection.create(row)
    private lazy val unsafeArray = UnsafeProjection.create(Array[DataType](ArrayType(row)))
    private val none = UnsafeArrayData.fromPrimitiveArray(Array.empty[Long])
    private val timePlace = UnsafeRow.calculateBitSetWidthInBytes(row.size) + 8 * at

    def apply(rows: ArrayData, added: InternalRow, nothing: Boolean, oldest: Long): ArrayData = if (nothing) none else {
      val known = rows match {
        case null => none
        case unsafe: UnsafeArrayData => unsafe
        case other => unsafeArray(InternalRow(other)).getArray(0)
      }
      val last = if (added == null || added.isNullAt(at) || added.getLong(at) < oldest) null else unsafeRow(added)
      var count, bytes, i = 0
      while (i < known.numElements) {
        if (stays(known, i, oldest)) { count += 1; bytes += size(known, i) }
        i += 1
      }
      if (count == known.numElements && last == null) known else copied(known, count, bytes, last, oldest)
    }

    private def copied(known: UnsafeArrayData, count: Int, bytes: Int, last: UnsafeRow, oldest: Long): UnsafeArrayData = {
      val rows = if (last == null) count else count + 1
      val heads = UnsafeArrayData.calculateHeaderPortionInBytes(rows)
      var to = heads + 8 * rows
      val target = new Array[Byte](to + bytes + (if (last == null) 0 else last.getSizeInBytes))
      Platform.putLong(target, Platform.BYTE_ARRAY_OFFSET, rows)
      var i, place, from, length = 0 // rows that lie next to each other are copied together
      while (i < known.numElements) {
        if (stays(known, i, oldest)) {
          if (offset(known, i) != from + length) {
            write(known, from, length, target, to)
            to += length
            from = offset(known, i)
            length = 0
          }
          point(target, heads, place, to + length, size(known, i))
          length += size(known, i)
          place += 1
        }
        i += 1
      }
      write(known, from, length, target, to)
      if (last != null) {
        point(target, heads, place, to + length, last.getSizeInBytes)
        last.writeToMemory(target, Platform.BYTE_ARRAY_OFFSET + to + length)
      }
      val result = new UnsafeArrayData
      result.pointTo(target, Platform.BYTE_ARRAY_OFFSET, target.length)
      result
    }

    // An element is a word, its offset and its size, behind the header.
    private def word(rows: UnsafeArrayData, i: Int): Long =
      Platform.getLong(rows.getBaseObject, rows.getBaseOffset + UnsafeArrayData.calculateHeaderPortionInBytes(rows.numElements) + 8 * i)

    private def offset(rows: UnsafeArrayData, i: Int): Int = (word(rows, i) >> 32).toInt
    private def size(rows: UnsafeArrayData, i: Int): Int = word(rows, i).toInt

    private def stays(rows: UnsafeArrayData, i: Int, oldest: Long): Boolean = !rows.isNullAt(i) && {
      val start = rows.getBaseOffset + offset(rows, i)
      !BitSetMethods.isSet(rows.getBaseObject, start, at) && Platform.getLong(rows.getBaseObject, start + timePlace) >= oldest
    }

    private def point(target: Array[Byte], heads: Int, i: Int, offset: Int, size: Int): Unit =
      Platform.putLong(target, Platform.BYTE_ARRAY_OFFSET + heads + 8 * i, (offset.toLong << 32) | size)

    private def write(rows: UnsafeArrayData, from: Int, length: Int, target: Array[Byte], to: Int): Unit =
      Platform.copyMemory(rows.getBaseObject, rows.getBaseOffset + from, target, Platform.BYTE_ARRAY_OFFSET + to, length)
  }
}
