package org.apache.spark.sql.headrace

import org.apache.spark.TaskContext
import org.apache.spark.api.python.PythonFunction
import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodeGenerator, CodegenContext, ExprCode}
import org.apache.spark.sql.classic.ExpressionUtils
import org.apache.spark.sql.types.{DataType, StructType}

/** What a Python function makes of one record, at once: the arguments (a struct) go to a Python worker, and the answer is awaited.
  *
  * Spark's own Python operators gather records, and real-time mode refuses them. This is an expression: whatever evaluates expressions calls
  * Python, a projection as well as the scan. The function is taken at its word that it is deterministic, so that equal calls within one
  * projection are made once. */
case class PythonCall(function: PythonFunction, child: Expression, dataType: DataType, limitMillis: Long, pinned: String) extends UnaryExpression {
  override def nullable: Boolean = true
  override def foldable: Boolean = false // it would be called where there is no task
  override def stringArgs: Iterator[Any] = Iterator(child)

  @transient private lazy val encode = Marshal.writer(child.dataType.asInstanceOf[StructType])
  @transient private lazy val decode = Marshal.reader("the answer", dataType)
  @transient private lazy val worker = new PythonCalls(TaskContext.get(), function, limitMillis, pinned) // each task has its own copy of this

  def call(arguments: InternalRow): Any = { worker.ask(arguments, encode); worker.answer(decode) }

  override def eval(row: InternalRow): Any = call(child.eval(row).asInstanceOf[InternalRow])

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = nullSafeCodeGen(ctx, ev, arguments => {
    val answer = ctx.freshName("answer")
    s"""Object $answer = ${ctx.addReferenceObj("pythonCall", this)}.call($arguments);
       |if ($answer == null) ${ev.isNull} = true; else ${ev.value} = (${CodeGenerator.boxedType(dataType)}) $answer;""".stripMargin
  })

  override protected def withNewChildInternal(c: Expression): Expression = copy(child = c)
}

object PythonCall {
  def column(function: PythonFunction, arguments: Column, json: String, limitMillis: Long, pinned: String): Column =
    ExpressionUtils.column(PythonCall(function, ExpressionUtils.expression(arguments), DataType.fromJson(json), limitMillis, pinned))
}
