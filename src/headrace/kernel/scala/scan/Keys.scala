package org.apache.spark.sql.headrace

import org.apache.spark.sql.{Column, Row}
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, RowOrdering}
import org.apache.spark.sql.catalyst.optimizer.NormalizeFloatingNumbers
import org.apache.spark.sql.catalyst.util.UnsafeRowUtils
import org.apache.spark.sql.classic.{Dataset, ExpressionUtils}

/** What may be a key, and which keys are the same. State is found by the bytes of its key. */
object Keys {
  private[headrace] def check(key: Attribute): Unit =
    if (!RowOrdering.isOrderable(key.dataType) || !UnsafeRowUtils.isBinaryStable(key.dataType))
      throw new BadDefinition("key", s"column '${key.name}' is of type ${key.dataType.sql}, whose values cannot be grouped by their bytes")

  /** 0.0 and -0.0, and all NaNs, are one key each, also inside structs and arrays, as everywhere in SQL. */
  private[headrace] def normal(key: Expression): Expression = NormalizeFloatingNumbers.normalize(key)

  /** For streams of one key that Python merges: their column in the type that it has in ours, or null if a value of theirs may be none. */
  def fittedColumn(theirs: Dataset[Row], ours: Dataset[Row], name: String): Column = {
    def column(of: Dataset[Row]) = of.queryExecution.analyzed.output.find(_.name == name).get
    Scope.fitted(column(theirs), column(ours).dataType).map(ExpressionUtils.column).orNull
  }
}
