package org.apache.spark.sql.headrace

import java.util.{List => JList}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{Column, DataFrame, Row}
import org.apache.spark.sql.catalyst.analysis.Resolver
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{EventTimeWatermark, LocalRelation, LogicalPlan, Project, TransformWithState}
import org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.streaming.{OutputMode, StatefulProcessor, TimeMode}
import org.apache.spark.sql.types._

/** What happens to one record, or at one alarm: new state fields by name, output columns, and whether the key is forgotten.
  * `emits` is a list of columns that make one row (kept back unless `when`), or, if `explode`, one array of structs. */
final class Step(val names: JList[String], val updates: JList[Column], val emits: JList[Column], val explode: Boolean, val when: Column, val forget: Column)

/** An alarm: the time `at` is a function of the state, looked at after every change of it; null means none. */
final class Alarm(val at: Column, val step: Step)

/** How a scan is told from Python. Absent parts are null, and a duration of 0 means never. */
final class ScanSpec(
    val keys: JList[String],
    val order: JList[String],
    val stateNames: JList[String],
    val stateInitial: JList[Column],
    val step: Step,
    val alarm: Alarm,
    val eventTime: String,
    val waits: Boolean,
    val idleMicros: Long,
    val initial: Dataset[Row])

/** Plans a scan: resolves and checks its expressions, then puts Spark's own stateful operator under them. */
object Scan {
  def apply(input: Dataset[Row], spec: ScanSpec): DataFrame = {
    val spark = input.sparkSession
    val child = input.queryExecution.analyzed
    val streaming = child.isStreaming
    val idle = Option.when(spec.idleMicros > 0)(spec.idleMicros)
    val timeMode = if (!streaming) TimeMode.None() else if (spec.eventTime != null) TimeMode.EventTime()
      else if (spec.alarm != null || idle.isDefined) TimeMode.ProcessingTime() else TimeMode.None()
    // Behind a scan by the clock Spark passes no watermark on. A column that told of one would make what follows wait for it for ever.
    val columns = if (timeMode == TimeMode.ProcessingTime()) child.output.map(unmarked) else child.output
    val record = columns.map(_.withQualifier(Seq("record")))
    val keys = spec.keys.asScala.toSeq.map(column(record, "key", _))
    if (keys.isEmpty) throw new BadDefinition("key", "there is none; for one state of all records, key them by a column that is the same in all")
    keys.foreach(Keys.check)
    val order = spec.order.asScala.toSeq.map(column(record, "order", _))
    order.find(o => !RowOrdering.isOrderable(o.dataType)).foreach(o =>
      throw new BadDefinition("order", s"column '${o.name}' is of type ${o.dataType.sql}, which has no order"))

    val state = stateFields(spark, spec)
    val stateColumns = toAttributes(state).map(_.withQualifier(Seq("state")))
    val time = Option(spec.eventTime).map(column(record, "event_time", _))
    time.filterNot(t => t.dataType == TimestampType || t.dataType == TimestampNTZType)
      .foreach(t => throw new BadDefinition("event_time", s"column '${t.name}' is of type ${t.dataType.sql}, but a timestamp is needed"))
    if (time.isDefined && streaming) checkNothingHeldBack(child)

    val scope = new Scope(spark, record ++ stateColumns)
    val late = time.map(_ => Literal(null, StructType(record.map(a => StructField(a.name, a.dataType)))))
    val records = resolve(scope, "", spec.step, state, stateColumns, late)
    val rings = spec.step.emits.isEmpty && spec.alarm != null && !spec.alarm.step.emits.isEmpty // and the records give no rows
    val alarm = Option(spec.alarm).map(compileAlarm(spark, _, keys, state, stateColumns, late, Option.when(!rings)(outputType(records.emit))))
    val output = if (rings) outputType(alarm.get.program.emit) else outputType(records.emit)
    val step = if (rings) records.copy(emit = Literal(null, output)) else records

    // A late record goes out as it came, so all of it is needed; else only the columns that an expression names are shuffled.
    val used = AttributeSet(step.all)
    val kept = if (time.isDefined) record else record.filter(a => used.contains(a))
    val lateRow = late.map { none =>
      val blanks = output.init.map(f => f.name -> (Literal(null, f.dataType): Expression))
      scope.compile(Seq(Rows.struct(blanks :+ (output.last.name -> Rows.struct(record)))), stateColumns ++ kept).head
    }

    val program = Program(scope.compile(step.all, stateColumns ++ kept), step.explode, state)
    val initialRow = stateInitial(spark, spec, state)
    def place(column: Attribute): Int = kept.indexWhere(_.exprId == column.exprId)
    val processor = new ScanProcessor(
      KeyRow(keys.map(_.dataType)), StructType(kept.map(a => StructField(a.name, a.dataType))), program, initialRow,
      alarm, idle, time.map(place), if (time.isDefined) order.map(place) else Nil, spec.waits, lateRow, streaming)
    // Records that wait are sorted when their time has come; the others, as they come in.
    plan(spark, child, spec, keys, if (time.isDefined && spec.waits) Nil else order, kept, state, processor, timeMode, output)
  }

