package org.apache.spark.sql.headrace

import java.util.{List => JList, Map => JMap}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes
import org.apache.spark.sql.types._

/** A bag as Python specifies it, by the names of `Bag` and `Each` there. Of its steps, `forget` says that the row goes. */
final class BagSpec(val name: String, options: JMap[String, AnyRef]) {
  private def option[T](name: String): Option[T] = Option(options.get(name)).map(_.asInstanceOf[T])

  val add: Port = option[Port]("add").get
  val time: String = option[String]("time").get
  val most: Long = option[Number]("most").get.longValue
  val each: Option[StepSpec] = option("each")
  val low: Option[Column] = option("low")
  val high: Option[Column] = option("high")
  val limit: Int = option[Number]("limit").fold(Int.MaxValue)(_.intValue)
  val change: Seq[(String, Column)] = named("change")
  val leaveChange: Seq[(String, Column)] = named("leave_change")
  private def named(option: String): Seq[(String, Column)] =
    this.option[JList[String]](s"${option}_names").toSeq.flatMap(_.asScala).zip(this.option[JList[Column]](s"${option}_values").toSeq.flatMap(_.asScala))
  val into: Option[String] = option("into")
  val expire: Option[Long] = option[Number]("expire").map(_.longValue)
  val leave: Option[StepSpec] = option("leave")
  val together: Boolean = option[java.lang.Boolean]("together").exists(_.booleanValue)
}

/** The expressions of a bag, resolved: over the record and the state, and over a row of the bag, too. */
private[headrace] final class BagScope(
    scope: Scope, spec: BagSpec, keys: Seq[Attribute], state: StructType, stateColumns: Seq[Attribute], times: Seq[Attribute]) {
  private val in = s"bags.${spec.name}."
  private val added = Emission(scope, in, spec.add, "add")
  private val row = StructType(added.row.map(f => StructField(f.name, f.dataType))) // its times are not the time of what comes out
  private val time = row.fieldNames.indexOf(spec.time)
  if (time < 0) throw new BadDefinition(s"${in}time", s"there is no column '${spec.time}' among those that are added: ${row.fieldNames.mkString(", ")}")
  if (row(time).dataType != TimestampType && row(time).dataType != TimestampNTZType)
    throw new BadDefinition(s"${in}time", s"column '${spec.time}' is of type ${row(time).dataType.sql}, but a timestamp is needed")

  private val columns = toAttributes(row).map(_.withQualifier(Seq("bag")))
  private val inner = scope.and(columns)
  private def end(bound: Option[Column], open: Long): Expression =
    bound.fold[Expression](Literal(open))(scope.one(s"${in}each.between", _, Some(row(time).dataType)))
  private val between = Seq(end(spec.low, Long.MinValue), end(spec.high, Long.MaxValue))
  private val each = spec.each.map(Scan.resolve(inner, s"${in}each.", _, state, stateColumns, "remove"))
  private def changed(at: String, scope: Scope, changes: Map[String, Column]): Expression = {
    changes.keys.find(n => !row.fieldNames.contains(n)).foreach(n =>
      throw new BadDefinition(s"$at.change.$n", s"is not a column of the bag (${row.fieldNames.mkString(", ")})"))
    Rows.struct(row.fields.toSeq.zip(columns).map { case (f, before) =>
      f.name -> changes.get(f.name).fold[Expression](before)(scope.one(s"$at.change.${f.name}", _, Some(f.dataType)))
    })
  }
  private val visited = changed(s"${in}each", inner, spec.change.toMap)
  private val gone = // a row that leaves, or all those of one time
    if (spec.together) Seq(AttributeReference("rows", ArrayType(row, containsNull = false), nullable = false)(qualifier = Seq("bag"))) else columns
  private val leaving = scope.only(keys.map(_.withQualifier(Seq("record"))) ++ gone ++ stateColumns)
  private val leave = spec.leave.map(Scan.resolve(leaving, s"${in}expire.", _, state, stateColumns))
  private val left = spec.into.map(_ => changed(s"${in}expire", leaving, spec.leaveChange.toMap))

  /** The bag that rows go over into must have the same columns. */
  def checkTarget(bags: Seq[BagScope]): Unit = spec.into.foreach { name =>
    val other = bags.find(_.name == name).getOrElse(throw new BadDefinition(s"${in}expire.into", s"there is no bag '$name'; there are ${bags.map(_.name).mkString(", ")}"))
    if ((other eq this) || !DataType.equalsIgnoreNullability(other.row, row)) throw new BadDefinition(
      s"${in}expire.into", s"the rows of '$name' are ${other.row.simpleString}, and those that go over ${row.simpleString}", "give another bag, with the same columns")
  }
  private def name: String = spec.name

  def checkStored(): Unit = row.foreach(f => Stored.check(s"${in}add", s"column '${f.name}' is", f.dataType))

  /** What goes out, and where it is written. */
  def emissions: Seq[(String, Seq[Emission])] = each.map(s"${in}each." -> _.emissions).toSeq ++ leave.map(s"${in}expire." -> _.emissions)

  def all: Seq[Expression] = between ++ added.all ++ each.toSeq.flatMap(_.all) :+ visited

  def compile(ports: Ports, record: Seq[Attribute]): BagPlan = {
    val before = stateColumns ++ times
    def program(scope: Scope, expressions: Seq[Expression], input: Seq[Attribute]) =
      Program(scope.compile(expressions, before ++ input), explode = false, state, Scan.timesOf(times), None)
    BagPlan(
      spec.name, row, time, spec.most, program(scope, Seq(Ports.kept(added.rows, added.when)), record), added.explode,
      program(scope, between, record), spec.limit,
      each.map(_.compile(ports, before, columns ++ record, state, Scan.timesOf(times), if (spec.change.isEmpty) Nil else Seq(visited))),
      spec.expire, leave.map(_.compile(ports, stateColumns, gone ++ keys, state, Times.none, left.toSeq)), spec.into, spec.together)
  }
}

/** A bag, resolved and compiled. The row's column number `time` orders it. What `each` gives has, behind the three of a step, the row as it
  * becomes, if it changes; and what `leave` gives, if rows go over `into` another bag. */
private[headrace] final case class BagPlan(
    name: String, row: StructType, time: Int, most: Long, add: Program, explode: Boolean, between: Program, limit: Int, each: Option[Program],
    expire: Option[Long], leave: Option[Program], into: Option[String], together: Boolean)
