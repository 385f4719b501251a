"""The order of the layers, held by the import statements themselves; and what importing headrace must not do."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "headrace"

# A module imports from its own layer and from those above it in this list; names on one line may not import each other.
LAYERS = [
    {"errors"},
    {"embedded"},
    {"definitions"},
    {"kernel"},
    {"decoding"},
    {"ops", "io", "spark"},
    {"planning"},
    {"run"},
    {"job"},
    {"fronts"},
    {"beam", "drpc", "dstreams", "flink", "heron", "learning", "samza", "storm", "summingbird", "trident"},
    {"testing", "cli"},
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}


def modules() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def part(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path: Path) -> Iterator[str]:
    """The parts of headrace that a module imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports inside headrace are absolute, so that this test can read them"
            names = [f"{node.module}.{alias.name}" for alias in node.names] if node.module == "headrace" else [node.module or ""]
        for name in names:
            if name.split(".")[0] == "headrace":
                yield name.split(".")[1] if "." in name else "headrace"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_imports_only_from_layers_before_its_own(path: Path) -> None:
    own = part(path)
    assert own in RANK, f"{own} is in no layer: add it to LAYERS where it belongs"
    wrong = {name for name in imported(path) if name != own and RANK.get(name, len(LAYERS)) >= RANK[own]}
    assert not wrong, f"{path.relative_to(SOURCE)} must not import {wrong}"


def test_importing_headrace_starts_no_jvm_and_no_broker() -> None:
    program = """
import subprocess, sys
def refuse(*args, **kwargs): raise AssertionError(f"a process was started: {args}")
subprocess.Popen.__init__ = refuse
import headrace
from pyspark import SparkContext
assert SparkContext._gateway is None
slow = {"numpy", "pandas", "pyarrow", "typer", "rich", "matplotlib", "confluent_kafka"}
assert not slow & set(sys.modules), "slow to import, and not needed for it"
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, env={"PYTHONPATH": str(SOURCE.parent)}, timeout=60)
