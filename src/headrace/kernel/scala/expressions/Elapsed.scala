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
  * real-time mode lasts for minutes. For measuring only: what a record becomes must not depend on it. The meter of the task counts it. */
case class Elapsed(child: Expression) extends UnaryExpression with Nondeterministic {
  @transient private[this] var meter: Meter = _

  override def stateful: Boolean = true
  override def dataType: DataType = LongType
  override def nullable: Boolean = true
  override protected def initializeInternal(partition: Int): Unit = meter = Meters.here()
  override protected def evalInternal(row: InternalRow): Any = {
    val from = child.eval(row)
    if (from == null) null else meter.add(Elapsed.since(from.asInstanceOf[Long]))
  }
  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val meter = ctx.addMutableState(classOf[Meter].getName, "meter")
    ctx.addPartitionInitializationStatement(s"$meter = ${Elapsed.named(Meters)}.here();")
    nullSafeCodeGen(ctx, ev, from => s"${ev.value} = $meter.add(${Elapsed.named(Elapsed)}.since($from));")
  }
  override protected def withNewChildInternal(c: Expression): Expression = copy(c)
}

object Elapsed {
  /** Milliseconds since a moment, which is in microseconds. */
  def since(moment: Long): Long = (ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now()) - moment) / 1000

  private def named(module: AnyRef): String = module.getClass.getName.stripSuffix("$")
  def column(timestamp: Column): Column = ExpressionUtils.column(Elapsed(ExpressionUtils.expression(timestamp)))
}
