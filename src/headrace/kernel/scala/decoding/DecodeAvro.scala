package org.apache.spark.sql.headrace

import scala.util.control.NoStackTrace

import org.apache.avro.Schema
import org.apache.avro.Schema.Type
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.types.{BinaryType, DataType}
import org.apache.spark.unsafe.types.UTF8String

/**
 * The bytes as they are if they are one datum of the Avro schema and nothing else, or null. Avro's own reader believes every length that it
 * reads: eight bytes that claim a string of two gigabytes end the process. So the bytes are walked first, and nothing is made of them.
 */
case class SoundAvro(child: Expression, schema: String) extends UnaryExpression {
  override def dataType: DataType = BinaryType
  override def nullable: Boolean = true
  override def stateful: Boolean = true

  @transient private lazy val walk = new AvroWalk(schema)

  override protected def nullSafeEval(bytes: Any): Any = walk.orNull(bytes.asInstanceOf[Array[Byte]])

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val text = ctx.addReferenceObj("schema", schema)
    val name = classOf[AvroWalk].getName
    val walk = ctx.addMutableState(name, "walk", field => s"$field = new $name($text);", forceInline = true)
    nullSafeCodeGen(ctx, ev, bytes => s"${ev.value} = $walk.orNull($bytes); ${ev.isNull} = ${ev.value} == null;")
  }

  override protected def withNewChildInternal(newChild: Expression): Expression = copy(child = newChild)
}

/** Passes over a datum by its schema. Not shared between threads. */
final class AvroWalk(text: String) {
  import AvroWalk._

  private val schema = new Schema.Parser().parse(text)
  private var bytes: Array[Byte] = _
  private var at = 0

  def orNull(datum: Array[Byte]): Array[Byte] = {
    bytes = datum
    at = 0
    try { pass(schema, 0); if (at == datum.length) datum else null } catch { case Unsound => null }
  }

  private def pass(schema: Schema, depth: Int): Unit = {
    if (depth > Deepest) throw Unsound
    schema.getType match {
      case Type.NULL =>
      case Type.BOOLEAN => move(1); if ((bytes(at - 1) & 0xfe) != 0) throw Unsound
      case Type.INT => if ((varint() >>> 32) != 0) throw Unsound
      case Type.LONG => varint()
      case Type.FLOAT => move(4)
      case Type.DOUBLE => move(8)
      case Type.BYTES => move(long())
      case Type.STRING =>
        val size = long()
        move(size)
        if (!UTF8String.fromBytes(bytes, at - size.toInt, size.toInt).isValid) throw Unsound
      case Type.FIXED => move(schema.getFixedSize)
      case Type.ENUM => index(schema.getEnumSymbols.size)
      case Type.UNION => pass(schema.getTypes.get(index(schema.getTypes.size)), depth + 1)
      case Type.RECORD => schema.getFields.forEach(field => pass(field.schema, depth + 1))
      case Type.ARRAY => blocks(() => pass(schema.getElementType, depth + 1))
      case Type.MAP => blocks(() => { pass(Text, depth + 1); pass(schema.getValueType, depth + 1) })
    }
  }

  /** Blocks of items; each says how many it has, or minus that and then its size. */
  private def blocks(item: () => Unit): Unit = {
    var count = long()
    while (count != 0) {
      if (count < 0) {
        count = -count
        varint()
      }
      // Items without bytes, such as nulls, cost their writer nothing, but us memory.
      if (count < 0 || count > bytes.length) throw Unsound
      while (count > 0) { item(); count -= 1 }
      count = long()
    }
  }

  private def move(size: Long): Unit = if (size < 0 || size > bytes.length - at) throw Unsound else at += size.toInt

  private def index(size: Int): Int = {
    val index = long()
    if (index < 0 || index >= size) throw Unsound
    index.toInt
  }

  private def long(): Long = {
    val raw = varint()
    (raw >>> 1) ^ -(raw & 1)
  }

  private def varint(): Long = {
    var value = 0L
    var shift = 0
    while (true) {
      if (at >= bytes.length || shift > 63) throw Unsound
      val b = bytes(at)
      at += 1
      value |= (b & 0x7fL) << shift
      if (b >= 0) return value
      shift += 7
    }
    value
  }
}

private object AvroWalk {
  private object Unsound extends Exception with NoStackTrace
  private val Text = Schema.create(Type.STRING)
  private val Deepest = 1000
}
