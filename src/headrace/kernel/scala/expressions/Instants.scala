package org.apache.spark.sql.headrace

import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.expressions.PreciseTimestampConversion
import org.apache.spark.sql.classic.ExpressionUtils
import org.apache.spark.sql.types.{DataType, LongType}

/** Times as numbers of microseconds, with zone or without, as they are stored: one can add to them without asking a calendar. */
object Instants {
  def micros(time: Column, kind: String): Column = converted(time, DataType.fromDDL(kind), LongType)
  def time(micros: Column, kind: String): Column = converted(micros, LongType, DataType.fromDDL(kind))

  private def converted(column: Column, from: DataType, to: DataType): Column =
    ExpressionUtils.column(PreciseTimestampConversion(ExpressionUtils.expression(column), from, to))
}
