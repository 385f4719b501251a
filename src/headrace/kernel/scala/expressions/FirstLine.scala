package org.apache.spark.sql.headrace

import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BinaryExpression, Expression, Nondeterministic}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.classic.ExpressionUtils
import org.apache.spark.sql.types.{BooleanType, DataType}
import org.apache.spark.unsafe.types.UTF8String

/** Whether a row is the first line of its file, from the file's path (`left`) and the position where the part of it begins that is
  * being read (`right`). A task reads whole parts, one after the other, each from its start; so this stands directly above the scan. */
case class FirstLine(left: Expression, right: Expression) extends BinaryExpression with Nondeterministic {
  override def dataType: DataType = BooleanType
  override def nullable: Boolean = false
  override def stateful: Boolean = true

  @transient private var memory: FirstLine.Memory = _
  override protected def initializeInternal(partition: Int): Unit = memory = new FirstLine.Memory
  override protected def evalInternal(row: InternalRow): Any =
    memory.first(left.eval(row).asInstanceOf[UTF8String], right.eval(row).asInstanceOf[Long])

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val kind = classOf[FirstLine.Memory].getName
    val memory = ctx.addMutableState(kind, "firstLine")
    ctx.addPartitionInitializationStatement(s"$memory = new $kind();")
    val (path, start) = (left.genCode(ctx), right.genCode(ctx))
    ev.copy(code = code"""
      |${path.code}
      |${start.code}
      |boolean ${ev.value} = $memory.first(${path.value}, ${start.value});""".stripMargin, isNull = FalseLiteral)
  }

  override protected def withNewChildrenInternal(l: Expression, r: Expression): Expression = copy(l, r)
}

object FirstLine {
  /** The part of a file that the row before was from. */
  final class Memory {
    private var path: UTF8String = _
    private var start = -1L

    def first(of: UTF8String, from: Long): Boolean = {
      val other = from != start || of != path
      if (other) { path = of.copy(); start = from }
      other && from == 0
    }
  }

  def column(path: Column, start: Column): Column =
    ExpressionUtils.column(FirstLine(ExpressionUtils.expression(path), ExpressionUtils.expression(start)))
}
