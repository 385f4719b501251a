package org.apache.spark.sql.headrace

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types._

/** Which times of the scan a program reads, in this order: the watermark, and that of the clock. */
private[headrace] final case class Times(watermark: Boolean, clock: Boolean) {
  val size: Int = Seq(watermark, clock).count(identity)
}

private[headrace] object Times {
  val none: Times = Times(watermark = false, clock = false)
}

/** The compiled form of a step: three expressions (the new state, what to emit, whether to forget the key), over the state, then the
  * times of the scan and the answer of a call, as far as they are read, and the record behind them, of which only the first columns are known.
  * The `call` is made once, before them. */
private[headrace] final case class Program(expressions: Seq[Expression], explode: Boolean, state: StructType, times: Times, call: Option[Expression]) {
  @transient private lazy val ask: InternalRow => InternalRow = call.get match {
    case pattern: PatternCall => row => pattern.eval(row).asInstanceOf[InternalRow] // new objects, which what follows makes bytes of
    case call: PythonCall =>
      val arguments = UnsafeProjection.create(Seq(call.child))
      row => call.call(arguments(row).getStruct(0, call.arity)).asInstanceOf[InternalRow]
    case other => throw new IllegalStateException(s"a scan cannot call ${other.prettyName}")
  }
  @transient private lazy val extras = new GenericInternalRow(times.size + call.size)
  @transient private lazy val left = new JoinedRow

  /** From now on these are the times that expressions see; the clock's may be null. */
  def setWatermark(micros: Long): Unit = if (times.watermark) extras.update(0, micros)
  def setClock(micros: Any): Unit = if (times.clock) extras.update(times.size - 1, micros)

  private def before(state: InternalRow, record: InternalRow): InternalRow = if (times.size == 0 && call.isEmpty) state else {
    val row = left(state, extras)
    if (call.isDefined) {
      if (maps.nonEmpty) EntryMap.atHand.set(maps)
      val ahead = if (asksAhead && python.owes) python.next() else null
      val result = if (ahead == null) ask(input(row, record)) else ahead
      if (maps.nonEmpty && result != null) change(result.getArray(answerWidth - 1))
      extras.update(extras.numFields - 1, result)
    }
    row
  }

  /** Whether calls for the next records of a key may be made before the first of them is taken. */
  @transient lazy val asksAhead: Boolean = call.exists { case python: PythonCall => python.chains && maps.isEmpty; case _ => false }
  @transient private lazy val python = call.get.asInstanceOf[PythonCall]

  /** These records come next, in this order, the first to this state. */
  def askAhead(state: InternalRow, records: Seq[InternalRow]): Unit = {
    val row = left(state, extras)
    python.ahead(records.iterator.map(input(row, _)), records.size)
  }

  /** The maps that a call may read, and that change by what it gives last: (number of the map, key, value or null). */
  @transient var maps: Array[EntryMap] = Program.noMaps
  @transient private lazy val answerWidth = call.get.dataType.asInstanceOf[StructType].size

  private def change(changes: ArrayData): Unit = for (i <- 0 until changes.numElements()) {
    val entry = changes.getStruct(i, 3)
    maps(entry.getInt(0)).put(entry.getBinary(1), if (entry.isNullAt(2)) null else entry.getBinary(2))
  }

  @transient private lazy val input = new JoinedRow
  @transient private lazy val even, odd = UnsafeProjection.create(expressions)
  @transient private var turn = false

  /** The result lives in a buffer of its projection. There are two that take turns, so that the state it was made from is not
    * written over meanwhile, and no state is copied. */
  def apply(state: InternalRow, record: InternalRow): UnsafeRow = {
    turn = !turn
    val row = before(state, record)
    (if (turn) odd else even)(input(row, record))
  }

  @transient private lazy val evenState, oddState = new UnsafeRow(state.size)
  @transient private lazy val evenRow, oddRow = new UnsafeRow(rowWidth)

  /** The new state that the last result holds. */
  def next(result: UnsafeRow): UnsafeRow = Program.struct(result, 0, if (turn) oddState else evenState)

  /** The row that the last result puts out, if it is one and not an array of them. */
  def emitted(result: UnsafeRow): UnsafeRow = Program.struct(result, 1, if (turn) oddRow else evenRow)

  /** All rows that the last result puts out. */
  def rows(result: UnsafeRow): Iterator[InternalRow] =
    if (result.isNullAt(1)) Iterator.empty
    else if (!explode) Iterator.single(emitted(result))
    else {
      val rows = result.getArray(1)
      Iterator.range(0, rows.numElements()).filterNot(i => rows.isNullAt(i)).map(i => rows.getStruct(i, rowWidth))
    }

  def emit: Expression = expressions(1)

  /** Whether nothing ever comes out. */
  def silent: Boolean = emit match { case Literal(null, _) => true; case _ => false }

  /** The same, and each row that comes out has one column more: this one of the record; and if there may be several rows, their number. */
  def carrying(at: Int, name: String): Program = {
    val origin = BoundReference(state.size + times.size + call.size + at, StringType, nullable = true)
    def wider(row: Expression, kind: StructType, last: Expression): CreateNamedStruct =
      Rows.struct(kind.fields.toSeq.zipWithIndex.map { case (f, i) => f.name -> (GetStructField(row, i): Expression) } :+ (name -> last))
    val rows = (emit.dataType, OneRow.of(emit)) match {
      case (_, Some(OneRow(when, row))) => OneRow(when, Rows.struct(row.names.map(_.toString).zip(row.valExprs) :+ (name -> origin))).expression
      case (ArrayType(kind: StructType, _), _) =>
        val (row, i) = (NamedLambdaVariable("row", kind, nullable = true), NamedLambdaVariable("i", IntegerType, nullable = false))
        val last = Concat(Seq(origin, Literal("/"), Cast(i, StringType)))
        val made = wider(row, kind, last)
        ArrayTransform(emit, LambdaFunction(If(IsNull(row), Literal(null, made.dataType), made), Seq(row, i)))
      case (kind: StructType, _) => val made = wider(emit, kind, origin); If(IsNull(emit), Literal(null, made.dataType), made)
    }
    copy(expressions = expressions.updated(1, rows))
  }

  @transient lazy val rowWidth: Int = (emit.dataType match {
    case ArrayType(row: StructType, _) => row
    case row: StructType => row
  }).size
}

private[headrace] object Program {
  private val noMaps = Array.empty[EntryMap]

  /** A struct within a row, as `getStruct` gives it, but without a new object for each: a field holds its offset and its size. */
  private def struct(result: UnsafeRow, field: Int, struct: UnsafeRow): UnsafeRow = {
    val place = result.getLong(field)
    struct.pointTo(result.getBaseObject, result.getBaseOffset + (place >> 32).toInt, place.toInt)
    struct
  }
}

private[headrace] final case class AlarmProgram(at: Expression, program: Program) {
  @transient lazy val time: UnsafeProjection = UnsafeProjection.create(Seq(at))
}
