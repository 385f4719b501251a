package org.apache.spark.sql.headrace

import scala.util.Try

import org.apache.spark.sql.avro.SchemaConverters
import org.apache.spark.sql.types.{DataType, StructField, StructType}

/** What the state of a stream can hold. Spark describes it in Avro, where the keys of a map are text, and says so only when a query starts. */
private[headrace] object Stored {
  private val TextKeys = "the keys of a map must be text: F.hex('id'), F.col('id').cast('string'); or keep an array of structs"

  def check(at: String, what: String, kind: DataType, fix: String = TextKeys): Unit =
    for (failure <- Try(SchemaConverters.toAvroTypeWithDefaults(StructType(Seq(StructField("value", kind))))).failed
         if failure.getClass.getSimpleName == "IncompatibleSchemaException") // which is Spark's own
      throw new BadDefinition(at, s"$what of type ${kind.sql}, which the state of a stream cannot hold", fix)
}
