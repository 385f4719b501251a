package org.apache.spark.sql.headrace

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.encoders.{ExpressionEncoder, RowEncoder}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.StructType

private[headrace] object Rows {
  /** An encoder that does not encode: Spark's state variables want one, but what we give them is an internal row already. */
  def passThrough(schema: StructType): ExpressionEncoder[InternalRow] = {
    val row = BoundReference(0, schema, nullable = true)
    val encoder = RowEncoder.encoderFor(schema)
    ExpressionEncoder[Row](
      encoder,
      objSerializer = struct(schema.fieldNames.toSeq.zip(schema.indices.map(i => GetStructField(row, i)))),
      objDeserializer = struct(schema.fieldNames.toSeq.zip(schema.fields.toSeq.zipWithIndex.map { case (f, i) => BoundReference(i, f.dataType, nullable = true) })),
    ).asInstanceOf[ExpressionEncoder[InternalRow]]
  }

  def struct(fields: Seq[(String, Expression)]): CreateNamedStruct =
    CreateNamedStruct(fields.flatMap { case (name, e) => Seq(Literal(name), e) })

  def struct(attributes: Seq[Attribute])(implicit d: DummyImplicit): CreateNamedStruct = struct(attributes.map(a => a.name -> (a: Expression)))
}
