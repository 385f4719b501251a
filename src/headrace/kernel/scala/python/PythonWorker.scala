package org.apache.spark.sql.headrace

import java.io.{ByteArrayOutputStream, DataOutputStream, EOFException, IOException}
import java.net.StandardSocketOptions.TCP_NODELAY
import java.nio.{ByteBuffer, ByteOrder}
import java.util.{Timer, TimerTask}
import scala.jdk.CollectionConverters._
import org.apache.spark.{SparkEnv, SparkException, TaskContext, TaskKilledException}
import org.apache.spark.api.python._
import org.apache.spark.internal.config.Python.PYTHON_USE_DAEMON
import org.apache.spark.sql.catalyst.InternalRow

/** One of PySpark's own Python workers, with one function in it, that answers calls until the task is over. It is started, kept between
  * tasks and ended by Spark; what it runs is the loop that the Python side packed with the function. */
private[headrace] final class PythonCalls(task: TaskContext, function: PythonFunction, limitMillis: Long, pinned: String) {
  import PythonCalls._

  private val env = SparkEnv.get
  private val variables = function.envVars.asScala.toMap ++ Map("SPARK_REUSE_WORKER" -> "1", "SPARK_PYTHON_RUNTIME" -> "PYTHON_WORKER",
    "SPARK_LOCAL_DIRS" -> env.blockManager.diskBlockManager.localDirs.map(_.getPath).mkString(","))
  // A function that remembers gets back the worker that it had in the batch before.
  private val kept = if (pinned.isEmpty) None else KeptWorkers.take(pinned, task.partitionId())
  private val (worker, handle) = kept.map(one => (one.worker, one.handle)).getOrElse(
    env.createPythonWorker(function.pythonExec, Module, Daemon, variables, env.conf.get(PYTHON_USE_DAEMON)))
  private val channel = worker.channel
  private val out = new Marshal.Output
  private var in = ByteBuffer.allocateDirect(1 << 16).order(ByteOrder.LITTLE_ENDIAN).limit(0)
  @volatile private var since = 0L // since when an answer is awaited, if one is
  @volatile private var overdue = false
  private var broken = false
  var owed = 0 // so many answers are to come of calls that were sent together
  private val watch = new TimerTask {
    override def run(): Unit = { val began = since; if (began != 0 && System.nanoTime() > began + limitMillis * 1000000L) { overdue = true; end() } }
  }

  task.addTaskCompletionListener[Unit](_ => close())
  begin()

  def ask(write: Marshal.Output => Unit): Unit = { out.clear(); write(out); attempt(send(out.frame())) }

  def answer(decode: Marshal.Take): Any = {
    since = System.nanoTime()
    attempt {
      var length = header()
      while (length == Question) { reply(); length = header() }
      if (length < 0) throw raised()
      receive(length)
    }
    since = 0
    decode(in)
  }

  private def header(): Int = { receive(4); Integer.reverseBytes(in.getInt()) }

  /** Before it answers, a function may ask what is in a map of the key. */
  private def reply(): Unit = {
    receive(header())
    val entries = EntryMap.answer(question(in).asInstanceOf[InternalRow])
    out.clear()
    replying(entries, out)
    send(out.frame())
  }
  private lazy val question = Marshal.reader("a question", EntryMap.question)
  private lazy val replying = Marshal.writer(EntryMap.reply)

  /** How PySpark's worker is told what to do, as Spark's `BasePythonRunner.Writer.open` does: to run a function of an RDD, because such a
    * one brings its own serialisers, and those are our loop. */
  private def begin(): Unit = {
    if (worker.selector != null) { worker.selectionKey.cancel(); worker.selector.close() }
    channel.configureBlocking(true)
    worker.refresh()
    if (channel.supportedOptions().contains(TCP_NODELAY)) channel.setOption[java.lang.Boolean](TCP_NODELAY, true)
    val bytes = new ByteArrayOutputStream
    val message = new DataOutputStream(bytes)
    message.writeInt(task.partitionId())
    PythonWorkerUtils.writePythonVersion(function.pythonVer, message)
    PythonWorkerUtils.writeTaskContext(task, Right(-1), Some(""), message)
    PythonWorkerUtils.writeSparkFiles(None, function.pythonIncludes.asScala.toSet, message)
    PythonWorkerUtils.writeBroadcasts(function.broadcastVars.asScala.toSeq, worker, env, message)
    message.writeInt(PythonEvalType.NON_UDF)
    for (_ <- 0 until 2) PythonWorkerUtils.writeConf(Map.empty, message)
    PythonWorkerUtils.writePythonFunction(function, message)
    send(ByteBuffer.allocate(8 + bytes.size).putInt(SpecialLengths.START_OF_INIT_MESSAGE).putInt(bytes.size).put(bytes.toByteArray).flip())
    if (limitMillis > 0) clock.schedule(watch, 200L, 200L)
  }

  private def send(bytes: ByteBuffer): Unit = while (bytes.hasRemaining) channel.write(bytes)

  /** At least so many bytes to be read, in one system call if they are all there. */
  private def receive(size: Int): Unit = if (in.remaining < size) {
    if (in.capacity < size) in = ByteBuffer.allocateDirect(Integer.highestOneBit(size) << 1).order(in.order).put(in) else in.compact()
    while (in.position() < size) if (channel.read(in) < 0) throw new EOFException
    in.flip()
  }

  private def attempt(exchange: => Unit): Unit = try exchange catch { case e: IOException =>
    broken = true // a channel whose thread is interrupted is closed at once, so a query stops even if Python is busy for ever
    throw (if (overdue) new SparkException(s"a Python function took longer than $limitMillis ms for one record, and its process was ended")
      else if (task.isInterrupted()) new TaskKilledException(task.getKillReason().getOrElse("stopped"))
      else new SparkException(s"the Python process of a function ended in the middle of a record (killed, out of memory, or crashed): $e"))
  }

  private def raised(): Exception = {
    broken = true
    in.order(ByteOrder.BIG_ENDIAN) // from here on PySpark speaks, not the loop
    receive(4)
    val text = new Array[Byte](in.getInt())
    receive(text.length)
    in.get(text)
    new PythonException("PYTHON_EXCEPTION", Map("msg" -> "a Python function failed", "traceback" -> new String(text, "UTF-8")), null)
  }

  /** Back to Spark for the next task, or kept for the same function, if all is well; else ended. */
  private def close(): Unit = {
    watch.cancel()
    val well = !broken && owed == 0 && !task.isFailed() && !task.isInterrupted() && (try ended() catch { case _: IOException => false })
    if (!well) end()
    else if (pinned.isEmpty) env.releasePythonWorker(function.pythonExec, Module, Daemon, variables, worker)
    else KeptWorkers.keep(pinned, task, worker, handle)
  }

  private def end(): Unit = env.destroyPythonWorker(function.pythonExec, Module, Daemon, variables, worker)

  /** Tells it to leave the loop, and reads what PySpark's worker says at the end: times, spilled bytes, accumulators. */
  private def ended(): Boolean = {
    send(ByteBuffer.allocate(8).putInt(SpecialLengths.END_OF_DATA_SECTION).putInt(SpecialLengths.END_OF_STREAM).flip())
    in.order(ByteOrder.BIG_ENDIAN)
    receive(4 + 6 * 8 + 4 + 4)
    in.position(in.position() + 4 + 6 * 8 + 4)
    for (_ <- 0 until in.getInt()) { receive(4); val size = in.getInt(); receive(size); in.position(in.position() + size) }
    receive(4)
    in.getInt() == SpecialLengths.END_OF_STREAM
  }
}

private[headrace] object PythonCalls {
  private val Question = -1000 // where a length is expected; PySpark's own special ones are from -1 to -9
  private val Module = "pyspark.worker"
  private val Daemon = "pyspark.daemon"
  private lazy val clock = new Timer("python-calls", true) // one thread looks now and then for what is overdue: nothing that a record costs
}
