package org.apache.spark.sql.headrace

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.TypeCheckResult
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.classic.ExpressionUtils
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * Bytes (or a string) to `struct<record, reason>`: the record, or the reason why there is none. One pass over the bytes gives both, and no
 * input whatever makes it throw.
 */
case class Decode(child: Expression, format: RecordFormat) extends UnaryExpression with Outcome {
  override def record: DataType = format.schema

  override def checkInputDataTypes(): TypeCheckResult = child.dataType match {
    case BinaryType | _: StringType => TypeCheckResult.TypeCheckSuccess
    case other => TypeCheckResult.TypeCheckFailure(s"bytes or a string can be decoded, not ${other.sql}")
  }

  @transient private lazy val decoder = format.decoder()

  override def eval(input: InternalRow): Any = child.eval(input) match {
    case text: UTF8String => decoder.decode(text.getBytes)
    case bytes => decoder.decode(bytes.asInstanceOf[Array[Byte]])
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val ref = ctx.addReferenceObj("format", format, classOf[RecordFormat].getName)
    // The plan's objects are shared between threads, a generated class's fields are not.
    val decoder = ctx.addMutableState(classOf[RecordDecoder].getName, "decoder", name => s"$name = $ref.decoder();", forceInline = true)
    val input = child.genCode(ctx)
    val bytes = if (child.dataType == BinaryType) s"${input.value}" else s"${input.value}.getBytes()"
    ev.copy(code = code"""
      |${input.code}
      |InternalRow ${ev.value} = $decoder.decode(${input.isNull} ? null : $bytes);""".stripMargin, isNull = FalseLiteral)
  }

  override def prettyName: String = "decode"
  override protected def withNewChildInternal(newChild: Expression): Expression = copy(child = newChild)
}

/** The value of any expression as a record; if it throws, or gives null, the reason. */
case class Attempt(child: Expression, reason: String) extends UnaryExpression with Outcome {
  override def record: DataType = child.dataType

  override def eval(input: InternalRow): Any =
    try Outcomes(child.eval(input), reason) catch { case NonFatal(_) => Outcomes(null, reason) }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val input = child.genCode(ctx)
    val outcome = Outcomes.getClass.getName.stripSuffix("$")
    val failure = "\"" + reason + "\""
    ev.copy(code = code"""
      |InternalRow ${ev.value};
      |try {
      |  ${input.code}
      |  ${ev.value} = $outcome.apply(${input.isNull} ? null : ${input.value}, $failure);
      |} catch (Exception e) {
      |  ${ev.value} = $outcome.apply(null, $failure);
      |}""".stripMargin, isNull = FalseLiteral)
  }

  override protected def withNewChildInternal(newChild: Expression): Expression = copy(child = newChild)
}

/** An expression that gives `struct<record, reason>`, of which exactly one is null. */
trait Outcome extends Expression {
  def record: DataType

  override def dataType: DataType = StructType(Seq(StructField("record", record), StructField("reason", StringType)))
  override def nullable: Boolean = false
  override def foldable: Boolean = false
  // A filter on the reason must not be moved below this: records would be decoded once to be judged and once to be used.
  override def expensive: Boolean = true
  // Copied before it is interpreted, so that no two threads share one.
  override def stateful: Boolean = true
}

object Outcomes {
  def good(record: Any): InternalRow = new GenericInternalRow(Array[Any](record, null))
  def bad(reason: UTF8String): InternalRow = new GenericInternalRow(Array[Any](null, reason))
  def apply(record: Any, reason: String): InternalRow = if (record == null) bad(UTF8String.fromString(reason)) else good(record)
}

/** What to decode: immutable, and sent with the plan. */
sealed trait RecordFormat extends Serializable {
  def schema: StructType
  /** The forms of the times that declare one, by their path (`DeclaredTimes`). */
  def times: Map[String, String]
  def decoder(): RecordDecoder
}

/** Used by one thread. */
trait RecordDecoder {
  /** `struct<record, reason>`; null bytes are a bad record too. */
  def decode(bytes: Array[Byte]): InternalRow
}

