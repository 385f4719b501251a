package org.apache.spark.sql.headrace

import java.util.{List => JList, Map => JMap}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{Column, Row}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.classic.{Dataset, ExpressionUtils}
import org.apache.spark.sql.types._

/** A pattern as Python specifies it; `automaton` is the table of `PatternItem`s and edges as JSON. */
final class PatternSpec(options: JMap[String, AnyRef]) {
  private def option[T](name: String): Option[T] = Option(options.get(name)).map(_.asInstanceOf[T])
  private def list[T](name: String): Seq[T] = option[JList[T]](name).fold(Seq.empty[T])(_.asScala.toSeq)

  val automaton: Automaton = Automaton.parse(option[String]("automaton").get)
  val steps: Seq[String] = list("steps")
  val unions: Map[String, Seq[String]] = option[JMap[String, JList[String]]]("unions").fold(Map.empty[String, Seq[String]])(_.asScala.toMap.map { case (n, s) => n -> s.asScala.toSeq })
  val conditions: Seq[(String, Column)] = list[String]("condition_names").zip(list[Column]("conditions"))
  val output: Seq[Column] = list("output")
  val keys: Seq[String] = list("keys")
  val time: Option[String] = option("time")
  val alarms: Boolean = option[java.lang.Boolean]("alarms").exists(_.booleanValue)
  val most: Int = option[Number]("most").get.intValue
}

/** A pattern over the records of a table: the state that a scan keeps for it, and the calls that a scan makes, for a record and at an alarm. */
final class Pattern(input: Dataset[Row], spec: PatternSpec) {
  private val spark = input.sparkSession
  private val record = input.queryExecution.analyzed.output.map(_.withQualifier(Seq("record")))
  private val captures = new Captures(spark, record, spec.steps, spec.unions)
  private val conditions = spec.conditions.map { case (at, column) => captures.condition(at, column) }
  private val output = captures.output("output", spec.output)
  private val buffers = captures.buffers

  private def column(name: String): Attribute = record.find(_.name == name).getOrElse(
    throw new BadDefinition("", s"there is no column '$name'; there are ${record.map(_.name).mkString(", ")}"))

  private val keys = spec.keys.map(column)
  private val time = spec.time.map(column)
  time.foreach(t => if (t.dataType != TimestampType && t.dataType != TimestampNTZType)
    throw new BadDefinition("time", s"column '${t.name}' is of type ${t.dataType.sql}, but a timestamp is needed"))
  private val span = time.toSeq.flatMap(t => Seq("start", "end").map(AttributeReference(_, t.dataType)()))
  private val shown = span ++ keys ++ output
  shown.map(_.name.toLowerCase).diff(shown.map(_.name.toLowerCase).distinct).headOption.foreach(twice =>
    throw new BadDefinition("output", s"has two columns named '$twice'", s"rename one of them: F.col('…').alias('other'). There are always ${(span ++ keys).map(_.name).mkString(", ")}"))

  private val row = StructType(shown.map(c => StructField(c.name, c.dataType)))
  private val captured = StructType(buffers.map(b => StructField(b.name, b.dataType)))
  private val words = StructType((0 until spec.automaton.words).map(i => StructField(s"waits_$i", LongType)))
  private val taken = if (buffers.isEmpty) Nil else Seq(StructField("taken", captured))
  private val numbers = Seq("first", "last", "start", "previous", "mark").map(StructField(_, LongType))
  private val partial = ArrayType(StructType(numbers ++ words ++ taken))

  private val scope = new Scope(spark, record ++ buffers ++ span)
  private val steps = spec.steps.map(captures.updates)
  private val used = record.filter(AttributeSet(conditions ++ steps.flatten ++ time).contains)
  private val plan = PatternPlan(
    spec.automaton,
    scope.compile(conditions, buffers ++ used).zip(conditions).map { case (e, c) => e -> !c.references.exists(AttributeSet(buffers).contains) },
    scope.compile(captures.initial, Nil),
    steps.map(scope.compile(_, buffers ++ used)),
    scope.compile(shown.map { case Alias(child, _) => child; case other => other }, buffers ++ keys ++ span),
    buffers.size, keys.size, used.size, time.map(used.indexOf(_)), spec.alarms, spec.most)

