package org.apache.spark.sql.headrace

import java.util.{Timer, TimerTask}

import scala.collection.mutable

import org.apache.spark.{SparkContext, SparkEnv, TaskContext}
import org.apache.spark.api.python.{PythonWorker, PythonWorkerHandle}

/** Python workers of functions that remember: a task gets back the worker that its partition had in the batch before. They are Spark's own, but
  * Spark would give them to any other function, too, and end them after a minute. Here they live until their query ends; in an executor of a
  * cluster, which nobody tells of that, until they have been idle for ten minutes. */
private[headrace] object KeptWorkers {
  final class Kept(val worker: PythonWorker, val handle: Option[PythonWorkerHandle], val run: String) {
    val since: Long = System.nanoTime()

    /** Ends in order: it finds that no task will come, closes the function and leaves. One that does not is ended. */
    def end(): Unit = {
      worker.stop()
      val until = System.nanoTime() + 5000000000L
      while (handle.exists(_.isAlive()) && System.nanoTime() < until) Thread.sleep(5)
      handle.filter(_.isAlive()).foreach(_.destroy())
    }
  }

  private val idle = mutable.HashMap.empty[(String, Int), Kept]
  private lazy val elsewhere = SparkEnv.get.executorId != SparkContext.DRIVER_IDENTIFIER
  private lazy val sweeper = {
    val task = new TimerTask { override def run(): Unit = endAll(_.since < System.nanoTime() - 600L * 1000000000) }
    new Timer("python-workers", true).schedule(task, 60000L, 60000L)
  }

  /** The worker of a function and a partition, if there is one and no other task has it. */
  def take(function: String, partition: Int): Option[Kept] = synchronized(idle.remove((function, partition)))

  /** For the next batch. A batch job has none, so there it ends. */
  def keep(function: String, task: TaskContext, worker: PythonWorker, handle: Option[PythonWorkerHandle]): Unit = {
    val run = task.getLocalProperty(SparkContext.SPARK_JOB_GROUP_ID)
    val kept = new Kept(worker, handle, run)
    val superfluous =
      if (task.getLocalProperty("sql.streaming.queryId") == null) Some(kept)
      else synchronized(idle.put((function, task.partitionId()), kept))
    superfluous.foreach(_.end())
    if (elsewhere) sweeper
  }

  /** The query of this run has ended. */
  def forget(run: String): Unit = endAll(_.run == run)

  private def endAll(which: Kept => Boolean): Unit = {
    val gone = synchronized {
      val (ended, others) = idle.toSeq.partition { case (_, kept) => which(kept) }
      idle.clear()
      idle ++= others
      ended.map(_._2)
    }
    gone.foreach(_.worker.stop()) // all at once, then one after the other
    gone.foreach(_.end())
  }
}
