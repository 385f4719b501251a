package org.apache.spark.sql.headrace

import java.util.{ArrayDeque, ArrayList, LinkedHashMap}

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, SortOrder, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}

/** Rows that are sorted by their `arrival`, which begins with some bits of the key's hash: here those of a key come together. Where two keys have
  * the same bits, the rows of the second wait until those of the first have passed. Others are not held. */
case class KeysTogether(keys: Seq[Attribute], arrival: Attribute, child: SparkPlan) extends UnaryExecNode {
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = Nil
  override protected def withNewChildInternal(newChild: SparkPlan): SparkPlan = copy(child = newChild)

  override protected def doExecute(): RDD[InternalRow] = {
    val (columns, number) = (child.output, child.output.indexWhere(_.exprId == arrival.exprId))
    child.execute().mapPartitionsInternal(rows => new KeysTogether.Rows(rows, UnsafeProjection.create(keys, columns), number))
  }
}

private object KeysTogether {
  final class Rows(rows: Iterator[InternalRow], key: UnsafeProjection, arrival: Int) extends Iterator[InternalRow] {
    private var bits = 0L
    private var current: UnsafeRow = _ // the key whose rows pass
    private val others = new LinkedHashMap[UnsafeRow, ArrayList[InternalRow]] // those with the same bits
    private val held = new ArrayDeque[InternalRow] // to come next
    private var ready: InternalRow = _

    override def hasNext: Boolean = {
      while (ready == null && (!held.isEmpty || rows.hasNext)) if (!held.isEmpty) ready = held.poll() else take(rows.next())
      if (ready == null && !others.isEmpty) { release(); ready = held.poll() }
      ready != null
    }

    override def next(): InternalRow = {
      if (!hasNext) throw new NoSuchElementException
      val row = ready
      ready = null
      row
    }

    private def take(row: InternalRow): Unit = {
      val rowBits = Arrival.hash(row.getLong(arrival))
      val rowKey = key(row)
      if (current != null && rowBits == bits) {
        if (rowKey == current) ready = row
        else {
          var same = others.get(rowKey)
          if (same == null) { same = new ArrayList[InternalRow]; others.put(rowKey.copy(), same) }
          same.add(row.copy())
        }
      } else {
        bits = rowBits
        current = rowKey.copy()
        if (others.isEmpty) ready = row else { release(); held.add(row.copy()) }
      }
    }

    private def release(): Unit = {
      others.values.forEach(same => held.addAll(same))
      others.clear()
    }
  }
}
