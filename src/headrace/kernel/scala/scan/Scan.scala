package org.apache.spark.sql.headrace

import java.util.{List => JList, Map => JMap}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{Column, DataFrame, Row}
import org.apache.spark.sql.catalyst.analysis.{Resolver, UnresolvedAttribute}
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{EventTimeWatermark, LocalRelation, LogicalPlan, Project, TransformWithState}
import org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.streaming.{OutputMode, StatefulProcessor, TimeMode}
import org.apache.spark.sql.types._

/** Rows that a step puts out under one name: a list of columns that make one row, or, if `explode`, one array of structs; kept back unless `when`. */
final class Port(val name: String, val columns: JList[Column], val explode: Boolean, val when: Column)

/** What happens to one record, or at one alarm: new state fields by name, rows for each port, and whether the key is forgotten. They may use
  * the answer of a `call`, if there is one, as `scan.call`: it is made once for each record. */
final class StepSpec(val names: JList[String], val updates: JList[Column], val ports: JList[Port], val forget: Column, val call: Column)

/** An alarm: the time `at` is a function of the state, looked at after every change of it; null means none. */
final class Alarm(val at: Column, val step: StepSpec)

/** A scan as Python specifies it: its options by name, as `ScanOptions` there explains them. */
final class ScanSpec(options: JMap[String, AnyRef]) {
  private def option[T](name: String): Option[T] = Option(options.get(name)).map(_.asInstanceOf[T])
  private def list[T](name: String): Seq[T] = option[JList[T]](name).fold(Seq.empty[T])(_.asScala.toSeq)

  val keys: Seq[String] = list("keys")
  val order: Seq[String] = list("order")
  val state: Seq[(String, Column)] = list[String]("state_names").zip(list[Column]("state_values"))
  val step: StepSpec = option[StepSpec]("step").get
  val alarm: Option[Alarm] = option("alarm")
  val clock: Option[Alarm] = option("clock")
  val settled: Option[StepSpec] = option("settled")
  val eventTime: Option[String] = option("event_time")
  val lateAfter: Option[Column] = option("late_after")
  val waits: Boolean = option[java.lang.Boolean]("wait").forall(_.booleanValue)
  val idleMicros: Option[Long] = option[Number]("idle").map(_.longValue)
  val initial: Option[Dataset[Row]] = option("initial")
  val timeOut: Option[String] = option("time_out")
  val timedPorts: Set[String] = list[String]("timed_ports").toSet + Ports.main
  val timeOutExclusive: Boolean = option[java.lang.Boolean]("time_out_exclusive").exists(_.booleanValue)
  val timeBehind: Long = option[Number]("time_behind").fold(0L)(_.longValue)
  val bags: Seq[BagSpec] = list("bags")
  val maps: Seq[String] = list("maps")
  val values: Seq[(String, Column)] = list[String]("value_names").zip(list[Column]("value_columns"))
}

