package org.apache.spark.sql.headrace

import java.util.{Arrays, Base64}

import org.apache.spark.sql.catalyst.expressions.BaseGenericInternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** A decoded record. Numbers, times and booleans live unboxed in `bits`; `values(i)` is then anything but null, and any other value itself. */
private[headrace] final class DecodedRecord(types: Array[DataType]) extends BaseGenericInternalRow {
  private val values = new Array[Any](types.length)
  private val bits = new Array[Long](types.length)

  override def numFields: Int = types.length
  override def isNullAt(i: Int): Boolean = values(i) == null
  override def setNullAt(i: Int): Unit = values(i) = null
  override def update(i: Int, value: Any): Unit = values(i) = value

  def setBits(i: Int, value: Long): Unit = { bits(i) = value; values(i) = java.lang.Boolean.TRUE }

  override def getBoolean(i: Int): Boolean = bits(i) != 0
  override def getByte(i: Int): Byte = bits(i).toByte
  override def getShort(i: Int): Short = bits(i).toShort
  override def getInt(i: Int): Int = bits(i).toInt
  override def getLong(i: Int): Long = bits(i)
  override def getFloat(i: Int): Float = java.lang.Float.intBitsToFloat(bits(i).toInt)
  override def getDouble(i: Int): Double = java.lang.Double.longBitsToDouble(bits(i))
  override def getUTF8String(i: Int): UTF8String = values(i).asInstanceOf[UTF8String]
  override def get(i: Int, dataType: DataType): AnyRef = genericGet(i).asInstanceOf[AnyRef]

  override protected def genericGet(i: Int): Any =
    if (isNullAt(i)) null
    else types(i) match {
      case BooleanType => getBoolean(i)
      case ByteType => getByte(i)
      case ShortType => getShort(i)
      case IntegerType | DateType => getInt(i)
      case LongType | TimestampType | TimestampNTZType => getLong(i)
      case FloatType => getFloat(i)
      case DoubleType => getDouble(i)
      case _ => values(i)
    }
}

/** What came of reading a field. */
private[headrace] object Status {
  /** Not there, or null. */
  final val Absent = 0
  final val Read = 1
  /** An empty string: missing where a value is required; else a value of a string or binary field, and of the wrong type for any other. */
  final val Empty = 2
  final val WrongType = 3
  /** A nested record that has bad fields itself; the reader knows which. */
  final val Inside = 4
}

/** Reads one value of one type into a field of a record. Not shared between threads. */
private[headrace] abstract class ValueReader {
  import Status._

  /** Reads a JSON string. */
  def fromString(text: Array[Byte], from: Int, to: Int, into: DecodedRecord, i: Int): Int = WrongType

  /** Reads any other JSON value but null; the cursor stands on its first byte, and passes it. */
  def fromOther(json: JsonCursor, first: Byte, into: DecodedRecord, i: Int): Int = { json.skip(); WrongType }

  /** Reads a cell of a table, where all values are text. */
  def fromCell(text: Array[Byte], from: Int, to: Int, into: DecodedRecord, i: Int): Int = fromString(text, from, to, into, i)

  /** Reads a JSON value. */
  final def read(json: JsonCursor, into: DecodedRecord, i: Int): Int = {
    val first = json.peek()
    if (first == '"') {
      json.readString()
      if (json.halved) WrongType
      else {
        val status = fromString(json.text, json.from, json.to, into, i)
        if (json.from == json.to) Empty else status
      }
    } else if (first == 'n') {
      json.literal(JsonCursor.Null)
      into.setNullAt(i)
      Absent
    } else fromOther(json, first, into, i)
  }
}

