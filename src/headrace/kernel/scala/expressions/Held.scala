package org.apache.spark.sql.headrace

import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, Nondeterministic, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.classic.ExpressionUtils
import org.apache.spark.sql.types.DataType

/** A value as it is. The optimiser does not move a condition from behind it to before it, as it does not know that it changes nothing: what stands
  * before it sees all rows. */
case class Held(child: Expression) extends UnaryExpression with Nondeterministic {
  override def dataType: DataType = child.dataType
  override def nullable: Boolean = child.nullable
  override protected def initializeInternal(partition: Int): Unit = ()
  override protected def evalInternal(row: InternalRow): Any = child.eval(row)
  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val own = child.genCode(ctx)
    ev.copy(code = own.code, isNull = own.isNull, value = own.value)
  }
  override protected def withNewChildInternal(c: Expression): Expression = copy(c)
}

object Held {
  def column(value: Column): Column = ExpressionUtils.column(Held(ExpressionUtils.expression(value)))
}