/** A JSON object. With a `tag`, the value of that field says which of `kinds` it is, and thereby which fields it must have. */
case class JsonFormat(schema: StructType, tag: Option[String], kinds: Seq[(String, StructType)], times: Map[String, String])
    extends RecordFormat {
  override def decoder(): RecordDecoder = new RecordDecoder {
    private val fields = new RecordFields(schema, times)
    private val tagged = tag.map(schema.fieldIndex).getOrElse(-1)
    private val tags = kinds.map(k => UTF8String.fromString(k._1)).toArray
    private val rules = kinds.map(k => fields.rules(k._2)).toArray
    private val strangers = rules.map(r => schema.indices.filterNot(i => r.fields.contains(i)).toArray)
    private val notJson = UTF8String.fromString("not_json")
    private val unknown = UTF8String.fromString(s"unknown_${tag.orNull}")
    private val json = new JsonCursor

    override def decode(bytes: Array[Byte]): InternalRow = {
      val record = read(bytes)
      if (record == null) return Outcomes.bad(notJson)
      val kind = if (tagged < 0) -1 else kindOf(record)
      if (tagged >= 0 && kind < 0) return Outcomes.bad(unknown)
      val reason = fields.verdict(if (kind < 0) fields.all else rules(kind))
      if (reason != null) return Outcomes.bad(reason)
      if (kind >= 0) strangers(kind).foreach(record.setNullAt)
      Outcomes.good(record)
    }

    private def read(bytes: Array[Byte]): DecodedRecord =
      if (bytes == null) null
      else try {
        json.open(bytes)
        if (json.peek() != '{') json.fail()
        val record = fields.read(json)
        json.finish()
        record
      } catch { case NotJson => null }

    private def kindOf(record: DecodedRecord): Int = if (fields.wasRead(tagged)) tags.indexOf(record.getUTF8String(tagged)) else -1
  }
}

/** One line of CSV, its cells in the order of the fields. */
case class CsvFormat(schema: StructType, separator: Char, times: Map[String, String]) extends RecordFormat {
  override def decoder(): RecordDecoder = new RecordDecoder {
    private val line = new CsvLine(schema, separator.toByte, times)
    private val notCsv = UTF8String.fromString("not_csv")

    override def decode(bytes: Array[Byte]): InternalRow = {
      val record = if (bytes == null) null else line.read(bytes)
      val reason = if (record == null) notCsv else line.verdict()
      if (reason == null) Outcomes.good(record) else Outcomes.bad(reason)
    }
  }
}

/** What Python calls. Schemas come as Spark's JSON. */
object Decoding {
  private type Texts = java.util.Map[String, String]

  def json(column: Column, schema: String, times: Texts): Column = make(column, JsonFormat(struct(schema), None, Nil, forms(times)))

  def tagged(column: Column, schema: String, tag: String, kinds: Texts, times: Texts): Column = {
    val structs = kinds.asScala.toSeq.map { case (name, fields) => name -> struct(fields) }
    make(column, JsonFormat(struct(schema), Some(tag), structs, forms(times)))
  }

  def csv(column: Column, schema: String, separator: String, times: Texts): Column =
    make(column, CsvFormat(struct(schema), separator.head, forms(times)))

  def timeFault(pattern: String): String = DeclaredTimes.fault(pattern)

  def soundAvro(column: Column, schema: String): Column = ExpressionUtils.column(SoundAvro(ExpressionUtils.expression(column), schema))

  def attempt(column: Column, reason: String): Column = ExpressionUtils.column(Attempt(ExpressionUtils.expression(column), reason))

  private def make(column: Column, format: RecordFormat): Column = ExpressionUtils.column(Decode(ExpressionUtils.expression(column), format))

  private def forms(times: Texts): Map[String, String] = times.asScala.toMap

  private def struct(json: String): StructType = DataType.fromJson(json).asInstanceOf[StructType]
}
