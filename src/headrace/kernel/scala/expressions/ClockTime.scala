package org.apache.spark.sql.headrace

import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{LeafExpression, Nondeterministic}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, CodeGenerator, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.classic.ExpressionUtils
import org.apache.spark.sql.execution.datasources.v2.LowLatencyClock
import org.apache.spark.sql.types.{DataType, TimestampType}

/** The time at which a row is looked at. Spark's own `current_timestamp` is one moment for a whole batch, which in real time lasts for minutes;
  * this is the clock that its timers go by there. */
case class ClockTime() extends LeafExpression with Nondeterministic {
  override def nullable: Boolean = false
  override def dataType: DataType = TimestampType
  override protected def initializeInternal(partition: Int): Unit = ()
  override protected def evalInternal(row: InternalRow): Any = ClockTime.micros()
  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode =
    ev.copy(code = code"final ${CodeGenerator.JAVA_LONG} ${ev.value} = ${ClockTime.getClass.getName.stripSuffix("$")}.micros();", isNull = FalseLiteral)
}

object ClockTime {
  def micros(): Long = LowLatencyClock.getTimeMillis() * 1000
  def column(): Column = ExpressionUtils.column(ClockTime())
}
