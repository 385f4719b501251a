"""Files and directories wherever Spark's Hadoop client finds them: on this machine, in HDFS, in an object store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headrace.errors import JobError

T = TypeVar("T")

_SUMS_HEAD, _SUM, _SUMMED = 8, 4, 512
"""In Hadoop's files of sums: the bytes before the first sum, of a sum, and of what it is the sum of."""


def _at(spark: SparkSession, place: str) -> tuple[Any, Any]:
    """Hadoop's file system and path of a place, as Spark itself reads it: `/tmp/x`, `file:/tmp/x`, `s3a://bucket/x`."""
    jvm: Any = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path(place)
    return path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf()), path


def exists(place: str) -> bool:
    """Whether there is a file or directory; for a pattern (`/data/*.json`), whether there is one that matches."""
    return _look(place, lambda fs, path: bool(fs.globStatus(path)))


def is_file(place: str) -> bool:
    return _look(place, lambda fs, path: bool(fs.exists(path) and fs.getFileStatus(path).isFile()))


def names(directory: str, *, hidden: bool = False) -> list[str]:
    """What is in a directory, also the sums of Hadoop's that it hides; nothing if it does not exist. JobError if it is a file."""

    def listed(fs: Any, path: Any) -> list[str]:
        if not fs.exists(path):
            return []
        if not fs.getFileStatus(path).isDirectory():
            raise JobError(f"{directory} is a file, and a directory is needed", fix="give the path of a directory")
        gateway: Any = SparkSession.active().sparkContext._gateway
        raw = fs.getRawFileSystem() if hidden and is_instance_of(gateway, fs, "org.apache.hadoop.fs.ChecksumFileSystem") else fs
        return [status.getPath().getName() for status in raw.listStatus(path)]

    return _look(directory, listed)


def flaw(file: str) -> str | None:
    """What is wrong with a file that is written once and is never empty, as those of Spark's logs are; None if nothing is.

    It is read to its end, for Hadoop compares what it reads with the sums beside the file, where there are any. It would not notice an end
    that is missing right behind one of the sums.
    """

    def look(fs: Any, path: Any) -> str | None:
        if not fs.exists(path):
            return "is gone"
        jvm: Any = SparkSession.active()._jvm
        stream = fs.open(path)
        try:
            size = stream.transferTo(jvm.java.io.OutputStream.nullOutputStream())
        except Py4JJavaError as error:
            if error.java_exception.getClass().getSimpleName() == "ChecksumException":
                return f"is not what was written, or its sums in .{path.getName()}.crc are not"
            raise
        finally:
            stream.close()
        sums = _sums(path)
        summed = (fs.getFileStatus(sums).getLen() - _SUMS_HEAD) // _SUM if fs.exists(sums) else 0
        return "is empty" if size == 0 else "is cut" if summed > -(-size // _SUMMED) else None

    return _look(file, look)


def is_lost(file: str) -> bool:
    """Whether a file is gone and its sums are not."""
    return _look(file, lambda fs, path: bool(not fs.exists(path) and fs.exists(_sums(path))))


def _sums(path: Any) -> Any:
    jvm: Any = SparkSession.active()._jvm
    return jvm.org.apache.hadoop.fs.Path(path.getParent(), f".{path.getName()}.crc")


def qualified(place: str) -> str:
    """The place with its file system and from its root on: `file:/home/me/x` for `x`."""
    return _look(place, lambda fs, path: str(path.makeQualified(fs.getUri(), fs.getWorkingDirectory()).toString()))


def write(file: str, text: str) -> None:
    """Put a file there whole, or leave the one that is there."""
    _look(file, lambda fs, path: put(fs, path, text))


def put(fs: Any, path: Any, text: str) -> None:
    """`write`, on a file system of Hadoop's; as Spark writes its own checkpoints."""
    fs.mkdirs(path.getParent())
    jvm: Any = SparkSession.active()._jvm
    manager = jvm.org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.create(path.getParent(), fs.getConf())
    stream = manager.createAtomic(path, True)
    try:
        stream.write(text.encode())
    except BaseException:
        stream.cancel()
        raise
    stream.close()


def _look(place: str, action: Callable[[Any, Any], T]) -> T:
    try:
        return action(*_at(SparkSession.active(), place))
    except (Py4JJavaError, PySparkException) as error:
        reason = str(error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else error).split("\n")[0]
        raise JobError(f"{place} cannot be looked at: {reason}", fix="mend the path, or the settings of its file system") from None
