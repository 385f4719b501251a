package org.apache.spark.sql.headrace

import java.util.{List => JList}

import scala.jdk.CollectionConverters._

import org.apache.spark.SparkThrowable
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.util.toPrettySQL
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.types._

/** Text that Spark would read as a number, a time or a truth value without having been told to: `k > 5` of a text `k`. It says nothing, and the
  * first text that is none stops the job. A cast that the program asks for is the program's own affair. */
object Casts {
  /** Looks at what `made` has more than those it was made from. */
  def check(made: Dataset[Row], from: JList[Dataset[Row]]): Unit = {
    val before = from.asScala.map(_.queryExecution.analyzed)
    def visit(plan: LogicalPlan): Unit = if (plan.isStreaming && !before.exists(_ eq plan)) { // a static table may do as it likes
      plan.children.foreach(visit)
      plan.expressions.foreach(e => check("", e))
    }
    visit(made.queryExecution.analyzed)
  }

  /** The same for one expression, resolved. */
  private[headrace] def check(at: String, whole: Expression): Unit = check(at, whole, whole)

  private def check(at: String, whole: Expression, part: Expression): Unit = part match {
    case cast: Cast if unasked(cast) => if (cast.child.foldable) readNow(at, whole, cast) else throw refusal(at, whole, cast)
    case other => other.children.foreach(check(at, other, _))
  }

  private def unasked(cast: Cast): Boolean =
    cast.ansiEnabled && !cast.containsTag(Cast.USER_SPECIFIED_CAST) && mayFail(cast.child.dataType, cast.dataType) && !written(cast)

  private def mayFail(from: DataType, to: DataType): Boolean = (from, to) match {
    case (_: StringType, _: NumericType | _: DatetimeType | _: BooleanType) => true
    case (ArrayType(one, _), ArrayType(other, _)) => mayFail(one, other)
    case (MapType(key, value, _), MapType(otherKey, otherValue, _)) => mayFail(key, otherKey) || mayFail(value, otherValue)
    case (StructType(fields), StructType(others)) => fields.zip(others).exists { case (one, other) => mayFail(one.dataType, other.dataType) }
    case _ => false
  }

  /** `date(k)` in SQL is a cast, too, and Spark forgets that it was written. What it adds by itself stands where its surroundings stand. */
  private def written(cast: Cast): Boolean = (cast.origin.sqlText, cast.origin.startIndex, cast.origin.stopIndex) match {
    case (Some(text), Some(start), Some(stop)) if stop < text.length => aliases.findPrefixOf(text.substring(start, stop + 1)).isDefined
    case _ => false
  }
  private val aliases = "(?i)(boolean|tinyint|smallint|int|bigint|float|double|decimal|date|timestamp|time)\\s*\\(".r

  private def readNow(at: String, whole: Expression, cast: Cast): Unit = try cast.eval() catch {
    case e: SparkThrowable if e.getCondition == "CAST_INVALID_INPUT" => throw new BadDefinition(
      at, s"${shown(whole, cast)} reads the text ${shown(cast.child)} as ${cast.dataType.sql}, which it is not",
      s"write what is one, such as ${example(cast.dataType)}; or make the other side text: .cast('string')")
    case _: Exception => // it can only be read when it runs
  }

  private def refusal(at: String, whole: Expression, cast: Cast): BadDefinition = {
    val to = cast.dataType.simpleString
    val column = cast.child match { case a: Attribute => s"F.col('${a.name}')"; case _ => "" }
    val compared = whole match {
      case _: BinaryComparison | _: In | _: InSet => "; or compare it with text"
      case _ => ""
    }
    new BadDefinition(
      at, s"${shown(whole, cast)} reads the text ${shown(cast.child)} as ${cast.dataType.sql}: the first value that is not one would stop the job",
      s"cast it: $column.cast('$to'), or $column.try_cast('$to'), which gives null where it is not one$compared")
  }

  private def shown(whole: Expression, cast: Cast): String = whole match {
    case Alias(same, name) if same eq cast => s"the column $name"
    case other => shown(other)
  }

  private def shown(e: Expression): String = e match {
    case Literal(value, _: StringType) => s"'$value'"
    case other => toPrettySQL(other)
  }

  private def example(of: DataType): String = of match {
    case _: NumericType => "5"
    case _: BooleanType => "true"
    case _: DateType => "'2026-01-31'"
    case _ => "'2026-01-31 12:00:00'"
  }
}
