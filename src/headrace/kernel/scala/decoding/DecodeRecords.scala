package org.apache.spark.sql.headrace

import java.nio.charset.StandardCharsets.UTF_8
import java.util.{ArrayList, Arrays, LinkedHashMap}

import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * The fields of a record: their names, how to read each, and the verdict on what was read. Required are the fields that cannot be null.
 * Not shared between threads.
 */
private[headrace] final class RecordFields(schema: StructType, times: Map[String, String], path: String = "") {
  import Status._

  private val size = schema.size
  private val types = schema.fields.map(_.dataType)
  private val readers = schema.fields.map(f => ValueReader.of(f.dataType, path + f.name, times))
  private val names = new FieldNames(schema.fieldNames)
  private val ifMissing = schema.fieldNames.map(n => UTF8String.fromString(s"missing:$path$n"))
  private val ifBad = schema.fieldNames.map(n => UTF8String.fromString(s"bad_type:$path$n"))
  private val status = new Array[Int](size)

  /** The fields that a record must answer for, in the order in which they are looked at. */
  val all: FieldRules = new FieldRules(schema.fields.indices.toArray, schema.fields.map(!_.nullable))

  def rules(part: StructType): FieldRules = new FieldRules(part.fieldNames.map(schema.fieldIndex), part.fields.map(!_.nullable))

  /** A record for `read` or `readCell` to fill. */
  def fresh(): DecodedRecord = {
    Arrays.fill(status, Absent)
    new DecodedRecord(types)
  }

  /** Reads a JSON object. A name that occurs twice counts the last time; names that are no field's are passed over. */
  def read(json: JsonCursor): DecodedRecord = {
    val record = fresh()
    var guess = 0
    if (json.enter('}')) do {
      val i = names.next(json, guess)
      if (i < 0) json.skip()
      else {
        status(i) = readers(i).read(json, record, i)
        guess = i + 1
      }
    } while (json.more('}'))
    record
  }

  /** Reads field `i` from a cell of a table. */
  def readCell(text: Array[Byte], from: Int, to: Int, record: DecodedRecord, i: Int): Unit = status(i) = {
    val read = readers(i).fromCell(text, from, to, record, i)
    if (from == to) Empty else read
  }

  def wasRead(i: Int): Boolean = status(i) == Read

  /** The first required field that is not there, as a reason, or null. */
  def missing(rules: FieldRules): UTF8String = {
    var k = 0
    while (k < rules.fields.length) {
      val i = rules.fields(k)
      if (status(i) != Read) {
        if (rules.required(k) && (status(i) == Absent || status(i) == Empty)) return ifMissing(i)
        if (status(i) == Inside) { val reason = inner(i).missing(inner(i).all); if (reason != null) return reason }
      }
      k += 1
    }
    null
  }

  /** The first field that is of the wrong type, as a reason, or null. */
  def bad(rules: FieldRules): UTF8String = {
    var k = 0
    while (k < rules.fields.length) {
      val i = rules.fields(k)
      if (status(i) == WrongType || (status(i) == Empty && !ValueReader.mayBeEmpty(types(i)))) return ifBad(i)
      if (status(i) == Inside) { val reason = inner(i).bad(inner(i).all); if (reason != null) return reason }
      k += 1
    }
    null
  }

  /** Why this record is refused, or null: what is missing goes before what is of the wrong type. */
  def verdict(rules: FieldRules): UTF8String =
    if (allRead(rules)) null
    else {
      val reason = missing(rules)
      if (reason == null) bad(rules) else reason
    }

  private def allRead(rules: FieldRules): Boolean = {
    var k = 0
    while (k < rules.fields.length && status(rules.fields(k)) == Read) k += 1
    k == rules.fields.length
  }

  private def inner(i: Int): RecordFields = readers(i).asInstanceOf[MembersReader].fields
}

/** Which fields a record answers for, and which of them must be there. */
private[headrace] final class FieldRules(val fields: Array[Int], val required: Array[Boolean])

/** Finds a field by its name. Most records have the same fields in the same order, and the same white space around them: so what stood before
  * the value of the next field last time is tried first, as a whole. */
