package org.apache.spark.sql.headrace

import java.lang.{Long => JLong}
import java.util.concurrent.atomic.AtomicReference

import scala.concurrent.ExecutionContext.parasitic
import scala.util.Success

import org.apache.spark.{SparkContext, SparkEnv, TaskContext}
import org.apache.spark.rpc.{RpcCallContext, RpcEndpointRef, RpcEnv, ThreadSafeRpcEndpoint}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.planning.PhysicalOperation
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory, Scan}
import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, Offset, PartitionOffset, SupportsRealTimeMode, SupportsRealTimeRead}
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead.RecordStatus
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy, SQLExecution}
import org.apache.spark.sql.execution.streaming.runtime.{ACTIVE, State, StreamExecution, TERMINATED}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Strategy, LowLatencyClock, RealTimeStreamScanExec, StreamingDataSourceV2ScanRelation}
import org.apache.spark.util.RpcUtils

/** The runs of real-time queries whose batch shall end now. Spark ends one when its time is up, a minute or more later; only then is it
  * saved what it has read, and what is not saved is put out again. So whoever stops a query on purpose ends its batch first: its readers
  * find no more records, as if the time were up. */
object Endings {
  @volatile private var runs = Set.empty[String]

  def ask(run: String): Unit = synchronized { runs += run }
  def forget(run: String): Unit = synchronized { runs -= run }

  /** Lets the batch that a query is at be its last, and begins no other; whether it is at none, and only has to be woken.
    *
    * A query that has ended begins no batch. But Spark looks whether it has also when it has planned one, and then interrupts it: some of the
    * tasks may have begun by then, and what they put out would come again. So it is told while a batch runs or while there is none, and not
    * while one is planned. A source that does not answer is given up after a while.
    * (`state` is the query's, which Scala does not let us see.) */
  def finish(query: StreamExecution, state: AtomicReference[State]): Boolean = {
    val begin = System.nanoTime()
    while (query.queryExecutionThread.isAlive) {
      val before = moment(query)
      if (before != Planning || System.nanoTime() - begin > patience(query)) {
        state.set(TERMINATED)
        if (before == Planning || before == moment(query)) return before == Rest
        state.compareAndSet(TERMINATED, ACTIVE) // the moment was over too soon
      }
      Thread.sleep(1)
    }
    true
  }

  private val Planning = -1L
  private val Rest = -2L

  /** The number of the batch that runs, or that there is none, or that one is about to. Spark says "Processing new data" of the first and the last. */
  private def moment(query: StreamExecution): Long =
    if (Rests(query.status.message)) Rest
    else if (query.queryExecutionThread.getStackTrace.exists(executes)) query.getLatestExecutionContext().batchId
    else Planning

  /** In nanoseconds: a plan is made at some time, offsets may never come. */
  private def patience(query: StreamExecution): Long = if (query.status.message.startsWith("Getting offsets")) 5000000000L else 20000000000L
  private val Rests = Set("Waiting for next trigger", "Waiting for data to arrive")

  private def executes(call: StackTraceElement): Boolean = call.getClassName == execution && call.getMethodName.startsWith("withNewExecutionId")
  private val execution = SQLExecution.getClass.getName

  /** Asked once a record; `now` in milliseconds. */
  private[headrace] def asked(run: String, now: Long): Boolean = {
    if (elsewhere) refresh(now)
    runs.nonEmpty && runs.contains(run)
  }

  // On a cluster the driver is another process, which an executor asks once a second, without waiting for the answer.
  private object Question extends Serializable { private def readResolve(): AnyRef = Question }
  private val name = "headrace-endings"
  private lazy val elsewhere = SparkEnv.get.executorId != SparkContext.DRIVER_IDENTIFIER
  private lazy val driver: RpcEndpointRef = RpcUtils.makeDriverRef(name, SparkEnv.get.conf, SparkEnv.get.rpcEnv)
  @volatile private var refreshed = 0L
  private var answering: RpcEnv = _

