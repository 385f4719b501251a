"""Small files of the driver's own: on this machine by Python, so that a checkpoint is read before there is a JVM; elsewhere by Hadoop."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pyspark import SparkContext

from headrace.errors import JobError


def local(place: str) -> Path | None:
    """The path, if it is one of this machine: `x`, `/x`, `file:/x`."""
    address = urlsplit(place)
    if address.scheme == "file":
        return Path(unquote(address.path))
    return None if address.scheme and "/" in place else Path(place)


def files(directory: str) -> list[tuple[str, int]]:
    """The files of a directory (or of all that match a pattern) and when each was modified, in milliseconds; not those with a leading
    dot."""
    here = local(directory)
    if here is None:
        fs, path = _hadoop(directory)
        entries = [fs.listStatus(folder.getPath()) for folder in fs.globStatus(path) or [] if folder.isDirectory()]
        return [
            (entry.getPath().toString(), entry.getModificationTime())
            for listed in entries for entry in listed if entry.isFile() and not entry.getPath().getName().startswith(".")
        ]  # fmt: skip
    folders = [here] if here.is_dir() else [path for path in here.parent.glob(here.name) if path.is_dir()]
    files: list[tuple[str, int]] = []
    for folder in folders:
        for entry in os.scandir(folder):
            try:
                if entry.is_file() and not entry.name.startswith("."):
                    files.append((str(Path(entry.path).absolute()), entry.stat().st_mtime_ns // 1_000_000))
            except FileNotFoundError:  # it was moved away meanwhile
                continue
    return files


def names(directory: str) -> list[str]:
    """What is in a directory; nothing if there is none."""
    here = local(directory)
    if here is not None:
        return sorted(entry.name for entry in here.iterdir()) if here.is_dir() else []
    fs, path = _hadoop(directory)
    return sorted(entry.getPath().getName() for entry in fs.listStatus(path)) if fs.exists(path) else []


def read(file: str) -> bytes | None:
    """What is in a file; None if there is none."""
    here = local(file)
    if here is not None:
        return here.read_bytes() if here.is_file() else None
    fs, path = _hadoop(file)
    if not fs.exists(path):
        return None
    stream = fs.open(path)
    try:
        return bytes(stream.readAllBytes())
    finally:
        stream.close()


def write(file: str, content: bytes) -> None:
    """Put a file there whole, in place of one that is there."""
    here = local(file)
    new = f"{file}.new"
    if here is not None:
        with Path(local(new) or new).open("wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        Path(local(new) or new).replace(here)
        return
    fs, path = _hadoop(new)
    stream = fs.create(path, True)
    stream.write(content)
    stream.close()
    target = path.getParent().suffix("/" + path.getName().removesuffix(".new"))
    if fs.exists(target):
        fs.delete(target, False)
    fs.rename(path, target)


def delete(place: str) -> None:
    here = local(place)
    if here is None:
        fs, path = _hadoop(place)
        fs.delete(path, True)
    elif here.is_dir():
        shutil.rmtree(here, ignore_errors=True)
    else:
        here.unlink(missing_ok=True)


def make_private(directory: str) -> None:
    """A directory that only this user may write to."""
    here = local(directory)
    if here is not None:
        here.mkdir(mode=0o700, parents=True, exist_ok=True)
    else:
        fs, path = _hadoop(directory)
        fs.mkdirs(path)


def check_private(directory: str) -> None:
    """Raise JobError if somebody else may have put something into a directory of this machine: what is unpickled from it is run.

    Of other file systems this is not known; there, who may write to the directory must be settled by who runs it.
    """
    here = local(directory)
    if here is None or not here.exists():
        return
    status = here.stat()
    if status.st_uid != os.getuid():
        raise _not_private(here, f"it belongs to user {status.st_uid}", "use a directory of your own")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise _not_private(here, "others may write to it", f"if nobody did: chmod go-w {here}")


def _not_private(directory: Path, why: str, fix: str) -> JobError:
    return JobError(f"the checkpoint in {directory} is not read, since functions come from it that would be run, and {why}", fix=fix)


def _hadoop(place: str) -> tuple[Any, Any]:
    SparkContext._ensure_initialized()
    jvm, running = SparkContext._jvm, SparkContext._active_spark_context
    assert jvm is not None
    path = jvm.org.apache.hadoop.fs.Path(place)
    conf = running._jsc.hadoopConfiguration() if running else jvm.org.apache.hadoop.conf.Configuration()
    return path.getFileSystem(conf), path
