package org.apache.spark.sql.headrace

import java.nio.{ByteBuffer, ByteOrder}
import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, SpecializedGetters}
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Spark's values in the format of Python's `marshal`, version 2 (which has no references): in Python one call in C makes the objects, and
  * one writes them. Structs are tuples, arrays lists, maps lists of pairs, decimals text; dates and timestamps are numbers, as Spark has them.
  * The Python side makes of these what PySpark would. */
private[headrace] object Marshal {
  type Put = (InternalRow, Output) => Unit
  type Take = ByteBuffer => Any
  private type PutAt = (SpecializedGetters, Int, Output) => Unit

  private val Kinds = Map(
    'N' -> "None", 'T' -> "a bool", 'F' -> "a bool", 'i' -> "an int", 'l' -> "an int of too many digits", 'g' -> "a float", 'u' -> "a str", 's' -> "bytes",
    '(' -> "a tuple", '[' -> "a list", '{' -> "a dict")

  final class Output {
    private var buffer = ByteBuffer.allocateDirect(1 << 12).order(ByteOrder.LITTLE_ENDIAN)
    def clear(): Unit = buffer.clear().position(4)
    def tag(tag: Char, more: Int = 0): ByteBuffer = {
      if (buffer.remaining <= more) buffer = ByteBuffer.allocateDirect(Integer.highestOneBit(buffer.position() + more) << 2)
        .order(ByteOrder.LITTLE_ENDIAN).put(buffer.flip())
      buffer.put(tag.toByte)
    }
    def bytes(kind: Char, b: Array[Byte]): Unit = tag(kind, 4 + b.length).putInt(b.length).put(b)
    /** All that was put since `clear`, behind its length. That is in network order, as PySpark's special lengths are. */
    def frame(): ByteBuffer = { buffer.putInt(0, Integer.reverseBytes(buffer.position() - 4)); buffer.flip() }
  }

  def writer(row: StructType): Put = { val tuple = fields(row); (values, out) => tuple(values, out) }

  private def fields(row: StructType): (SpecializedGetters, Output) => Unit = {
    val each = row.map(f => orNull(put(f.dataType))).toArray
    (values, out) => { out.tag('(', 4).putInt(each.length); var i = 0; while (i < each.length) { each(i)(values, i, out); i += 1 } }
  }

  private def orNull(inner: PutAt): PutAt = (values, i, out) => if (values.isNullAt(i)) out.tag('N') else inner(values, i, out)

  private def put(dataType: DataType): PutAt = dataType match {
    case BooleanType => (v, i, out) => out.tag(if (v.getBoolean(i)) 'T' else 'F')
    case ByteType => (v, i, out) => out.tag('i', 4).putInt(v.getByte(i).toInt)
    case ShortType => (v, i, out) => out.tag('i', 4).putInt(v.getShort(i).toInt)
    case IntegerType | DateType => (v, i, out) => out.tag('i', 4).putInt(v.getInt(i))
    case FloatType => (v, i, out) => out.tag('g', 8).putDouble(v.getFloat(i).toDouble)
    case d: DecimalType => (v, i, out) => out.bytes('u', v.getDecimal(i, d.precision, d.scale).toString.getBytes(UTF_8))
    case LongType | TimestampType | TimestampNTZType => (v, i, out) => whole(v.getLong(i), out)
    case DoubleType => (v, i, out) => out.tag('g', 8).putDouble(v.getDouble(i))
    case _: StringType => (v, i, out) => out.bytes('u', v.getUTF8String(i).getBytes)
    case BinaryType => (v, i, out) => out.bytes('s', v.getBinary(i))
    case struct: StructType => val tuple = fields(struct); (v, i, out) => tuple(v.getStruct(i, struct.size), out)
    case ArrayType(inner, _) =>
      val element = orNull(put(inner))
      (v, i, out) => { val array = v.getArray(i); out.tag('[', 4).putInt(array.numElements()); for (j <- 0 until array.numElements()) element(array, j, out) }
    case MapType(key, value, _) =>
      val (keys, values) = (orNull(put(key)), orNull(put(value)))
      (v, i, out) => {
        val map = v.getMap(i)
        out.tag('[', 4).putInt(map.numElements())
        for (j <- 0 until map.numElements()) { out.tag('(', 4).putInt(2); keys(map.keyArray(), j, out); values(map.valueArray(), j, out) }
      }
    case other => throw new BadDefinition("record", s"a value of type ${other.sql} cannot be sent to Python")
  }

  /** Numbers beyond 32 bits are digits of 15 bits, the lowest first, behind their count, which has the sign. */
  private def whole(n: Long, out: Output): Unit = if (n == n.toInt) out.tag('i', 4).putInt(n.toInt) else {
    val digits = Iterator.iterate(Math.abs(n))(_ >>> 15).takeWhile(_ != 0).size // the smallest long has no opposite, but these bits are right
    val buffer = out.tag('l', 4 + 2 * digits).putInt(if (n < 0) -digits else digits)
    for (i <- 0 until digits) buffer.putShort((Math.abs(n) >>> (15 * i) & 0x7fff).toShort)
  }

  def reader(at: String, dataType: DataType): Take = { val take = taken(at, dataType); in => { val tag = in.get(); if (tag == 'N') null else take(in, tag) } }

  private def taken(at: String, dataType: DataType): (ByteBuffer, Byte) => Any = {
    def wrong(tag: Byte) = throw new IllegalArgumentException(s"$at is ${Kinds.getOrElse(tag.toChar, "of another kind")}, but ${dataType.sql} is needed")
    def number(in: ByteBuffer, tag: Byte): Long = if (tag == 'i') in.getInt() else if (tag != 'l') wrong(tag) else {
      val digits = in.getInt()
      val count = Math.abs(digits)
      if (count > 5 || count == 5 && in.getShort(in.position() + 8) > 8) wrong(tag) // beyond 64 bits
      val n = (0 until count).foldLeft(0L)((sum, i) => sum | (in.getShort() & 0x7fffL) << (15 * i))
      if (n < 0 && (digits > 0 || n != Long.MinValue)) wrong(tag) else if (digits < 0) -n else n
    }
    def bytes(in: ByteBuffer): Array[Byte] = { val content = new Array[Byte](in.getInt()); in.get(content); content }
    dataType match {
      case BooleanType => (_, tag) => if (tag == 'T') true else if (tag == 'F') false else wrong(tag)
      case ByteType => (in, tag) => { val n = number(in, tag); if (n == n.toByte) n.toByte else wrong(tag) }
      case ShortType => (in, tag) => { val n = number(in, tag); if (n == n.toShort) n.toShort else wrong(tag) }
      case IntegerType | DateType => (in, tag) => { val n = number(in, tag); if (n == n.toInt) n.toInt else wrong(tag) }
      case FloatType => (in, tag) => if (tag == 'g') in.getDouble().toFloat else number(in, tag).toFloat
      case d: DecimalType => (in, tag) => if (tag != 'u') wrong(tag) else {
        val decimal = Decimal(new java.math.BigDecimal(new String(bytes(in), UTF_8)))
        if (decimal.changePrecision(d.precision, d.scale)) decimal else throw new IllegalArgumentException(s"$at is $decimal, which does not fit ${d.sql}")
      }
      case LongType | TimestampType | TimestampNTZType => (in, tag) => number(in, tag)
      case DoubleType => (in, tag) => if (tag == 'g') in.getDouble() else number(in, tag).toDouble
      case _: StringType => (in, tag) => if (tag == 'u') UTF8String.fromBytes(bytes(in)) else wrong(tag)
      case BinaryType => (in, tag) => if (tag == 's') bytes(in) else wrong(tag)
      case struct: StructType =>
        val each = struct.map(f => reader(s"$at.${f.name}", f.dataType)).toArray
        (in, tag) => if (tag != '(' || in.getInt() != each.length) wrong(tag) else new GenericInternalRow(each.map(_(in)))
      case ArrayType(inner, _) =>
        val element = reader(s"$at[]", inner)
        (in, tag) => if (tag != '[' && tag != '(') wrong(tag) else new GenericArrayData(Array.fill[Any](in.getInt())(element(in)))
      case MapType(key, value, _) =>
        val (keys, values) = (reader(s"$at key", key), reader(s"$at value", value))
        (in, tag) => if (tag != '[') wrong(tag) else {
          val pairs = Array.fill(in.getInt()) { in.get(); in.getInt(); (keys(in), values(in)) }
          new ArrayBasedMapData(new GenericArrayData(pairs.map(_._1)), new GenericArrayData(pairs.map(_._2)))
        }
      case other => throw new BadDefinition("output", s"a value of type ${other.sql} cannot come from Python")
    }
  }
}
