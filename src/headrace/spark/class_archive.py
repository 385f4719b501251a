"""Spark's classes in the form in which Java has them in memory, so that a JVM starts without reading and checking thousands of them.

Java calls it an archive of class data. `prepare` makes one, in a small job in a process of its own, and sessions that start later map
it. It fits one Java, one Spark and one kernel; where there is none that fits, everything works, only later. (decision 0018)
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from headrace.embedded import jars, java, locks, places, spark
from headrace.kernel import build
from headrace.spark import launch

_NAMED_ARCHIVE = re.compile(r"-Xshare:|-XX:SharedArchiveFile=|-XX:ArchiveClassesAtExit=")
_QUIET = "-Xlog:cds*=off -Xlog:class+path=off"
_KEPT = 3  # those used last: each takes about 200 MB
_SECONDS = 300.0


def options(java_options: str, classpath: str) -> str:
    """Java's options for a JVM of Spark with `classpath` before Spark's own: the archive, if there is one, and Java is told of no other."""
    path = None if _NAMED_ARCHIVE.search(java_options) else _place(classpath)
    if path is None or not path.exists():
        return ""
    with contextlib.suppress(OSError):  # another process may remove it now; Java starts without it
        os.utime(path)  # it is in use
    return f'-XX:SharedArchiveFile="{path}" {_QUIET}'


def prepared() -> bool | None:
    """Whether there is an archive for a session as it would start now; None if this Java can have none."""
    path = _place(str(kernel()))
    return None if path is None else path.exists()


def prepare() -> bool:
    """Do what the first session of a machine does, and make the archive if there is none; whether there is one now."""
    jars.connector()
    jars.broker()
    path = _place(str(kernel()))
    if path is not None and not path.exists():
        path.parent.mkdir(exist_ok=True)
        with locks.exclusive(path.with_suffix(".lock")):
            if not path.exists():  # unless another process made it while this one waited
                _make(path)
    return path is not None and path.exists()


def kernel() -> Path:
    """What a session puts before Spark's own classes. Java compares the path's text, so behind a link it must be the same."""
    return build.jar().resolve()


def _place(classpath: str) -> Path | None:
    """Where the archive is, or would be: Java does not take one of other jars, or of the same jars of another time."""
    runtime = java.find()
    if not (runtime.home / "lib" / "server" / "classes.jsa").exists():  # ours would lie on top of Java's own
        return None
    changed = [item.stat().st_mtime_ns for item in (Path(classpath), *sorted(spark.jars().glob("spark-core_*.jar")))]
    digest = hashlib.sha256(repr((str(runtime.home), runtime.build, classpath, str(spark.jars()), changed)).encode())
    return places.cache() / "classes" / f"spark{spark.version()}-{digest.hexdigest()[:16]}.jsa"


def _make(path: Path) -> None:
    draft = path.with_suffix(f".{os.getpid()}")
    environment = {name: value for name, value in os.environ.items() if name not in launch.OPTIONS}
    try:
        with tempfile.TemporaryDirectory(prefix="headrace-practice-") as place:
            process = subprocess.Popen(
                [sys.executable, "-m", "headrace.spark.archive_job", str(draft)],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                cwd=place, env=environment, start_new_session=True,
            )  # fmt: skip
            try:
                process.wait(_SECONDS)
            except subprocess.TimeoutExpired:
                pass
            finally:
                if process.poll() is None:  # Python and the JVM at once
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
        if process.returncode == 0 and draft.exists():
            draft.rename(path)
    finally:
        draft.unlink(missing_ok=True)
    for old in sorted(path.parent.glob("*.jsa"), key=lambda file: file.stat().st_mtime, reverse=True)[_KEPT:]:
        old.unlink(missing_ok=True)
