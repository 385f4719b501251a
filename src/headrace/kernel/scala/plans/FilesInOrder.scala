package org.apache.spark.sql.headrace

import org.apache.spark.{Partition, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.read.streaming.SparkDataStream
import org.apache.spark.sql.execution.{FileSourceScanExec, ProjectExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.{FilePartition, FileScanRDD, HadoopFsRelation}
import org.apache.spark.sql.types.StructType
import org.apache.spark.util.collection.BitSet

/** Spark reads the largest file first, so that no task is left over with it at the end. Where the order of records counts, this rule has the
  * oldest read first, and files of the same time by their name. */
object FilesInOrder extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan = plan.transformUp {
    case arriving: ProjectExec if arriving.projectList.exists(_.exists(_.isInstanceOf[Arrival])) => arriving.transformUp {
      case s: FileSourceScanExec if !s.isInstanceOf[FilesInOrder] && !s.bucketedScan => new FilesInOrder(
        s.relation, s.stream, s.output, s.requiredSchema, s.partitionFilters, s.optionalBucketSet, s.optionalNumCoalescedBuckets, s.dataFilters,
        s.tableIdentifier, s.disableBucketedScan, s.markedForSingleTaskExecution)
    }
  }
}

/** Spark's own scan, but for the order of its files. (Its parameters are all of Spark's, for that is how Spark copies a plan.) */
private[headrace] class FilesInOrder(
    relation: HadoopFsRelation, stream: Option[SparkDataStream], output: Seq[Attribute], requiredSchema: StructType,
    partitionFilters: Seq[Expression], optionalBucketSet: Option[BitSet], optionalNumCoalescedBuckets: Option[Int], dataFilters: Seq[Expression],
    tableIdentifier: Option[TableIdentifier], disableBucketedScan: Boolean, markedForSingleTaskExecution: Boolean)
  extends FileSourceScanExec(
    relation, stream, output, requiredSchema, partitionFilters, optionalBucketSet, optionalNumCoalescedBuckets, dataFilters,
    tableIdentifier, disableBucketedScan, markedForSingleTaskExecution) {

  override lazy val inputRDD: RDD[InternalRow] = copy().inputRDD match { // a copy is Spark's own
    case files: FileScanRDD => new OldestFirst(files, packed(files))
    case none => none
  }

  /** A scan that differs in its order only is another one; else Spark would take the plan for unchanged, and leave the old one. */
  override def canEqual(other: Any): Boolean = other.isInstanceOf[FilesInOrder]
  override def equals(other: Any): Boolean = canEqual(other) && super.equals(other)
  override def hashCode: Int = super.hashCode

  private def packed(files: FileScanRDD): Seq[FilePartition] = {
    val spark = relation.sparkSession
    val ordered = files.filePartitions.flatMap(_.files).sortBy(f => (f.modificationTime, f.toPath.toString, f.start))
    val bytes = ordered.map(_.length + spark.sessionState.conf.filesOpenCostInBytes).sum
    FilePartition.getFilePartitions(spark, ordered, FilePartition.maxSplitBytes(spark, bytes))
  }
}

/** The files of an RDD in other parts. A part says itself which files it has, so the RDD can read any. */
private[headrace] class OldestFirst(files: FileScanRDD, @transient parts: Seq[FilePartition]) extends RDD[InternalRow](files.sparkContext, Nil) {
  override protected def getPartitions: Array[Partition] = parts.toArray
  override protected def getPreferredLocations(part: Partition): Seq[String] = part.asInstanceOf[FilePartition].preferredLocations().toSeq
  override def compute(part: Partition, context: TaskContext): Iterator[InternalRow] = files.compute(part, context)
}