  private def unmarked(column: Attribute): Attribute =
    column.withMetadata(new MetadataBuilder().withMetadata(column.metadata).remove(EventTimeWatermark.delayKey).build())

  /** Of a batch's two watermarks Spark tells an operator only the newer, by which everything is late that a scan before this one put out
    * because the watermark had reached it. */
  private def checkNothingHeldBack(child: LogicalPlan): Unit = if (scans(child).exists(_.fallsBehind)) throw new BadDefinition(
    "event_time", "the records come from a scan by event time that waits or has a timer, and what such a scan puts out is late for the next")

  /** Whether there is a scan that waits for the watermark. A second watermark behind it would begin with the first record that it lets out;
    * and until then, for Spark has but one time, there is none at all. */
  def holdsBack(input: Dataset[Row]): Boolean = scans(input.queryExecution.analyzed).exists(_.waitsForTime)

  private def scans(plan: LogicalPlan): Seq[ScanProcessor] =
    plan.collect { case scan: TransformWithState => scan.statefulProcessor: Any }.collect { case scan: ScanProcessor => scan }

  private def plan(
      spark: SparkSession, child: LogicalPlan, spec: ScanSpec, keys: Seq[Attribute], order: Seq[Attribute], kept: Seq[Attribute], state: StructType,
      processor: ScanProcessor, timeMode: TimeMode, output: StructType): DataFrame = {
    // Spark would drop what is behind the watermark; we send it out as late. Without the mark on the column Spark lets it pass.
    val values = kept.map(a => Alias(a, a.name)(explicitMetadata = Some(Metadata.empty)))
    val keyColumns = keys.map { k =>
      val same = kept.indexWhere(_.exprId == k.exprId)
      if (same >= 0 && Keys.normal(k) == k) values(same) else Alias(Keys.normal(k), k.name)() // what is sent along anyway is not sent twice
    }
    val arrival = Arrival.columns(keys.map(Keys.normal), order)
    val below = Project(values ++ keyColumns.diff(values) ++ arrival, child)
    val keyAttributes = keyColumns.map(_.toAttribute)
    val keySchema = StructType(keyAttributes.map(a => StructField(a.name, a.dataType)))
    val out = AttributeReference("out", output, nullable = false)()
    val first = initialPlan(spark, spec, keys, state)
    val (firstKeys, firstState) = first.output.splitAt(keys.size)
    val scan = new TransformWithState(
      Rows.struct(keyAttributes), ThisRow(copy = false), keyAttributes, // a row begins with the values
      (values ++ arrival).map(_.toAttribute), // the arrival is not read, but what is not named here Spark would prune
      processor.asInstanceOf[StatefulProcessor[Any, Any, Any]], timeMode, OutputMode.Append(),
      Rows.passThrough(keySchema).asInstanceOf[ExpressionEncoder[Any]], out, below, spec.initial != null,
      firstKeys, first.output, Rows.struct(firstState), first)
    val columns = output.fields.toSeq.zipWithIndex.map { case (f, i) => Alias(GetStructField(out, i, Some(f.name)), f.name)() }
    Dataset.ofRows(spark, Project(columns, scan))
  }

  private def compileAlarm(
      spark: SparkSession, alarm: Alarm, keys: Seq[Attribute], state: StructType, stateColumns: Seq[Attribute],
      late: Option[Literal], output: Option[StructType]): AlarmProgram = {
    val time = AttributeReference("time", TimestampType)(qualifier = Seq("timer"))
    val scope = new Scope(spark, keys.map(_.withQualifier(Seq("record"))) ++ Seq(time) ++ stateColumns)
    val at = scope.one("timer.at", alarm.at)
    if (at.dataType != TimestampType && at.dataType != TimestampNTZType)
      throw new BadDefinition("timer.at", s"is of type ${at.dataType.sql}, but a timestamp is needed")
    if (!at.references.subsetOf(AttributeSet(stateColumns)))
      throw new BadDefinition("timer.at", "may use columns of the state only, for it is looked at whenever the state changes")
    val told = resolve(scope, "timer.", alarm.step, state, stateColumns, late)
    val step = if (alarm.step.emits.isEmpty) told.copy(emit = Literal(null, output.get)) else told // it may ring in silence
    val own = outputType(step.emit)
    output.filterNot(DataType.equalsIgnoreNullability(own, _)).foreach(other =>
      throw new BadDefinition("timer.output", s"gives ${own.simpleString}, but the records' output is ${other.simpleString}"))
    AlarmProgram(scope.compile(Seq(at), stateColumns).head, Program(scope.compile(step.all, stateColumns ++ keys ++ Seq(time)), step.explode, state))
  }

