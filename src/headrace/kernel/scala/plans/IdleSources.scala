package org.apache.spark.sql.headrace

import java.util.UUID
import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.operators.stateful.{EventTimeStats, EventTimeStatsAccum, EventTimeWatermarkExec}
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec
import org.apache.spark.unsafe.types.CalendarInterval

/** Sources that may be silent. The time of a query is the least that its sources have reached, and Spark asks each, at the end of a batch, for the
  * newest record of that batch. One that has been silent for longer than its limit, by the clock, answers with the time of those that are not; and
  * if all are silent, with the newest of all, and as much more as has passed since: in steps as long as the limit, for each is a batch of its own.
  *
  * The limit, in milliseconds, is noted at the column that is the time. A watermark never falls: what comes late after a silence is late. */
object IdleSources extends Rule[SparkPlan] {
  val limitKey = "headrace.idle"

  override def apply(plan: SparkPlan): SparkPlan = {
    val marks = plan.collect { case mark: EventTimeWatermarkExec => mark }
    if (!marks.exists(limit(_).isDefined)) plan
    else {
      val sources = new Sources(marks.map(mark => Watermarked(mark.nodeId, limit(mark), mark.delayMs)), batchTime(plan))
      plan.transformUp { case mark: EventTimeWatermarkExec => Watched(sources, mark.nodeId, mark.eventTime, mark.delay, mark.child) }
    }
  }

  private def limit(mark: EventTimeWatermarkExec): Option[Long] =
    Option.when(mark.eventTime.metadata.contains(limitKey))(mark.eventTime.metadata.getLong(limitKey))

  private def batchTime(plan: SparkPlan): Long =
    plan.collectFirst { case scan: TransformWithStateExec if scan.batchTimestampMs.isDefined => scan.batchTimestampMs.get }.getOrElse(System.currentTimeMillis())
}

/** A source with its place in the plan, its limit if it has one, and how late its records may come. In milliseconds, as all times here. */
private[headrace] final case class Watermarked(node: UUID, limit: Option[Long], delay: Long)

/** The newest time that a source had, if it had a record, and when by the clock that came; if it had none, when we began to wait for it. */
private[headrace] final case class Seen(newest: Option[Long], at: Long)

/** All sources of a query, during a batch that began at `began`. Between batches the clock goes on. */
private[headrace] final class Sources(all: Seq[Watermarked], began: Long) {
  private val planned = System.nanoTime()
  all.foreach(source => Sources.seen.putIfAbsent(source.node, Seen(None, began)))

  def now: Long = began + (System.nanoTime() - planned) / 1000000

  def saw(node: UUID, newest: Long, at: Long): Unit =
    Sources.seen.compute(node, (_, before) => Seen(Some(Math.max(newest, before.newest.getOrElse(newest))), Math.max(at, before.at)))

  /** The newest time that a source is to answer with, if it is silent. */
  def raised(node: UUID): Option[Long] = all.find(_.node == node).filter(isSilent).flatMap { source =>
    val active = all.filterNot(isSilent)
    val reached =
      if (active.isEmpty) all.flatMap(watermark).maxOption.map(_ + sinceAll)
      else Option.when(active.forall(watermark(_).isDefined))(active.flatMap(watermark).min)
    reached.map(_ + source.delay)
  }

  private def sinceAll: Long = {
    val (since, step) = (now - all.map(seen(_).at).max, all.flatMap(_.limit).max)
    since - since % step
  }

  private def isSilent(source: Watermarked): Boolean = source.limit.exists(now - seen(source).at >= _)
  private def watermark(source: Watermarked): Option[Long] = seen(source).newest.map(_ - source.delay)
  private def seen(source: Watermarked): Seen = Sources.seen.get(source.node)
}

private object Sources {
  /** By the place in the plan, which no other query has. */
  val seen = new ConcurrentHashMap[UUID, Seen]
}

/** Spark's own, with an answer for a source that is silent. */
private[headrace] final class Watched(
    times: WatchedTimes,
    nodeId: UUID,
    eventTime: Attribute,
    delay: CalendarInterval,
    child: SparkPlan)
    extends EventTimeWatermarkExec(nodeId, eventTime, delay, child) {

  // The one that Spark made would go to the tasks with the plan if another were put over it: there must be one only.
  sparkContext.register(times)
  Watched.place.set(this, times)

  override def nodeName: String = "EventTimeWatermark"
  override def canEqual(other: Any): Boolean = other.isInstanceOf[Watched] // else Spark would not put it in the place of its own
  override def equals(other: Any): Boolean = canEqual(other) && super.equals(other)
  override def hashCode: Int = super.hashCode
  override protected def withNewChildInternal(newChild: SparkPlan): EventTimeWatermarkExec = renewed(newChild)
  override def makeCopy(args: Array[AnyRef]): SparkPlan =
    Watched(sources, args(0).asInstanceOf[UUID], args(1).asInstanceOf[Attribute], args(2).asInstanceOf[CalendarInterval], args(3).asInstanceOf[SparkPlan])

  private def renewed(newChild: SparkPlan): EventTimeWatermarkExec = Watched(sources, nodeId, eventTime, delay, newChild)
  private def sources: Sources = (eventTimeStats: Any).asInstanceOf[WatchedTimes].sources
}

private object Watched {
  private val place = classOf[EventTimeWatermarkExec].getDeclaredField("eventTimeStats")
  place.setAccessible(true)

  def apply(sources: Sources, node: UUID, time: Attribute, delay: CalendarInterval, child: SparkPlan): Watched =
    new Watched(new WatchedTimes(sources, node), node, time, delay, child)
}

private[headrace] final class WatchedTimes(val sources: Sources, node: UUID) extends EventTimeStatsAccum {
  private var firstAt = Long.MinValue // when a record of this batch was known of

  override def value: EventTimeStats = {
    val own = currentStats
    if (own.count > 0) {
      if (firstAt == Long.MinValue) firstAt = sources.now
      sources.saw(node, own.max, firstAt)
    }
    sources.raised(node).filter(_ > own.max).fold(own)(newest => EventTimeStats(newest, Math.min(own.min, newest), own.avg, Math.max(own.count, 1L)))
  }

  override def isZero: Boolean = currentStats == EventTimeStats.zero
}