  private def refresh(now: Long): Unit = if (now - refreshed >= 1000) {
    refreshed = now
    driver.ask[Set[String]](Question).onComplete { case Success(answer) => runs = answer; case _ => }(parasitic)
  }

  private class Answers(override val rpcEnv: RpcEnv) extends ThreadSafeRpcEndpoint {
    override def receiveAndReply(context: RpcCallContext): PartialFunction[Any, Unit] = { case Question => context.reply(runs) }
  }

  /** On the driver, before there are tasks that ask. */
  private[headrace] def answer(env: SparkEnv): Unit = synchronized {
    if (answering ne env.rpcEnv) {
      env.rpcEnv.setupEndpoint(name, new Answers(env.rpcEnv))
      answering = env.rpcEnv
    }
  }
}

/** Plans every real-time source so that it can be told to end its batch. (A rule over physical plans could not: Spark takes this scan for
  * equal to its own, and would keep its own.) */
object EndableScans extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case PhysicalOperation(columns, filters, source: StreamingDataSourceV2ScanRelation) =>
      (source.stream, source.startOffset, source.relation.realTimeModeDuration) match {
        case (stream: MicroBatchStream with SupportsRealTimeMode, Some(start), Some(duration)) if source.endOffset.isEmpty =>
          Endings.answer(SparkEnv.get)
          val scan = new EndableScan(source.output, source.scan, stream, start, duration)
          Seq(DataSourceV2Strategy.withProjectAndFilter(columns, filters, scan, needsUnsafeConversion = true))
        case _ => Nil
      }
    case _ => Nil
  }
}

/** Spark's own, but for its readers. (It looks for its operator by type, and so it finds this one, too.) */
class EndableScan(output: Seq[Attribute], @transient scan: Scan, @transient stream: MicroBatchStream, @transient start: Offset, duration: Long)
    extends RealTimeStreamScanExec(output, scan, stream, start, duration) {
  override lazy val readerFactory: PartitionReaderFactory = new EndableReaders(stream.createReaderFactory(), Rehearsals.limit(stream, conf))
  override def nodeName: String = "RealTimeStreamScan"
}

private class EndableReaders(readers: PartitionReaderFactory, limit: Long) extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    readers.createReader(partition) match {
      case reader: SupportsRealTimeRead[InternalRow @unchecked] =>
        new EndableReader(reader, TaskContext.get().getLocalProperty(SparkContext.SPARK_JOB_GROUP_ID), limit)
    }
}

/** Waits in short turns: a source in which nothing comes would wait for the end of the batch in one. */
private class EndableReader(reader: SupportsRealTimeRead[InternalRow], run: String, limit: Long) extends SupportsRealTimeRead[InternalRow] {
  private val end = if (limit == Long.MaxValue) limit else LowLatencyClock.getTimeMillis() + limit

  override def nextWithTimeout(from: JLong, timeout: JLong): RecordStatus = {
    var now = from.longValue
    val until = math.min(now + timeout, end)
    var status = EndableReader.none
    while (!status.hasRecord && now < until && !Endings.asked(run, now)) {
      status = reader.nextWithTimeout(now, math.min(until - now, EndableReader.turn))
      if (!status.hasRecord) now = LowLatencyClock.getTimeMillis()
    }
    status
  }

  override def get(): InternalRow = reader.get()
  override def getOffset(): PartitionOffset = reader.getOffset
  override def currentMetricsValues(): Array[CustomTaskMetric] = reader.currentMetricsValues()
  override def initMetricsValues(metrics: Array[CustomTaskMetric]): Unit = reader.initMetricsValues(metrics)
  override def next(): Boolean = reader.next()
  override def close(): Unit = reader.close()
}

private object EndableReader {
  private val none = RecordStatus.newStatusWithoutArrivalTime(false)
  private val turn = 100L // milliseconds
}