private[headrace] final class FieldNames(fields: Array[String]) {
  private val names = fields.map(_.getBytes(UTF_8))
  private val leads = new Array[Array[Byte]](names.length)
  private val table = {
    val slots = Array.fill(Integer.highestOneBit(names.length) * 4)(-1)
    for (i <- names.indices) {
      var slot = hash(names(i), 0, names(i).length) & slots.length - 1
      while (slots(slot) >= 0) slot = slot + 1 & slots.length - 1
      slots(slot) = i
    }
    slots
  }

  /** The field whose name comes next, or -1 if it is none of these; the name is passed, and all up to its value. */
  def next(json: JsonCursor, guess: Int): Int =
    if (guess < names.length && leads(guess) != null && json.passes(leads(guess))) guess
    else {
      val start = json.place
      if (json.peek() != '"') json.fail()
      json.readString()
      val field = if (json.halved) -1 else find(json.text, json.from, json.to)
      json.expect(':')
      json.peek()
      if (field >= 0 && field == guess && json.place - start < names(field).length + FieldNames.Spare) leads(field) = json.since(start)
      field
    }

  private def find(text: Array[Byte], from: Int, to: Int): Int = {
    var slot = hash(text, from, to) & table.length - 1
    while (table(slot) >= 0) {
      val name = names(table(slot))
      if (Arrays.equals(text, from, to, name, 0, name.length)) return table(slot)
      slot = slot + 1 & table.length - 1
    }
    -1
  }

  private def hash(text: Array[Byte], from: Int, to: Int): Int = {
    var h = 0
    var i = from
    while (i < to) { h = h * 31 + text(i); i += 1 }
    h
  }
}

private object FieldNames {
  /** Quotes, colon and some white space: what is longer is not kept. */
  private val Spare = 16
}

/** A nested record. */
private[headrace] final class MembersReader(val fields: RecordFields) extends ValueReader {
  override def fromOther(json: JsonCursor, first: Byte, into: DecodedRecord, i: Int): Int =
    if (first != '{') super.fromOther(json, first, into, i)
    else {
      into(i) = fields.read(json)
      if (fields.verdict(fields.all) == null) Status.Read else Status.Inside
    }
}

/** Reads values that are no fields themselves. What is wrong with one is wrong with the array or map that holds it. */
private[headrace] final class ItemReader(dataType: DataType, nulls: Boolean, path: String, times: Map[String, String]) {
  import Status._

  private val reader = ValueReader.of(dataType, path, times)
  private val slot = new DecodedRecord(Array(dataType))

  /** Whether a value of the type was read, or null where that may be; `value` is then it. */
  def read(json: JsonCursor): Boolean = reader.read(json, slot, 0) match {
    case Read => true
    case Absent => nulls
    case Empty => ValueReader.mayBeEmpty(dataType)
    case _ => false
  }

  def value: AnyRef = slot.get(0, dataType)
}

private[headrace] final class ElementsReader(of: ArrayType, path: String, times: Map[String, String]) extends ValueReader {
  private val item = new ItemReader(of.elementType, of.containsNull, path, times)

  override def fromOther(json: JsonCursor, first: Byte, into: DecodedRecord, i: Int): Int =
    if (first != '[') super.fromOther(json, first, into, i)
    else {
      val items = new ArrayList[Any]
      var good = true
      if (json.enter(']')) do { good &= item.read(json); items.add(item.value) } while (json.more(']'))
      into(i) = new GenericArrayData(items.toArray.asInstanceOf[Array[Any]])
      if (good) Status.Read else Status.WrongType
    }
}

/** A map from strings. A key that occurs twice counts the last time. */
private[headrace] final class EntriesReader(of: MapType, path: String, times: Map[String, String]) extends ValueReader {
  private val item = new ItemReader(of.valueType, of.valueContainsNull, path, times)

  override def fromOther(json: JsonCursor, first: Byte, into: DecodedRecord, i: Int): Int =
    if (first != '{') super.fromOther(json, first, into, i)
    else {
      val entries = new LinkedHashMap[UTF8String, Any]
      var halved = false
      if (json.enter('}')) do {
        if (json.peek() != '"') json.fail()
        json.readString()
        halved |= json.halved
        val key = UTF8String.fromBytes(json.text, json.from, json.to - json.from)
        json.expect(':')
        entries.put(key, if (item.read(json)) item.value else this) // stands for a value of the wrong type
      } while (json.more('}'))
      into(i) = new ArrayBasedMapData(
        new GenericArrayData(entries.keySet.toArray.asInstanceOf[Array[Any]]), new GenericArrayData(entries.values.toArray.asInstanceOf[Array[Any]]))
      if (halved || entries.containsValue(this)) Status.WrongType else Status.Read
    }
}