/** Plans a scan: resolves and checks its expressions, then puts Spark's own stateful operator under them. */
object Scan {
  def apply(input: Dataset[Row], spec: ScanSpec): DataFrame = {
    val spark = input.sparkSession
    val child = input.queryExecution.analyzed
    val streaming = child.isStreaming
    val timeMode = if (!streaming) TimeMode.None() else if (spec.eventTime.isDefined && spec.clock.isEmpty) TimeMode.EventTime()
      else if (spec.alarm.isDefined || spec.clock.isDefined || spec.idleMicros.isDefined || spec.bags.exists(_.expire.isDefined)) TimeMode.ProcessingTime() else TimeMode.None()
    // Behind a scan by the clock Spark passes no watermark on. A column that is marked with one would make what follows wait for it for ever.
    val columns = if (timeMode == TimeMode.ProcessingTime()) child.output.map(unmarked) else child.output
    val (promised, own) = columns.partition(c => spec.values.exists(_._1 == c.name))
    val record = own.map(_.withQualifier(Seq("record")))
    val keys = spec.keys.map(column(record, "key", _))
    if (keys.isEmpty) throw new BadDefinition("key", "there is none; for one state of all records, key them by a column that is the same in all")
    keys.foreach(Keys.check)
    val order = spec.order.map(column(record, "order", _))
    order.find(o => !RowOrdering.isOrderable(o.dataType)).foreach(o =>
      throw new BadDefinition("order", s"column '${o.name}' is of type ${o.dataType.sql}, which has no order"))
    val time = spec.eventTime.map(column(record, "event_time", _))
    time.foreach(t => timestamp("event_time", s"column '${t.name}'", t))

    val state = stateFields(spark, spec)
    if (streaming) state.foreach(f => Stored.check(s"state.${f.name}", "is", f.dataType))
    val stateColumns = toAttributes(state).map(_.withQualifier(Seq("state")))
    val watermark = time.map(_ => AttributeReference("watermark", TimestampType)(qualifier = Seq("scan")))
    val times = watermark.toSeq :+ AttributeReference("now", TimestampType)(qualifier = Seq("scan"))
    val scope = spec.values.foldLeft(new Scope(spark, record ++ promised.map(_.withQualifier(Nil)) ++ stateColumns ++ times)) { case (known, (name, value)) =>
      known.where(column(promised, "value", name), known.one(name, value))
    }
    val step = resolve(scope, "", spec.step, state, stateColumns)
    val alarm = spec.alarm.map(new AlarmScope(spark, "timer.", _, keys, state, stateColumns))
    val clockAlarm = spec.clock.map(new AlarmScope(spark, "clock.", _, keys, state, stateColumns))
    val settled = spec.settled.map(resolve(scope.only(keys.map(_.withQualifier(Seq("record"))) ++ stateColumns), "settled.", _, state, stateColumns))
    val bags = spec.bags.map(new BagScope(scope, _, keys, state, stateColumns, times))
    bags.foreach(_.checkTarget(bags))
    if (streaming) bags.foreach(_.checkStored())
    val steps = Seq("" -> step.emissions) ++ alarm.map("timer." -> _.step.emissions) ++ clockAlarm.map("clock." -> _.step.emissions) ++
      settled.map("settled." -> _.emissions) ++ bags.flatMap(_.emissions)
    val outputs = Ports(steps, time.map(_ => StructType(record.map(field))))
    val ports = spec.timeOut.fold(outputs)(outputs.timedBy(_, spec.timedPorts, spec.timeOutExclusive))

    val lateAfter = spec.lateAfter.map(scope.one("late_after", _))
    lateAfter.foreach(timestamp("late_after", "it", _))
    if (lateAfter.isDefined && time.isEmpty) throw new BadDefinition("late_after", "says when a record is late, which only event_time makes it")
    // A late record goes out as it came, so all of it is needed; else only the columns that an expression names are shuffled.
    val used = AttributeSet(step.all ++ bags.flatMap(_.all))
    val kept = if (time.isDefined) record else record.filter(a => used.contains(a))
    if (streaming && time.isDefined && spec.waits) kept.foreach(a =>
      Stored.check("event_time", s"records wait in the state, and column '${a.name}' is", a.dataType, "drop the column before, or give wait=False"))
    val read = times.filter(used.contains)

    val program = step.compile(ports, stateColumns ++ read, kept, state, timesOf(read))
    def place(column: Attribute): Int = kept.indexWhere(_.exprId == column.exprId)
    val processor = new ScanProcessor(ScanPlan(
      StructType(keys.map(k => StructField(k.name, k.dataType))), StructType(kept.map(field)), program, stateInitial(spark, spec, state), alarm.map(_.compile(ports)),
      clockAlarm.map(_.compile(ports)), settled.map(_.compile(ports, stateColumns, keys, state, Times.none)), spec.idleMicros,
      time.map(place), if (time.isDefined) order.map(place) else Nil, spec.waits,
      time.map(_ => scope.compile(Seq(ports.wrap(Ports.late, Rows.struct(record))), stateColumns ++ kept).head),
      lateAfter.map(e => scope.compile(Seq(e), kept).head), bags.map(_.compile(ports, kept)), spec.maps, streaming,
      if (time.isDefined) lag(child) else 0L, spec.timeBehind, ports.place(Ports.refused)))
    // Records that wait are sorted when their time has come; the others, as they come in.
    plan(spark, child, spec, keys, if (time.isDefined && spec.waits) Nil else order, kept, state, processor, timeMode, ports)
  }

  /** The table with one column more, which has no value yet: what an expression over the record and such a state will be. A scan that is told
    * of the expression, as one of its `values`, takes the column for it. */
  def promise(input: Dataset[Row], stateNames: JList[String], stateValues: JList[Column], name: String, value: Column): DataFrame = {
    val spark = input.sparkSession
    val plan = input.queryExecution.analyzed
    val empty = new Scope(spark, Nil)
    val state = stateNames.asScala.toSeq.zip(stateValues.asScala).map { case (field, first) =>
      AttributeReference(field, empty.one(field, first).dataType)(qualifier = Seq("state"))
    }
    val kind = new Scope(spark, plan.output.map(_.withQualifier(Seq("record"))) ++ state).one(name, value).dataType
    Dataset.ofRows(spark, Project(plan.output :+ Alias(Literal(null, kind), name)(), plan))
  }

