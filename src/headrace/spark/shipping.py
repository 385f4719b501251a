"""Python's code for the executors of a cluster, which need neither headrace nor the program: it goes along with the job, in one archive.

    headrace itself          for what runs in tasks there
    what lies beside the     modules, and packages with all that is in them; only Python files, and nothing of a package that is installed:
    program                  what a program imports from elsewhere must be on the machines of the cluster

A function travels with the module that it is defined in anyway. This is for what that module imports.
"""

from __future__ import annotations

import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from pyspark import SparkContext

_HEADRACE = Path(__file__).parents[1]
_beside: list[Path] = []
_sent: dict[str, tempfile.TemporaryDirectory[str]] = {}
"""By application. Kept as long as this process lives: executors that come later fetch it, too."""


def beside(file: Path) -> None:
    """Let what lies beside a program go along, if it is called before the session starts."""
    _beside.append(file.resolve().parent)


def send(context: SparkContext) -> None:
    """To all executors, those that are still to come as well; once."""
    application = str(context.applicationId)
    if application in _sent:
        return
    _sent[application] = tempfile.TemporaryDirectory(prefix="headrace-python-")
    archive = Path(_sent[application].name) / "headrace-python.zip"
    _pack(archive, [*_beside, *_of_the_main_program()])
    before = sys.path.copy()
    context.addPyFile(str(archive))
    sys.path[:] = before  # this process has the files themselves


def _pack(path: Path, programs: list[Path]) -> None:
    packed: set[Path] = set()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for root, file in (*_package(_HEADRACE), *(module for folder in programs for module in _programs(folder))):
            name = file.relative_to(root)
            if name not in packed:
                packed.add(name)
                archive.writestr(str(name), file.read_bytes())  # without its time, which may be one that this format does not have


def _of_the_main_program() -> list[Path]:
    """The folder of what Python was called with, unless that is installed: `headrace` itself, pytest, a notebook's kernel."""
    file = getattr(sys.modules["__main__"], "__file__", None)
    if file is None:
        return []
    folder = Path(file).resolve().parent
    installed = {Path(sysconfig.get_path(name)).resolve() for name in ("scripts", "purelib", "platlib", "stdlib")}
    return [] if any(folder.is_relative_to(place) for place in installed) else [folder]


def _programs(folder: Path) -> Iterator[tuple[Path, Path]]:
    for entry in sorted(folder.iterdir()):
        if entry.suffix == ".py" and entry.is_file():
            yield folder, entry
        elif (entry / "__init__.py").is_file():
            yield from _package(entry)


def _package(folder: Path) -> Iterator[tuple[Path, Path]]:
    return ((folder.parent, file) for file in sorted(folder.rglob("*.py")))
