package org.apache.spark.sql.headrace

import java.util.ArrayDeque

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** The records of a key where nothing happens between them but calls of Python: those of the next ones are made together, before the first of them
  * is taken. A call costs less than half if it is not alone. `passes` says which are not for the scan. */
private[headrace] final class AskedAhead(records: Iterator[InternalRow], program: Program, state: () => InternalRow, passes: InternalRow => Boolean)
  extends Iterator[InternalRow] {

  import AskedAhead._

  private val waiting = new ArrayDeque[InternalRow](Most)

  override def hasNext: Boolean = !waiting.isEmpty || records.hasNext

  override def next(): InternalRow = {
    if (waiting.isEmpty) look()
    waiting.remove()
  }

  private def look(): Unit = {
    var size = 0
    while (waiting.isEmpty || waiting.size < Most && size < MostBytes && records.hasNext) {
      val record = records.next().copy()
      waiting.add(record)
      record match { case bytes: UnsafeRow => size += bytes.getSizeInBytes; case _ => }
    }
    val own = waiting.asScala.filterNot(passes).toSeq
    if (own.size > 1) program.askAhead(state(), own)
  }
}

private[headrace] object AskedAhead {
  // All of them are in memory, here and in the worker.
  private val Most = 64
  private val MostBytes = 1 << 20
}