  private final case class Resolved(next: Expression, emit: Expression, forget: Expression, explode: Boolean) {
    def all: Seq[Expression] = Seq(next, emit, forget)
  }

  private def resolve(scope: Scope, in: String, step: Step, state: StructType, stateColumns: Seq[Attribute], late: Option[Literal]): Resolved = {
    val updates = step.names.asScala.zip(step.updates.asScala).toMap
    updates.keys.find(n => !state.fieldNames.contains(n)).foreach(n =>
      throw new BadDefinition(s"${in}update.$n", s"is not a field of the state (${state.fieldNames.mkString(", ")})"))
    val next = Rows.struct(state.fields.toSeq.zip(stateColumns).map { case (f, before) =>
      f.name -> updates.get(f.name).fold[Expression](before)(scope.one(s"${in}update.${f.name}", _, Some(f.dataType)))
    })
    val emits = scope.many(s"${in}output", step.emits.asScala.toSeq)
    val row = if (step.explode) exploded(s"${in}output", emits) else {
      val fields = emits.map(e => e.name -> (e match { case Alias(c, _) => c; case other => other })) ++ late.map("late" -> _)
      fields.map(_._1).diff(fields.map(_._1).distinct).headOption.foreach(n => throw new BadDefinition(s"${in}output", s"has two columns named '$n'"))
      Rows.struct(fields)
    }
    val emit = Option(step.when).fold[Expression](row) { c =>
      If(scope.one(s"${in}when", c, Some(BooleanType)), row, Literal(null, row.dataType))
    }
    Resolved(next, emit, Option(step.forget).fold[Expression](Literal(false))(scope.one(s"${in}forget", _, Some(BooleanType))), step.explode)
  }

  private def exploded(at: String, emits: Seq[NamedExpression]): Expression = emits match {
    case Seq(one) if one.dataType.isInstanceOf[ArrayType] && one.dataType.asInstanceOf[ArrayType].elementType.isInstanceOf[StructType] =>
      one match { case Alias(child, _) => child; case other => other }
    case other => throw new BadDefinition(at, s"is ${other.map(_.dataType.sql).mkString(", ")}; to give zero to many rows it must be one array of structs")
  }

  private def outputType(emit: Expression): StructType = (emit.dataType match {
    case ArrayType(row: StructType, _) => row
    case row: StructType => row
  }).asNullable

  private def stateFields(spark: SparkSession, spec: ScanSpec): StructType = {
    val scope = new Scope(spark, Nil)
    StructType(spec.stateNames.asScala.toSeq.zip(spec.stateInitial.asScala).map { case (name, value) =>
      StructField(name, scope.one(s"state.$name", value).dataType)
    }).asNullable
  }

  private def stateInitial(spark: SparkSession, spec: ScanSpec, state: StructType): Seq[Expression] = {
    val scope = new Scope(spark, Nil)
    scope.compile(state.fieldNames.toSeq.zip(spec.stateInitial.asScala).map { case (n, v) => scope.one(s"state.$n", v) }, Nil)
  }

  /** Keys and state of the rows to begin with; what the user's table does not have begins as for a new key. */
  private def initialPlan(spark: SparkSession, spec: ScanSpec, keys: Seq[Attribute], state: StructType): LogicalPlan =
    if (spec.initial == null) LocalRelation(keys.map(_.newInstance()) ++ toAttributes(state))
    else {
      val table = spec.initial.queryExecution.analyzed
      if (table.isStreaming) throw new BadDefinition("initial", "is a stream; the state to begin with must be a batch table")
      val same = spark.sessionState.conf.resolver
      val (keyNames, fieldNames) = (keys.map(_.name), state.fieldNames.toSeq)
      val unknown = table.output.map(_.name).filterNot(name => (keyNames ++ fieldNames).exists(same(_, name)))
      if (unknown.nonEmpty) throw new BadDefinition("initial", "has columns that are neither keys " +
        s"(${keyNames.mkString(", ")}) nor fields of the state (${fieldNames.mkString(", ")}): ${unknown.mkString(", ")}")
      def given(name: String, wanted: DataType) = Scope.fit(s"initial.$name", column(table.output, "initial", name, same), wanted)
      val keyColumns = keys.map(k => Alias(Keys.normal(given(k.name, k.dataType)), k.name)())
      val fields = state.fields.toSeq.zip(stateInitial(spark, spec, state)).map { case (f, default) =>
        Alias(if (table.output.exists(c => same(c.name, f.name))) given(f.name, f.dataType) else default, f.name)()
      }
      Project(keyColumns ++ fields, table)
    }

  private def column(columns: Seq[Attribute], at: String, name: String, same: Resolver = _ == _): Attribute =
    columns.filter(c => same(c.name, name)) match {
      case Seq(one) => one
      case Seq() => throw new BadDefinition(at, s"there is no column '$name'; there are ${columns.map(_.name).mkString(", ")}")
      case _ => throw new BadDefinition(at, s"there are two columns named '$name'")
    }
}
