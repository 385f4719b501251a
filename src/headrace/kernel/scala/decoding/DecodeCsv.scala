package org.apache.spark.sql.headrace

import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/**
 * One line of CSV (RFC 4180) in UTF-8, with or without its line end. An empty cell is null, `""` is an empty string. The line must have as
 * many cells as the record has fields; a quote stands only around a cell, and doubled within one.
 */
private[headrace] final class CsvLine(schema: StructType, separator: Byte, times: Map[String, String]) {
  private val fields = new RecordFields(schema, times)
  private var line: Array[Byte] = _
  private var at, end = 0
  private var text: Array[Byte] = _
  private var from, to = 0

  /** The record, or null if this is no such line. `verdict` then says whether it is a good one. */
  def read(bytes: Array[Byte]): DecodedRecord = {
    line = bytes; at = 0; end = bytes.length
    if (end > 0 && line(end - 1) == '\n') end -= 1
    if (end > 0 && end == bytes.length - 1 && line(end - 1) == '\r') end -= 1
    if (end == 0 || !UTF8String.fromBytes(bytes).isValid) return null
    val record = fields.fresh()
    var i = 0
    while (i < schema.size) {
      val quoted = at < end && line(at) == '"'
      if (!(if (quoted) readQuoted() else readPlain())) return null
      if (quoted || from < to) fields.readCell(text, from, to, record, i)
      i += 1
      if (at < end) { // on a separator, since the cell ended here
        at += 1
        if (i == schema.size) return null
      } else if (i < schema.size) return null
    }
    record
  }

  def verdict(): UTF8String = fields.verdict(fields.all)

  private def readPlain(): Boolean = {
    text = line; from = at
    while (at < end && line(at) != separator) {
      if (line(at) == '"' || line(at) == '\n' || line(at) == '\r') return false
      at += 1
    }
    to = at
    true
  }

  private def readQuoted(): Boolean = {
    text = line; from = at + 1
    var doubled = false
    at += 1
    while (at < end && (line(at) != '"' || (at + 1 < end && line(at + 1) == '"'))) {
      if (line(at) == '"') { doubled = true; at += 1 }
      at += 1
    }
    to = at
    at += 1
    if (doubled) single()
    at <= end && (at == end || line(at) == separator)
  }

  private def single(): Unit = {
    val kept = new Array[Byte](to - from)
    var i = from
    var k = 0
    while (i < to) {
      kept(k) = line(i)
      k += 1
      i += (if (line(i) == '"') 2 else 1)
    }
    text = kept; from = 0; to = k
  }
}
