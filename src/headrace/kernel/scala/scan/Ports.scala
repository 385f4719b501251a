package org.apache.spark.sql.headrace

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark
import org.apache.spark.sql.types._

/** What a step puts out under one name: a row, or an array of rows, kept back unless `when`. */
private[headrace] final case class Emission(name: String, rows: Expression, explode: Boolean, when: Option[Expression]) {
  def all: Seq[Expression] = rows +: when.toSeq
  def row: StructType = (rows.dataType match {
    case ArrayType(row: StructType, _) => row
    case row: StructType => row
  }).asNullable
}

private[headrace] object Emission {
  def apply(scope: Scope, in: String, port: Port, part: String = "output"): Emission = {
    val at = in + (if (port.name == Ports.main) "" else s"ports.${port.name}.")
    val columns = scope.many(at + part, port.columns.asScala.toSeq)
    val when = Option(port.when).map(scope.one(s"${at}when", _, Some(BooleanType)))
    if (port.explode) Emission(port.name, array(at + part, columns), explode = true, when) else {
      val names = columns.map(_.name)
      names.diff(names.distinct).headOption.foreach(n => throw new BadDefinition(at + part, s"has two columns named '$n'"))
      Emission(port.name, Rows.struct(columns.map(c => c.name -> plain(c))), explode = false, when)
    }
  }

  private def array(at: String, columns: Seq[NamedExpression]): Expression = columns match {
    case Seq(one) if one.dataType.isInstanceOf[ArrayType] && one.dataType.asInstanceOf[ArrayType].elementType.isInstanceOf[StructType] => plain(one)
    case other => throw new BadDefinition(at, s"is ${other.map(_.dataType.sql).mkString(", ")}; to give zero to many rows it must be one array of structs")
  }

  private def plain(e: NamedExpression): Expression = e match { case Alias(child, _) => child; case other => other }
}

/** The outputs of a scan by name. With one, a row that goes out is a row of it. With several it has a field for each, of which one is not null. */
private[headrace] final case class Ports(rows: Seq[(String, StructType)]) {
  private val single = rows.size == 1
  val row: StructType = if (single) rows.head._2 else StructType(rows.map { case (name, row) => StructField(name, row) })

  /** Where a row has the fields of this port, if there are several. */
  def place(port: String): Option[Int] = Option.when(!single)(rows.indexWhere(_._1 == port)).filter(_ >= 0)

  def wrap(port: String, row: Expression): Expression =
    if (single) row else Rows.struct(rows.map { case (name, kind) => name -> (if (name == port) row else Literal(null, kind)) })

  /** Whether what a step puts out is an array of rows, and not at most one. */
  def explode(emissions: Seq[Emission]): Boolean = emissions.size > 1 || emissions.exists(_.explode)

  def emit(emissions: Seq[Emission]): Expression = emissions match {
    case Seq() => Literal(null, row)
    case Seq(Emission(name, one, false, when)) => Ports.kept(wrap(name, one), when)
    case Seq(Emission(_, array, true, when)) if single => Ports.kept(array, when)
    case several if several.forall(e => e.explode && e.when.isEmpty) => // most records give none, which is known without putting arrays together
      If(several.map(e => IsNull(e.rows): Expression).reduce(And(_, _)), Literal(null, ArrayType(row)), together(several))
    case several => together(several)
  }

  private def together(several: Seq[Emission]): Expression = Concat(several.map {
    case Emission(name, one, false, when) => CreateArray(Seq(Ports.kept(wrap(name, one), when))) // an element that is null is no row
    case Emission(name, array, true, when) => Coalesce(Seq(Ports.kept(wrapped(name, array), when), Literal.create(Nil, ArrayType(row))))
  })

  /** The same, and this column of the rows of these ports is their time for what follows; no other is. If it is `exclusive`, they are of the moment before. */
  def timedBy(column: String, timed: Set[String], exclusive: Boolean): Ports = Ports(rows.map {
    case (name, row) if timed(name) && row.fieldNames.contains(column) => name -> StructType(row.map(f => f.copy(metadata = Ports.marked(f.metadata, f.name == column, exclusive))))
    case (name, row) if timed(name) => throw new BadDefinition("time_out", s"there is no column '$column' among those that come out: ${row.fieldNames.mkString(", ")}")
    case other => other
  })

  private def wrapped(port: String, array: Expression): Expression = {
    val element = NamedLambdaVariable("row", array.dataType.asInstanceOf[ArrayType].elementType, nullable = true)
    ArrayTransform(array, LambdaFunction(If(IsNull(element), Literal(null, row), wrap(port, element)), Seq(element)))
  }
}

private[headrace] object Ports {
  def kept(rows: Expression, when: Option[Expression]): Expression = when.fold(rows)(If(_, rows, Literal(null, rows.dataType)))

  val main = "main"
  val late = "late"

  /** Of records that a step finds too late, and not the scan. */
  val refused = "refused"

  private val exclusiveMark = "headrace.exclusive"

  private def marked(metadata: Metadata, time: Boolean, exclusive: Boolean): Metadata = {
    val plain = new MetadataBuilder().withMetadata(metadata).remove(EventTimeWatermark.delayKey).remove(exclusiveMark)
    if (time) plain.putLong(EventTimeWatermark.delayKey, 0L)
    if (time && exclusive) plain.putBoolean(exclusiveMark, true)
    plain.build()
  }

  /** Those of the steps, each with the words for where it is written, which must agree; and, with event time, the late records. */
  def apply(steps: Seq[(String, Seq[Emission])], late: Option[StructType]): Ports = {
    val all = for ((in, emissions) <- steps; emission <- emissions) yield (in, emission)
    val firsts = all.map(_._2.name).distinct.map(name => name -> all.find(_._2.name == name).get)
    for ((in, own) <- all; (of, other) = firsts.toMap.apply(own.name) if !DataType.equalsIgnoreNullability(own.row, other.row)) {
      val part = if (own.name == main) "output" else s"ports.${own.name}"
      val first = if (of.isEmpty && own.name == main) "the records' output" else of + part
      throw new BadDefinition(
        in + part, s"gives ${own.row.simpleString}, but $first is ${other.row.simpleString}",
        "give both the same columns, in the same order, with the same names and types")
    }
    if (firsts.isEmpty) throw new BadDefinition("output", "there is none, of the records, a timer or a bag: nothing would ever come out")
    Ports(firsts.map { case (name, (_, emission)) => name -> emission.row } ++ late.map(Ports.late -> _.asNullable))
  }
}
