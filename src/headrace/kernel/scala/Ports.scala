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
  def apply(scope: Scope, in: String, port: Port): Emission = {
    val at = in + (if (port.name == Ports.main) "" else s"ports.${port.name}.")
    val columns = scope.many(s"${at}output", port.columns.asScala.toSeq)
    val when = Option(port.when).map(scope.one(s"${at}when", _, Some(BooleanType)))
    if (port.explode) Emission(port.name, array(s"${at}output", columns), explode = true, when) else {
      val names = columns.map(_.name)
      names.diff(names.distinct).headOption.foreach(n => throw new BadDefinition(s"${at}output", s"has two columns named '$n'"))
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

  def wrap(port: String, row: Expression): Expression =
    if (single) row else Rows.struct(rows.map { case (name, kind) => name -> (if (name == port) row else Literal(null, kind)) })

  /** Whether what a step puts out is an array of rows, and not at most one. */
  def explode(emissions: Seq[Emission]): Boolean = emissions.size > 1 || emissions.exists(_.explode)

  def emit(emissions: Seq[Emission]): Expression = emissions match {
    case Seq() => Literal(null, row)
    case Seq(Emission(name, one, false, when)) => kept(wrap(name, one), when)
    case Seq(Emission(_, array, true, when)) if single => kept(array, when)
    case several => Concat(several.map {
      case Emission(name, one, false, when) => CreateArray(Seq(kept(wrap(name, one), when))) // an element that is null is no row
      case Emission(name, array, true, when) => Coalesce(Seq(kept(wrapped(name, array), when), Literal.create(Nil, ArrayType(row))))
    })
  }

  /** The same, and this column of the main rows is their time for what follows; no other is. */
  def timedBy(column: String): Ports = Ports(rows.map {
    case (Ports.main, row) if row.fieldNames.contains(column) => Ports.main -> StructType(row.map(f => f.copy(metadata = Ports.marked(f.metadata, f.name == column))))
    case (Ports.main, row) => throw new BadDefinition("time_out", s"there is no column '$column' among those that come out: ${row.fieldNames.mkString(", ")}")
    case other => other
  })

  private def kept(rows: Expression, when: Option[Expression]): Expression = when.fold(rows)(If(_, rows, Literal(null, rows.dataType)))

  private def wrapped(port: String, array: Expression): Expression = {
    val element = NamedLambdaVariable("row", array.dataType.asInstanceOf[ArrayType].elementType, nullable = true)
    ArrayTransform(array, LambdaFunction(If(IsNull(element), Literal(null, row), wrap(port, element)), Seq(element)))
  }
}

private[headrace] object Ports {
  val main = "main"
  val late = "late"

  private def marked(metadata: Metadata, time: Boolean): Metadata = {
    val plain = new MetadataBuilder().withMetadata(metadata).remove(EventTimeWatermark.delayKey)
    (if (time) plain.putLong(EventTimeWatermark.delayKey, 0L) else plain).build()
  }

  /** Those that the records' step has and those that the alarm's has, which must agree; and, with event time, the late records. */
  def apply(records: Seq[Emission], alarm: Seq[Emission], late: Option[StructType]): Ports = {
    for (own <- alarm; other <- records.find(_.name == own.name) if !DataType.equalsIgnoreNullability(own.row, other.row)) {
      val at = if (own.name == main) "timer.output" else s"timer.ports.${own.name}"
      throw new BadDefinition(at, s"gives ${own.row.simpleString}, but the records' output is ${other.row.simpleString}")
    }
    val named = (records ++ alarm).map(e => e.name -> e.row)
    val distinct = named.map(_._1).distinct.map(name => name -> named.find(_._1 == name).get._2)
    if (distinct.isEmpty) throw new BadDefinition("output", "there is none, of the records or of a timer: nothing would ever come out")
    Ports(distinct ++ late.map(Ports.late -> _.asNullable))
  }
}
