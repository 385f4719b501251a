package org.apache.spark.sql.headrace

/** Sets of items of an automaton, a bit for each. */
private[headrace] object ItemBits {
  def add(bits: Array[Long], i: Int): Unit = bits(i >> 6) |= 1L << i
  def has(bits: Array[Long], i: Int): Boolean = (bits(i >> 6) & (1L << i)) != 0

  def addAll(bits: Array[Long], all: Array[Int]): Unit = {
    var i = 0
    while (i < all.length) {
      add(bits, all(i))
      i += 1
    }
  }

  def each(bits: Array[Long], f: Int => Unit): Unit = {
    var w = 0
    while (w < bits.length) {
      var rest = bits(w)
      while (rest != 0) {
        f((w << 6) + java.lang.Long.numberOfTrailingZeros(rest))
        rest &= rest - 1
      }
      w += 1
    }
  }

  /** The item with the least number. */
  def first(bits: Array[Long]): Int = {
    val w = bits.indexWhere(_ != 0)
    (w << 6) + java.lang.Long.numberOfTrailingZeros(bits(w))
  }
}
