package org.apache.spark.sql.headrace

import java.util.{List => JList}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression, UnsafeProjection}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, TransformWithState}
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.streaming.{StatefulProcessor, StatefulProcessorHandle, TTLConfig, ValueState}
import org.apache.spark.sql.types.{DataType, StructType}

/** Fields that a scan had before, and under which name its rows of then are in the store; for each field of today, its place among them, or -1. */
final case class Former(place: String, fields: StructType, places: Seq[Int])

/** The fields of each key, written if they have changed. When a program gains or loses some, those of a key stay where and as they are until the
  * key comes again. */
private[headrace] final class StateRows(handle: StatefulProcessorHandle, plan: ScanPlan, ttl: TTLConfig) {
  private val rows = open(plan.place, plan.program.state)
  private val formerRows = plan.former.map(former => new FormerRows(open(former.place, former.fields), former.places))
  private val lasting = ttl == TTLConfig.NONE // else each writing is a sign of life
  private var before: InternalRow = _ // the row that was read last, if it is in today's place
  private var found: FormerRows = _ // where it still is, if it is in another

  private def open(place: String, fields: StructType): ValueState[InternalRow] = handle.getValueState[InternalRow](place, Rows.passThrough(fields), ttl)

  def get(): InternalRow = {
    val row = rows.get()
    before = row
    found = if (row != null || formerRows.isEmpty) null else formerRows.find(_.read()).orNull
    if (found == null) row else found.row
  }

  /** The first row of a key that was not asked for. */
  def begin(row: InternalRow): Unit = rows.update(row)

  def update(row: InternalRow): Unit = { if (!lasting || before == null || before != row) rows.update(row); leave() }
  def clear(): Unit = { if (!lasting || before != null) rows.clear(); leave() }

  private def leave(): Unit = if (found != null) { found.clear(); found = null }

  private final class FormerRows(rows: ValueState[InternalRow], places: Seq[Int]) {
    private lazy val today = UnsafeProjection.create(plan.program.state.indices.map { i =>
      if (places(i) < 0) plan.initial(i) else BoundReference(places(i), plan.program.state(i).dataType, nullable = true): Expression
    })
    var row: InternalRow = _

    def read(): Boolean = {
      val stored = rows.get()
      row = if (stored == null) null else today(stored).copy()
      row != null
    }

    def clear(): Unit = rows.clear()
  }
}

/** What the scans of a query have kept before, told to a plan that goes on from there. */
object StateRows {
  def former(place: String, fields: String, places: JList[Integer]): Former =
    Former(place, DataType.fromJson(fields).asInstanceOf[StructType], places.asScala.map(_.intValue).toSeq)

  /** The plan, whose scans keep their fields in these places, and find older ones in those; from the last scan to the first. */
  def goOn(frame: Dataset[Row], places: JList[String], former: JList[JList[Former]]): DataFrame = {
    val next = places.asScala.zip(former.asScala).iterator
    def told(plan: LogicalPlan): LogicalPlan = plan match {
      case scan: TransformWithState if scan.isStreaming && Scan.processor(scan).isDefined =>
        val (place, before) = next.next()
        val processor = Scan.processor(scan).get
        val goingOn = processor.of(processor.plan.copy(place = place, former = before.asScala.toSeq))
        scan.copy(statefulProcessor = goingOn.asInstanceOf[StatefulProcessor[Any, Any, Any]]).withNewChildren(scan.children.map(told))
      case other if other.isStreaming => other.withNewChildren(other.children.map(told))
      case table => table
    }
    val plan = told(frame.queryExecution.analyzed)
    require(next.isEmpty, "there are fewer scans than the checkpoint knows of")
    Dataset.ofRows(frame.sparkSession, plan)
  }
}
