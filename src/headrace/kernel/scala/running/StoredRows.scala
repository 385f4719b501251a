package org.apache.spark.sql.headrace

import org.apache.spark.SparkEnv
import org.apache.spark.api.java.JavaRDD
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.storage.RDDBlockId
import org.apache.spark.unsafe.Platform

/** Rows that are kept for the driver. */
object StoredRows {
  private val pieceSize = 1 << 20

  /** Whether a partition has been computed, and is kept somewhere. (Who asks for its rows before would compute it a second time.) */
  def has(rdd: Int, partition: Int): Boolean = SparkEnv.get.blockManager.master.contains(RDDBlockId(rdd, partition))

  /** The texts of the only column, one right after the other, in pieces of about a megabyte, each of whole texts. */
  def texts(frame: Dataset[Row]): JavaRDD[Array[Byte]] = frame.queryExecution.toRdd.mapPartitions(pieces).toJavaRDD()

  private def pieces(rows: Iterator[InternalRow]): Iterator[Array[Byte]] = new Iterator[Array[Byte]] {
    private var bytes = new Array[Byte](pieceSize + (pieceSize >> 4))
    override def hasNext: Boolean = rows.hasNext
    override def next(): Array[Byte] = {
      var size = 0
      do {
        val text = rows.next().getUTF8String(0)
        if (size + text.numBytes > bytes.length) bytes = java.util.Arrays.copyOf(bytes, Math.max(size + text.numBytes, 2 * bytes.length))
        text.writeToMemory(bytes, Platform.BYTE_ARRAY_OFFSET + size)
        size += text.numBytes
      } while (size < pieceSize && rows.hasNext)
      java.util.Arrays.copyOf(bytes, size)
    }
  }
}
