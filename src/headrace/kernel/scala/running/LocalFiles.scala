package org.apache.spark.sql.headrace

import java.net.URI
import java.nio.file.Files
import java.nio.file.attribute.PosixFilePermissions

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{ChecksumFs, DelegateToFileSystem, FileStatus, LocalFileSystem, Path, RawLocalFileSystem}
import org.apache.hadoop.fs.permission.FsPermission

/** Hadoop's local files, without a process for each of them: where its native library is missing, as it is in PySpark, Hadoop
  * starts a `chmod` for every file and directory that it makes, and a `readlink` for each end of a rename. A micro-batch makes
  * dozens of files for its checkpoint. */
private[headrace] class RawFiles extends RawLocalFileSystem {
  override def setPermission(path: Path, permission: FsPermission): Unit =
    if (RawFiles.posix && !permission.getStickyBit) {
      Files.setPosixFilePermissions(pathToFile(path).toPath, PosixFilePermissions.fromString(permission.toString))
    } else super.setPermission(path, permission)

  override def getFileLinkStatus(path: Path): FileStatus =
    if (Files.isSymbolicLink(pathToFile(path).toPath)) super.getFileLinkStatus(path) else getFileStatus(path)
}

private[headrace] object RawFiles {
  private val posix = java.nio.file.FileSystems.getDefault.supportedFileAttributeViews.contains("posix")
}

/** For what asks Hadoop for a file system: `fs.file.impl`. */
class LocalFiles extends LocalFileSystem(new RawFiles)

/** For what asks Hadoop for a file context, as checkpoints do: `fs.AbstractFileSystem.file.impl`. */
class LocalContext(uri: URI, conf: Configuration) extends ChecksumFs(new RawContext(uri, conf))

private[headrace] class RawContext(uri: URI, conf: Configuration) extends DelegateToFileSystem(uri, new RawFiles, conf, "file", false) {
  override def getUriDefaultPort: Int = -1
  override def isValidName(path: String): Boolean = true
  override def supportsSymlinks: Boolean = true
}
