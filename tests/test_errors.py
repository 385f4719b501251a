"""Errors name the line to mend: the innermost that is the user's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import py4j
import pyspark
import pytest

import headrace
from headrace.errors import user_line

HEADRACE = Path(headrace.__file__).parent


def module(file: Path, text: str) -> dict[str, Any]:
    """What a module of this text defines, if it stood in this file."""
    names: dict[str, Any] = {"user_line": user_line}
    exec(compile(text, file, "exec"), names)
    return names


@pytest.mark.parametrize("folder", [Path("/home/ann/pyspark"), Path("/home/ann/py4j/jobs"), HEADRACE.with_name("headrace_jobs")], ids=str)
def test_a_program_may_be_in_a_folder_of_any_name(folder: Path) -> None:
    assert module(folder / "job.py", "\n\nline = user_line()")["line"] == f"{folder}/job.py:3"


@pytest.mark.parametrize("package", [HEADRACE, Path(pyspark.__file__).parent, Path(py4j.__file__).parent], ids=str)
def test_lines_of_headrace_and_of_spark_are_not_the_users(package: Path) -> None:
    call = module(package / "sql" / "call.py", "def call(function): return function()")["call"]
    assert str(call(user_line)).startswith(__file__)
