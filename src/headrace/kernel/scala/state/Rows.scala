package org.apache.spark.sql.headrace

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.encoders.{ExpressionEncoder, RowEncoder}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.types.{DataType, ObjectType, StructType}

/** The row at hand as it is, where Spark would make an object of it: nothing is taken out of it and put together again.
  * Without a copy it holds until the next row comes. */
private[headrace] case class ThisRow(copy: Boolean) extends LeafExpression {
  override def nullable: Boolean = false
  override def dataType: DataType = ObjectType(classOf[InternalRow])
  override def eval(row: InternalRow): Any = if (copy) row.copy() else row
  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode =
    ev.copy(code = code"InternalRow ${ev.value} = ${ctx.INPUT_ROW}${if (copy) ".copy()" else ""};", isNull = FalseLiteral)
}

private[headrace] object Rows {
  /** An encoder that does not encode: Spark's state variables want one, but what we give them is an internal row already. */
  def passThrough(schema: StructType): ExpressionEncoder[InternalRow] = {
    val row = BoundReference(0, schema, nullable = true)
    val encoder = RowEncoder.encoderFor(schema)
    ExpressionEncoder[Row](
      encoder,
      objSerializer = struct(schema.fieldNames.toSeq.zip(schema.indices.map(i => GetStructField(row, i)))),
      objDeserializer = ThisRow(copy = true),
    ).asInstanceOf[ExpressionEncoder[InternalRow]]
  }

  def struct(fields: Seq[(String, Expression)]): CreateNamedStruct =
    CreateNamedStruct(fields.flatMap { case (name, e) => Seq(Literal(name), e) })

  def struct(attributes: Seq[Attribute])(implicit d: DummyImplicit): CreateNamedStruct = struct(attributes.map(a => a.name -> (a: Expression)))
}