  /** The names of columns that an expression mentions, as far as it is not resolved yet. */
  def mentions(spark: SparkSession, column: Column): JList[String] =
    spark.expression(column).collect { case a: UnresolvedAttribute => a.nameParts.head }.distinct.asJava

  private def field(column: Attribute): StructField = StructField(column.name, column.dataType, metadata = column.metadata)

  private def timestamp(at: String, what: String, e: Expression): Unit = if (e.dataType != TimestampType && e.dataType != TimestampNTZType)
    throw new BadDefinition(at, s"$what is of type ${e.dataType.sql}, but a timestamp is needed")

  private def unmarked(column: Attribute): Attribute =
    column.withMetadata(new MetadataBuilder().withMetadata(column.metadata).remove(EventTimeWatermark.delayKey).build())

  /** Whether there is a scan that waits for the watermark. A second watermark behind it would begin with the first record that it lets out;
    * and until then, for Spark has but one time, there is none at all. */
  def holdsBack(input: Dataset[Row]): Boolean = scans(input.queryExecution.analyzed).exists(_.plan.waitsForTime)

  /** So many microseconds may the rows of a plan be behind the watermark: those of a scan whose rows have an earlier time than what they come from. */
  private def lag(plan: LogicalPlan): Long = plan match {
    case scan: TransformWithState if scan.timeMode == TimeMode.ProcessingTime() => 0L // time begins anew behind it
    case scan: TransformWithState => processor(scan).fold(0L)(_.plan.behind) + lag(scan.child)
    case other => other.children.map(lag).maxOption.getOrElse(0L)
  }

  private def scans(plan: LogicalPlan): Seq[ScanProcessor] = plan.collect { case scan: TransformWithState => processor(scan) }.flatten

  /** If it is one of ours. */
  private[headrace] def processor(scan: TransformWithState): Option[ScanProcessor] = (scan.statefulProcessor: Any) match {
    case ours: ScanProcessor => Some(ours)
    case _ => None
  }

  private def plan(
      spark: SparkSession, child: LogicalPlan, spec: ScanSpec, keys: Seq[Attribute], order: Seq[Attribute], kept: Seq[Attribute], state: StructType,
      processor: ScanProcessor, timeMode: TimeMode, ports: Ports): DataFrame = {
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
    val out = AttributeReference("out", ports.row, nullable = false)()
    val first = initialPlan(spark, spec, keys, StructType(state ++ spec.maps.map(StructField(_, ArrayType(EntryMap.entry)))))
    val (firstKeys, firstState) = first.output.splitAt(keys.size)
    val scan = new TransformWithState(
      Rows.struct(keyAttributes), ThisRow(copy = false), keyAttributes, // a row begins with the values
      (values ++ arrival).map(_.toAttribute), // the arrival is not read, but what is not named here Spark would prune
      processor.asInstanceOf[StatefulProcessor[Any, Any, Any]], timeMode, OutputMode.Append(),
      Rows.passThrough(keySchema).asInstanceOf[ExpressionEncoder[Any]], out, below, spec.initial.isDefined,
      firstKeys, first.output, Rows.struct(firstState), first)
    val columns = ports.row.fields.toSeq.zipWithIndex.map { case (f, i) => Alias(GetStructField(out, i, Some(f.name)), f.name)() }
    Dataset.ofRows(spark, Project(columns, scan))
  }

  /** An alarm's expressions: over the key, the state and the time at which it rings. */
  private final class AlarmScope(spark: SparkSession, in: String, alarm: Alarm, keys: Seq[Attribute], state: StructType, stateColumns: Seq[Attribute]) {
    private val time = AttributeReference("time", TimestampType)(qualifier = Seq("timer"))
    private val scope = new Scope(spark, keys.map(_.withQualifier(Seq("record"))) ++ Seq(time) ++ stateColumns)
    private val at = scope.one(s"${in}at", alarm.at)
    timestamp(s"${in}at", "it", at)
    if (!at.references.subsetOf(AttributeSet(stateColumns)))
      throw new BadDefinition(s"${in}at", "may use columns of the state only, for it is looked at whenever the state changes")
    val step: Resolved = resolve(scope, in, alarm.step, state, stateColumns)

