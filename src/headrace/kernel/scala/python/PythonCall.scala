package org.apache.spark.sql.headrace

import org.apache.spark.TaskContext
import org.apache.spark.api.python.PythonFunction
import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{CreateNamedStruct, Expression, UnaryExpression, UnsafeProjection}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodeGenerator, CodegenContext, ExprCode}
import org.apache.spark.sql.classic.ExpressionUtils
import org.apache.spark.sql.types._

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

  /** With how many structs it is called. */
  def arity: Int = child.dataType.asInstanceOf[StructType].size

  def call(arguments: InternalRow): Any = { worker.ask(encode(arguments, _)); worker.answer(decode) }

  /** Whether calls may be sent `ahead`: the worker can begin one with the state that the one before it gave. Not where each call has a limit. */
  def chains: Boolean = limitMillis == 0 && chain.isDefined

  @transient private lazy val chain = child match {
    case CreateNamedStruct(Seq(_, state: CreateNamedStruct, _, record: CreateNamedStruct)) if Chain.holds(state.dataType) => Some(new Chain(state, record))
    case _ => None
  }

  /** Calls of the same key, one for each of these rows, sent at once: all but the first begin with the state that the one before gives. */
  def ahead(rows: Iterator[InternalRow], count: Int): Unit = { worker.ask(chain.get.write(rows, count, _)); worker.owed = count }

  /** Whether an answer is to come of a call that was sent ahead. */
  def owes: Boolean = worker.owed > 0

  /** That answer; null if only the scan can say with which state the call begins: it was not made, and none behind it. */
  def next(): InternalRow = {
    val answer = worker.answer(decode).asInstanceOf[InternalRow]
    worker.owed = if (answer == null) 0 else worker.owed - 1
    answer
  }

  override def eval(row: InternalRow): Any = call(child.eval(row).asInstanceOf[InternalRow])

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = nullSafeCodeGen(ctx, ev, arguments => {
    val answer = ctx.freshName("answer")
    s"""Object $answer = ${ctx.addReferenceObj("pythonCall", this)}.call($arguments);
       |if ($answer == null) ${ev.isNull} = true; else ${ev.value} = (${CodeGenerator.boxedType(dataType)}) $answer;""".stripMargin
  })

  override protected def withNewChildInternal(c: Expression): Expression = copy(child = c)
}

/** A state and several records, as a worker takes them. */
private[headrace] final class Chain(state: CreateNamedStruct, record: CreateNamedStruct) {
  private val (stateOf, recordOf) = (UnsafeProjection.create(state.valExprs), UnsafeProjection.create(record.valExprs))
  private val (writeState, writeRecord) = (Marshal.writer(state.dataType), Marshal.writer(record.dataType))

  def write(rows: Iterator[InternalRow], count: Int, out: Marshal.Output): Unit = {
    val first = rows.next()
    out.tag('(', 4).putInt(2)
    writeState(stateOf(first), out)
    out.tag('[', 4).putInt(count)
    writeRecord(recordOf(first), out)
    rows.foreach(row => writeRecord(recordOf(row), out))
  }
}

private[headrace] object Chain {
  /** Whether a worker knows what becomes of such a state on its way here and back; the Python side makes the same of it. */
  def holds(kind: DataType): Boolean = kind match {
    case StructType(fields) => fields.forall(field => single(field.dataType) || (field.dataType match { case ArrayType(e, _) => single(e); case _ => false }))
    case _ => false
  }

  private def single(kind: DataType): Boolean = kind match {
    case BooleanType | ByteType | ShortType | IntegerType | LongType | DoubleType | DateType | TimestampType | TimestampNTZType | BinaryType => true
    case _: StringType => true
    case _ => false
  }
}

object PythonCall {
  def column(function: PythonFunction, arguments: Column, json: String, limitMillis: Long, pinned: String): Column =
    ExpressionUtils.column(PythonCall(function, ExpressionUtils.expression(arguments), DataType.fromJson(json), limitMillis, pinned))
}
