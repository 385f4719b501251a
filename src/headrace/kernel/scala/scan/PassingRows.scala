package org.apache.spark.sql.headrace

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, CreateNamedStruct, Expression, GenericInternalRow, If, JoinedRow, Literal, UnsafeProjection}
import org.apache.spark.sql.types.{StringType, StructType}

/** What comes out for a row that comes in, if it is at most one row: that row, and when. */
private[headrace] final case class OneRow(when: Option[Expression], row: CreateNamedStruct) {
  def columns: Seq[Expression] = row.valExprs
  def expression: Expression = Ports.kept(row, when)
}

private[headrace] object OneRow {
  def of(emit: Expression): Option[OneRow] = emit match {
    case row: CreateNamedStruct => Some(OneRow(None, row))
    case If(when, row: CreateNamedStruct, Literal(null, _)) => Some(OneRow(Some(when), row))
    case _ => None
  }
}

/** Rows of other branches of the same query come with the records: each whole, in the column `at` of a record that is none. They go out as they
  * came, behind the `width` columns of the scan's own rows; or as `made` says, where something is made of all rows in the scan. If their `origin` is
  * asked for, it is in this column of what comes in, and the last of the scan's own that go out. */
private[headrace] final case class Passing(at: Int, kind: StructType, width: Int, made: Option[OneRow] = None, origin: Option[Int] = None) {
  def carrying(origin: Int): Passing = copy(width = width + 1, origin = Some(origin))

  /** A row that goes out for a record, and one for a row that passes by, over what comes in. */
  def both(own: OneRow): Seq[OneRow] = made.fold(Seq(
    OneRow(own.when, wide(own, own.columns, Literal(null, kind))),
    OneRow(None, wide(own, blank(own.columns), BoundReference(at, kind, nullable = false)))))(Seq(own, _))

  private def blank(columns: Seq[Expression]): Seq[Expression] = {
    val nothing = columns.map(column => Literal(null, column.dataType): Expression)
    origin.fold(nothing)(i => nothing.init :+ BoundReference(i, StringType, nullable = true))
  }

  private def wide(own: OneRow, columns: Seq[Expression], content: Expression): CreateNamedStruct =
    Rows.struct((own.row.names.map(_.toString) :+ "__passing").zip(columns :+ content))
}

/** The way of such rows through a task. There is one row that passes by at a time, and one of the scan's own. */
private[headrace] final class PassingRows(passing: Passing) {
  private val passed, own = new JoinedRow
  private val noOutput = new GenericInternalRow(passing.width)
  private val content, noContent = new GenericInternalRow(1)
  private val made = passing.made.map(one => UnsafeProjection.create(Seq(one.expression))).orNull
  private val width = passing.made.fold(0)(_.columns.size)

  /** Whether this is such a row, and no record. */
  def isOne(row: InternalRow): Boolean = !row.isNullAt(passing.at)

  /** What goes out for it; where something is made of it, that may be nothing. */
  def passedBy(row: InternalRow): InternalRow =
    if (made == null) {
      content.update(0, row.getStruct(passing.at, passing.kind.size))
      passing.origin.foreach(i => noOutput.update(passing.width - 1, row.getUTF8String(i)))
      passed(noOutput, content)
    } else {
      val result = made(row)
      if (result.isNullAt(0)) null else result.getStruct(0, width)
    }

  /** Rows that go out, those of the scan made as wide as those that pass by. */
  def widened(rows: Iterator[InternalRow]): Iterator[InternalRow] =
    if (made == null) rows.map(row => if (row eq passed) row else own(row, noContent)) else rows
}
