"""The flagship is the acceptance test of the API: it uses what every user may use."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace

HOME = Path(__file__).parents[2] / "apps" / "fraud" / "headrace_fraud"
PUBLIC = {f"headrace.{name}" for name in headrace.__all__}  # of a module among them, `headrace.errors`, all that is in it
PUBLIC.add("headrace.learning")  # imported by its own name, as its page says: it needs an extra


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (node.module if node.module in PUBLIC else f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", sorted(HOME.rglob("*.py")), ids=lambda path: str(path.relative_to(HOME)))
def test_the_flagship_uses_public_names_only(path: Path) -> None:
    assert not {name for name in imported(path) if name.split(".")[0] == "headrace"} - PUBLIC - {"headrace"}
