package org.apache.spark.sql.headrace

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow}

/** Rows of other branches of the same query come with the records: each whole, in the column `at` of a record that is none, with so many
  * `fields`. They go out as they came, behind the `width` columns of the scan's own rows. */
private[headrace] final case class Passing(at: Int, fields: Int, width: Int)

/** The way of such rows through a task. There is one row that passes by at a time, and one of the scan's own. */
private[headrace] final class PassingRows(passing: Passing) {
  private val passed, own = new JoinedRow
  private val noOutput = new GenericInternalRow(passing.width)
  private val content, noContent = new GenericInternalRow(1)

  /** Whether this is such a row, and no record. */
  def isOne(row: InternalRow): Boolean = !row.isNullAt(passing.at)

  def passedBy(row: InternalRow): InternalRow = {
    content.update(0, row.getStruct(passing.at, passing.fields))
    passed(noOutput, content)
  }

  /** Rows that go out, those of the scan made as wide as those that pass by. */
  def widened(rows: Iterator[InternalRow]): Iterator[InternalRow] = rows.map(row => if (row eq passed) row else own(row, noContent))
}