    def compile(ports: Ports): AlarmProgram =
      AlarmProgram(scope.compile(Seq(at), stateColumns).head, step.compile(ports, stateColumns, keys ++ Seq(time), state, Times.none))
  }

  private[headrace] final case class Resolved(scope: Scope, call: Option[(Attribute, Expression)], next: Expression, emissions: Seq[Emission], forget: Expression) {
    def all: Seq[Expression] = next +: forget +: (emissions.flatMap(_.all) ++ call.map(_._2))

    def compile(
        ports: Ports, before: Seq[Attribute], record: Seq[Attribute], state: StructType, times: Times, more: Seq[Expression] = Nil): Program = {
      val input = before ++ call.map(_._1) ++ record
      Program(scope.compile(Seq(next, ports.emit(emissions), forget) ++ more, input), ports.explode(emissions), state, times, call.map(c => scope.compile(Seq(c._2), input).head))
    }
  }

  /** Which of the scan's times these columns are. */
  private[headrace] def timesOf(columns: Seq[Attribute]): Times = Times(columns.exists(_.name == "watermark"), columns.exists(_.name == "now"))

  private[headrace] def resolve(
      outer: Scope, in: String, step: StepSpec, state: StructType, stateColumns: Seq[Attribute], forget: String = "forget"): Resolved = {
    val call = Option(step.call).map(outer.one(s"${in}function", _)).map(e => AttributeReference("call", e.dataType)(qualifier = Seq("scan")) -> e)
    val scope = call.fold(outer)(c => outer.and(Seq(c._1)))
    val updates = step.names.asScala.zip(step.updates.asScala).toMap
    updates.keys.find(n => !state.fieldNames.contains(n)).foreach(n =>
      throw new BadDefinition(s"${in}update.$n", s"is not a field of the state (${state.fieldNames.mkString(", ")})"))
    val next = Rows.struct(state.fields.toSeq.zip(stateColumns).map { case (f, before) =>
      f.name -> updates.get(f.name).fold[Expression](before)(scope.one(s"${in}update.${f.name}", _, Some(f.dataType)))
    })
    val emissions = step.ports.asScala.toSeq.map(Emission(scope, in, _))
    Resolved(scope, call, next, emissions, Option(step.forget).fold[Expression](Literal(false))(scope.one(in + forget, _, Some(BooleanType))))
  }

  private def stateFields(spark: SparkSession, spec: ScanSpec): StructType = {
    val scope = new Scope(spark, Nil)
    StructType(spec.state.map { case (name, value) => StructField(name, scope.one(s"state.$name", value).dataType) }).asNullable
  }

  private def stateInitial(spark: SparkSession, spec: ScanSpec, state: StructType): Seq[Expression] = {
    val scope = new Scope(spark, Nil)
    scope.compile(spec.state.map { case (n, v) => scope.one(s"state.$n", v) }, Nil)
  }

  /** Keys and state of the rows to begin with; what the user's table does not have begins as for a new key. */
  private def initialPlan(spark: SparkSession, spec: ScanSpec, keys: Seq[Attribute], state: StructType): LogicalPlan =
    spec.initial.fold[LogicalPlan](LocalRelation(keys.map(_.newInstance()) ++ toAttributes(state))) { initial =>
      val table = initial.queryExecution.analyzed
      if (table.isStreaming) throw new BadDefinition("initial", "is a stream; the state to begin with must be a batch table")
      val same = spark.sessionState.conf.resolver
      val (keyNames, fieldNames) = (keys.map(_.name), state.fieldNames.toSeq)
      val unknown = table.output.map(_.name).filterNot(name => (keyNames ++ fieldNames).exists(same(_, name)))
      if (unknown.nonEmpty) throw new BadDefinition("initial", "has columns that are neither keys " +
        s"(${keyNames.mkString(", ")}) nor fields of the state (${fieldNames.mkString(", ")}): ${unknown.mkString(", ")}")
      def fitting(name: String, wanted: DataType) = Scope.fit(s"initial.$name", column(table.output, "initial", name, same), wanted)
      val keyColumns = keys.map(k => Alias(Keys.normal(fitting(k.name, k.dataType)), k.name)())
      val fields = state.fields.toSeq.zipAll(stateInitial(spark, spec, state), null, Literal(null, ArrayType(EntryMap.entry))).map { case (f, default) =>
        Alias(if (table.output.exists(c => same(c.name, f.name))) fitting(f.name, f.dataType) else default, f.name)()
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