private[headrace] object ValueReader {
  import Status._

  /** Whether an empty string is a value of the type. */
  def mayBeEmpty(dataType: DataType): Boolean = dataType.isInstanceOf[StringType] || dataType == BinaryType

  /** `times` are the forms of those times, by their path, that are not written as ISO 8601 has it. */
  def of(dataType: DataType, path: String, times: Map[String, String]): ValueReader = dataType match {
    case _: StringType => Text
    case BooleanType => Bool
    case ByteType => new Whole(Byte.MinValue, Byte.MaxValue)
    case ShortType => new Whole(Short.MinValue, Short.MaxValue)
    case IntegerType => new Whole(Int.MinValue, Int.MaxValue)
    case LongType => new Whole(Long.MinValue, Long.MaxValue)
    case FloatType => new Single
    case DoubleType => new Twofold
    case d: DecimalType => new Exact(d)
    case DateType | TimestampType | TimestampNTZType if times.contains(path) => DeclaredTimes.reader(times(path), dataType)
    case DateType => Date
    case TimestampType | TimestampNTZType => Timestamp
    case BinaryType => Base
    case a: ArrayType => new ElementsReader(a, path, times)
    case m: MapType => new EntriesReader(m, path, times)
    case s: StructType => new MembersReader(new RecordFields(s, times, s"$path."))
    case other => throw new IllegalArgumentException(s"$path: ${other.sql} cannot be decoded")
  }

  private object Text extends ValueReader {
    override def fromString(text: Array[Byte], from: Int, to: Int, into: DecodedRecord, i: Int): Int = {
      into(i) = UTF8String.fromBytes(text, from, to - from)
      Read
    }
  }

  private object Bool extends ValueReader {
    override def fromOther(json: JsonCursor, first: Byte, into: DecodedRecord, i: Int): Int = first match {
      case 't' => json.literal(JsonCursor.True); into.setBits(i, 1); Read
      case 'f' => json.literal(JsonCursor.False); into.setBits(i, 0); Read
      case _ => super.fromOther(json, first, into, i)
    }
    override def fromCell(text: Array[Byte], from: Int, to: Int, into: DecodedRecord, i: Int): Int = {
      val yes = Arrays.equals(text, from, to, JsonCursor.True, 0, 4)
      if (yes || Arrays.equals(text, from, to, JsonCursor.False, 0, 5)) { into.setBits(i, if (yes) 1 else 0); Read } else WrongType
    }
  }

  private[headrace] abstract class Numeric extends ValueReader {
    private val cell = new NumberText

    /** Whether the number is one of the type; it is then in the record. */
    protected def take(number: NumberText, into: DecodedRecord, i: Int): Boolean

    override final def fromOther(json: JsonCursor, first: Byte, into: DecodedRecord, i: Int): Int =
      if (first == 't' || first == 'f' || first == '{' || first == '[') super.fromOther(json, first, into, i)
      else {
        json.readNumber()
        if (take(json.number, into, i)) Read else WrongType
      }
    override final def fromCell(text: Array[Byte], from: Int, to: Int, into: DecodedRecord, i: Int): Int =
      if (cell.scan(text, from, to) == to && take(cell, into, i)) Read else WrongType
  }

  private final class Whole(least: Long, most: Long) extends Numeric {
    override protected def take(number: NumberText, into: DecodedRecord, i: Int): Boolean = {
      val fits = number.isLong(least, most)
      if (fits) into.setBits(i, number.long)
      fits
    }
  }

  private final class Single extends Numeric {
    override protected def take(number: NumberText, into: DecodedRecord, i: Int): Boolean = {
      val value = number.float
      into.setBits(i, java.lang.Float.floatToRawIntBits(value))
      java.lang.Float.isFinite(value)
    }
  }

  private final class Twofold extends Numeric {
    override protected def take(number: NumberText, into: DecodedRecord, i: Int): Boolean = {
      val value = number.double
      into.setBits(i, java.lang.Double.doubleToRawLongBits(value))
      java.lang.Double.isFinite(value)
    }
  }

  private final class Exact(of: DecimalType) extends Numeric {
    override protected def take(number: NumberText, into: DecodedRecord, i: Int): Boolean = {
      val value = number.decimal(of.precision, of.scale)
      into(i) = value
      value != null
    }
  }

  private object Date extends ValueReader {
    override def fromString(text: Array[Byte], from: Int, to: Int, into: DecodedRecord, i: Int): Int = {
      val day = TimeText.date(text, from, to)
      into.setBits(i, day)
      if (day == TimeText.Refused) WrongType else Read
    }
  }

  private object Timestamp extends ValueReader {
    override def fromString(text: Array[Byte], from: Int, to: Int, into: DecodedRecord, i: Int): Int = {
      val instant = TimeText.timestamp(text, from, to)
      into.setBits(i, instant)
      if (instant == TimeText.Refused) WrongType else Read
    }
  }

  /** Bytes, as base64. */
  private object Base extends ValueReader {
    override def fromString(text: Array[Byte], from: Int, to: Int, into: DecodedRecord, i: Int): Int =
      try {
        into(i) = Base64.getDecoder.decode(Arrays.copyOfRange(text, from, to))
        Read
      } catch { case _: IllegalArgumentException => WrongType }
  }
}
