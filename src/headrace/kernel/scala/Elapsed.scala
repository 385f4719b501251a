package org.apache.spark.sql.headrace

import java.time.Instant
import java.time.temporal.ChronoUnit

import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, Nondeterministic, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.classic.ExpressionUtils
import org.apache.spark.sql.types.{DataType, LongType}

/** Milliseconds from a timestamp until a record is looked at. Spark's own `current_timestamp` is one moment for a whole batch, which in
  * real-time mode lasts for minutes. For measuring only: what a record becomes must not depend on it. */
case class Elapsed(child: Expression) extends UnaryExpression with Nondeterministic {
  override def dataType: DataType = LongType
  override def nullable: Boolean = true
  override protected def initializeInternal(partition: Int): Unit = ()
  override protected def evalInternal(row: InternalRow): Any = {
    val from = child.eval(row)
    if (from == null) null else (Elapsed.now() - from.asInstanceOf[Long]) / 1000
  }
  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode =
    nullSafeCodeGen(ctx, ev, from => s"${ev.value} = (${Elapsed.getClass.getName.stripSuffix("$")}.now() - $from) / 1000;")
  override protected def withNewChildInternal(c: Expression): Expression = copy(c)
}

object Elapsed {
  def now(): Long = ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now())
  def column(timestamp: Column): Column = ExpressionUtils.column(Elapsed(ExpressionUtils.expression(timestamp)))
}
