package org.apache.spark.sql.headrace

import java.util.Arrays

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, GenericInternalRow, UnsafeProjection, UnsafeRow, XxHash64Function}
import org.apache.spark.sql.catalyst.util.{ArrayData, GenericArrayData}
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.{DriverStatefulProcessorHandleImpl, StatefulProcessorHandleImpl}
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.streaming.StatefulProcessorHandle
import org.apache.spark.sql.types._

/** A map of a key, from bytes to bytes, in Spark's own state store: an entry is read, written and removed without a look at the others, and so
  * are those between two of its keys.
  *
  * Spark can order a store by columns of a fixed size only. So an entry lies under the hash of the scan's key and the first sixteen bytes of
  * its own; whole keys follow, and tell those apart that are equal so far. */
private[headrace] final class EntryMap(store: StateStore, name: String, keys: StructType) {
  import EntryMap._

  private val keySchema = EntryMap.keySchema(keys)
  store.createColFamilyIfAbsent(name, keySchema, values, RangeKeyScanStateEncoderSpec(keySchema, Places))

  private val place = new GenericInternalRow(keySchema.size)
  private val toKey = UnsafeProjection.create(keySchema)
  private val toValue = UnsafeProjection.create(values)
  private val last = keySchema.size - 1
  private var hash = 0L

  /** What follows is about this key. */
  def open(key: InternalRow): Unit = {
    hash = XxHash64Function.hash(key, keys, 42L, false, false)
    keys.indices.foreach(i => place.update(Places.size + i, if (key.isNullAt(i)) null else key.get(i, keys(i).dataType)))
  }

  def get(key: Array[Byte]): Array[Byte] = {
    val row = store.get(at(key), name)
    if (row == null) null else row.getBinary(0)
  }

  def put(key: Array[Byte], value: Array[Byte]): Unit =
    if (value == null) store.remove(at(key), name) else store.put(at(key), toValue(InternalRow(value)), name)

  /** The entries from one key (included) to another (excluded), null being open; of those with the same first bytes, in any order. */
  def between(from: Array[Byte], to: Array[Byte]): Seq[InternalRow] = {
    val rows = ArrayBuffer.empty[InternalRow]
    val ours = scanKey(at(Array.emptyByteArray)).copy()
    val pairs = OrderedRows.unheard(store.rangeScan(Some(startAt(if (from == null) Array.emptyByteArray else from)), None, name))
    try {
      var on = true
      while (on && pairs.hasNext) {
        val pair = pairs.next()
        val key = pair.key.getBinary(last)
        on = pair.key.getLong(0) == hash && (to == null || !beyond(pair.key, to))
        if (on && (from == null || Arrays.compareUnsigned(key, from) >= 0) && (to == null || Arrays.compareUnsigned(key, to) < 0) && scanKey(pair.key) == ours)
          rows += InternalRow(key, pair.value.getBinary(0))
      }
    } finally pairs.close()
    rows.toSeq
  }

  def empty(): Unit = between(null, null).foreach(entry => put(entry.getBinary(0), null))

  /** All entries of an array of (key, value). */
  def putAll(entries: ArrayData): Unit =
    for (i <- 0 until entries.numElements()) { val entry = entries.getStruct(i, 2); put(entry.getBinary(0), entry.getBinary(1)) }

  private def at(key: Array[Byte]): UnsafeRow = row(key, key)

  /** Before all entries whose first bytes are these. */
  private def startAt(key: Array[Byte]): UnsafeRow = row(key, Array.emptyByteArray)

  private def row(first: Array[Byte], whole: Array[Byte]): UnsafeRow = {
    place.update(0, hash)
    place.update(1, part(first, 0))
    place.update(2, part(first, 8))
    place.update(last, whole)
    toKey(place)
  }

  private def beyond(row: UnsafeRow, to: Array[Byte]): Boolean = {
    val (first, second) = (row.getLong(1), row.getLong(2))
    first > part(to, 0) || first == part(to, 0) && second > part(to, 8)
  }

  /** The key of the scan that an entry is of: another one may have the same hash. */
  private val scanKey = UnsafeProjection.create(keys.indices.map(i => BoundReference(Places.size + i, keys(i).dataType, nullable = true)))
}

private[headrace] object EntryMap {
  /** An entry, as it is asked for and told. */
  val entry: StructType = StructType(Seq(StructField("key", BinaryType), StructField("value", BinaryType)))

  private val Places = Seq(0, 1, 2)
  private val values = StructType(Seq(StructField("value", BinaryType)))

  /** The maps of the key at hand, which a Python function may ask while it is called: it is called by this thread. */
  val atHand = new ThreadLocal[Array[EntryMap]]

  /** On the driver Spark asks which variables there are, and gives no store: then there is nothing to use, either. */
  def apply(handle: StatefulProcessorHandle, name: String, keys: StructType): EntryMap = handle match {
    case driver: DriverStatefulProcessorHandleImpl =>
      val schema = keySchema(keys)
      driver.columnFamilySchemas.put(name, StateStoreColFamilySchema(name, 0, schema, 0, values, Some(RangeKeyScanStateEncoderSpec(schema, Places))))
      null
    case task: StatefulProcessorHandleImpl => new EntryMap(Handles.store(task), name, keys)
  }

  private def keySchema(keys: StructType): StructType = StructType(
    Seq("_hash", "_first", "_second").map(StructField(_, LongType, nullable = false)) ++ keys.asNullable :+ StructField("_entry", BinaryType))

  /** Eight bytes from a place on, zeros behind the end, as a number that is ordered as they are. */
  private def part(key: Array[Byte], from: Int): Long =
    (from until from + 8).foldLeft(0L)((sum, i) => sum << 8 | (if (i < key.length) key(i) & 0xffL else 0L)) ^ Long.MinValue

  /** What a Python function asks of a map: one key, or those between two. */
  private[headrace] val question: StructType = StructType(Seq(
    StructField("map", IntegerType), StructField("several", BooleanType), StructField("from", BinaryType), StructField("to", BinaryType)))

  private[headrace] val reply: StructType = StructType(Seq(StructField("entries", ArrayType(entry))))

  private[headrace] def answer(question: InternalRow): InternalRow = {
    val map = atHand.get()(question.getInt(0))
    def bytes(i: Int): Array[Byte] = if (question.isNullAt(i)) null else question.getBinary(i)
    val entries = if (question.getBoolean(1)) map.between(bytes(2), bytes(3))
      else Option(map.get(bytes(2))).map(value => InternalRow(bytes(2), value)).toSeq
    InternalRow(new GenericArrayData(entries.toArray[Any]))
  }
}
