package org.apache.spark.sql.headrace

import java.util.concurrent.ArrayBlockingQueue
import org.apache.spark.TaskContext
import org.apache.spark.api.python.PythonFunction
import org.apache.spark.sql.{Column, DataFrame, Row}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{DeserializeToObject, MapPartitions, Project}
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.types._

/** A column of answers, where the next records are sent while answers are awaited; in order, and each at once. Made of operators that
  * real-time mode allows: `MapPartitions` takes any function of an iterator. A function that wants to know the end of a batch is asked once
  * more, with nulls, when the records have ended; the row of that answer has nothing but the answer. */
object PythonMap {
  def apply(input: Dataset[Row], name: String, function: PythonFunction, arguments: Column, json: String, limitMillis: Long, pinned: String, ends: Boolean): DataFrame = {
    val sent = input.select(col("*"), arguments.as("__arguments")).queryExecution.analyzed
    val (types, answer) = (sent.output.map(_.dataType).toArray, DataType.fromJson(json))
    val whole = Rows.struct(sent.output) // names the columns, for what is not named Spark prunes
    val row = AttributeReference("row", whole.dataType, nullable = false)()
    val out = AttributeReference("out", StructType(sent.output.init.map(a => StructField(a.name, a.dataType)) :+ StructField(name, answer)))()
    val step = PythonMapStep(types, answer, function, limitMillis, pinned, ends)
    val columns = (sent.output.init.map(_.name) :+ name).zipWithIndex.map { case (column, i) => Alias(GetStructField(out, i), column)() }
    Dataset.ofRows(input.sparkSession, Project(columns, MapPartitions(step, out, DeserializeToObject(whole, row, sent))))
  }
}

/** What a task does: rows of these types, of which the last is what the function is called with. */
private[headrace] final case class PythonMapStep(
    types: Array[DataType], answer: DataType, function: PythonFunction, limitMillis: Long, pinned: String, ends: Boolean) extends (Iterator[Any] => Iterator[Any]) {
  override def apply(rows: Iterator[Any]): Iterator[Any] =
    new Pipelined(rows.asInstanceOf[Iterator[InternalRow]], types, answer, function, limitMillis, pinned, ends)
}

private[headrace] final class Pipelined(
    rows: Iterator[InternalRow], types: Array[DataType], answer: DataType, function: PythonFunction, limitMillis: Long, pinned: String, ends: Boolean) extends Iterator[InternalRow] {
  private val task = TaskContext.get()
  private val worker = new PythonCalls(task, function, limitMillis, pinned)
  private val sent = new ArrayBlockingQueue[AnyRef](1024) // rows, and then what ended them
  private val decode = Marshal.reader("the answer", answer)
  private val at = types.length - 1
  private var waiting: AnyRef = _
  private val sender = new Thread(() => {
    TaskContext.setTaskContext(task)
    try {
      val arguments = types(at).asInstanceOf[StructType]
      val encode = Marshal.writer(arguments)
      while (rows.hasNext) { val row = rows.next().copy(); sent.put(row); worker.ask(encode(row.getStruct(at, arguments.size), _)) }
      if (ends) { sent.put(new GenericInternalRow(types.length)); worker.ask(encode(new GenericInternalRow(arguments.size), _)) }
      sent.put("end")
    } catch { case e: Throwable => if (!task.isCompleted()) sent.put(e) }
  }, s"sender of task ${task.taskAttemptId()}")
  task.addTaskCompletionListener[Unit] { _ => sender.interrupt(); sender.join() }
  sender.start()

  override def hasNext: Boolean = {
    if (waiting == null) waiting = sent.take()
    waiting match { case e: Throwable => throw e; case other => other.isInstanceOf[InternalRow] }
  }
  override def next(): InternalRow = {
    if (!hasNext) throw new NoSuchElementException
    val row = waiting.asInstanceOf[InternalRow]
    waiting = null
    new GenericInternalRow(Array.tabulate[Any](types.length)(i => if (i == at) worker.answer(decode) else row.get(i, types(i))))
  }
}