  /** Another pattern has another name for its state, so a checkpoint of the one is refused to the other. New thresholds are no other pattern. */
  private val sign = f"${(spec.automaton.copy(within = 0L), captures.described).toString.hashCode}%08x"

  private val stateKinds = Seq(partial, partial, LongType, TimestampType)
  val stateNames: JList[String] = Seq(s"partial_$sign", "complete", "count", "due").asJava
  val stateTypes: JList[String] = stateKinds.map(_.sql).asJava

  private val answer = StructType(
    stateNames.asScala.zip(stateKinds).map { case (n, t) => StructField(n, t) }.toSeq ++
      Seq(StructField("over", BooleanType), StructField("matches", ArrayType(row)), StructField("timed_out", ArrayType(row))))

  private def columns(of: String, names: Seq[String]): Seq[Expression] = names.map(n => UnresolvedAttribute(Seq(of, n)))

  private def call(time: Expression, record: Seq[Attribute]): Column = ExpressionUtils.column(PatternCall(
    plan, answer, columns("state", stateNames.asScala.toSeq.init) ++ Seq(time) ++ columns("record", keys.map(_.name) ++ record.map(_.name))))

  /** What a record makes of the state. */
  val take: Column = call(Literal(null, TimestampType), used)

  /** What an alarm makes of it. */
  val ring: Column = call(UnresolvedAttribute(Seq("timer", "time")), Nil)
}

/** A pattern, resolved and compiled. Conditions are over what a match has taken and the record; `true` for one of the record alone. `rows` are
  * over what it has taken, the key, and its start and end. */
private[headrace] final case class PatternPlan(
    automaton: Automaton,
    conditions: Seq[(Expression, Boolean)],
    initial: Seq[Expression],
    steps: Seq[Seq[Expression]],
    rows: Seq[Expression],
    buffers: Int,
    keys: Int,
    columns: Int,
    time: Option[Int],
    alarms: Boolean,
    most: Int)

/** Takes a key's matches so far (partial, complete, the number of records), the time of an alarm or null, the key, and a record if there is no
  * alarm; gives what becomes of the matches, and what goes out. */
case class PatternCall(plan: PatternPlan, dataType: StructType, children: Seq[Expression]) extends Expression with CodegenFallback {
  override def nullable: Boolean = false
  override def foldable: Boolean = false // also of a blank state: it would be run on the driver
  override def stringArgs: Iterator[Any] = children.iterator

  @transient private lazy val matcher = new Matcher(plan)
  @transient private lazy val inputs = children.toArray
  @transient private lazy val key = new GenericInternalRow(plan.keys)
  @transient private lazy val record = new GenericInternalRow(plan.columns)

  override def eval(row: InternalRow): Any = {
    matcher.open(inputs(0).eval(row).asInstanceOf[ArrayData], inputs(1).eval(row).asInstanceOf[ArrayData], inputs(2).eval(row))
    val time = inputs(3).eval(row)
    if (time != null) matcher.ring(time.asInstanceOf[Long])
    else {
      fill(record, 4 + plan.keys, row)
      matcher.take(record)
    }
    if (matcher.putsOut) fill(key, 4, row)
    matcher.result(key)
  }

  private def fill(into: GenericInternalRow, from: Int, row: InternalRow): Unit = {
    var i = 0
    while (i < into.numFields) {
      into.update(i, inputs(from + i).eval(row))
      i += 1
    }
  }

  override protected def withNewChildrenInternal(c: IndexedSeq[Expression]): Expression = copy(children = c)
}
