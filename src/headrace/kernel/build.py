"""The kernel's Scala sources, compiled once on this machine.

The Scala compiler is among PySpark's own jars, so a Java *runtime* is enough and the package stays pure Python. The jar is cached by the
sources and Spark's version; two processes that need it at once compile it once.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import zipfile
from pathlib import Path

from headrace.embedded import java, locks, places, spark
from headrace.errors import SetupError

_SOURCES = Path(__file__).parent / "scala"


def jar() -> Path:
    """The compiled kernel; compiles it (a few seconds) when the cache has none of these sources and this Spark."""
    path, sources = _target()
    if not _whole(path):
        path.parent.mkdir(exist_ok=True)
        with locks.exclusive(path.with_suffix(".lock")):
            if not _whole(path):  # unless another process compiled it while this one waited
                _compile(sources, path)
    return path


def cached() -> bool:
    """Whether the kernel is compiled already."""
    return _whole(_target()[0])


def _target() -> tuple[Path, list[Path]]:
    sources = sorted(_SOURCES.rglob("*.scala"))
    return places.cache() / "kernel" / f"headrace-kernel-spark{spark.version()}-{_digest(sources)}.jar", sources


def _digest(sources: list[Path]) -> str:
    digest = hashlib.sha256()
    for source in sources:
        content = source.read_bytes()
        digest.update(f"{source.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


def _whole(path: Path) -> bool:
    """A jar's directory is at its end: a file that was cut short is no zip."""
    return zipfile.is_zipfile(path)


def _compile(sources: list[Path], path: Path) -> None:
    draft = path.with_name(f"{path.stem}.{os.getpid()}.jar")
    try:
        if sources:
            _scalac(sources, draft)
        else:
            zipfile.ZipFile(draft, "w").close()
        draft.rename(path)
    finally:
        draft.unlink(missing_ok=True)


def _scalac(sources: list[Path], target: Path) -> None:
    runtime = java.find()
    # The compiler recurses deeply (-Xss) and lives for seconds, too short for the second JIT compiler to pay.
    compiler = runtime.command("-Xss8m", "-XX:TieredStopAtLevel=1", "-cp", f"{spark.jars()}/*", "scala.tools.nsc.Main")
    command: list[str | Path] = [*compiler, "-usejavacp", "-nowarn", "-d", target, *sources]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        raise SetupError(
            f"the Scala compiler refused headrace's kernel (Java {runtime.version} of {runtime.origin}, Spark {spark.version()}):\n"
            f"{(done.stdout + done.stderr).strip()}",
            fix="install headrace again; if its sources were edited, mend them",
        )
