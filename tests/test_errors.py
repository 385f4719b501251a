"""Errors name the line to mend: the innermost that is the user's own."""

from __future__ import annotations

import contextlib
import sysconfig
from pathlib import Path
from typing import Any

import py4j
import pyspark
import pytest
import typer

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


OTHERS = [Path(module.__file__).parent for module in (pyspark, py4j, typer, contextlib)]  # the last is of Python's own library


@pytest.mark.parametrize("package", [HEADRACE, HEADRACE.with_name("headrace_fraud"), *OTHERS], ids=str)
def test_lines_of_headrace_and_of_what_it_is_made_with_are_not_the_users(package: Path) -> None:
    call = module(package / "sql" / "call.py", "def call(function): return function()")["call"]
    assert str(call(user_line)).startswith(__file__)


def test_a_package_that_is_installed_may_be_the_users() -> None:
    file = Path(sysconfig.get_path("purelib")) / "of_mine" / "jobs.py"
    assert module(file, "line = user_line()")["line"] == f"{file}:1"


def test_who_calls_the_command_is_not_the_user() -> None:
    command = module(HEADRACE / "cli" / "live.py", "def command(function): return function()")["command"]
    assert command(user_line) is None
    program = module(Path("/home/ann/job.py"), "def job():\n    return user_line()")["job"]
    assert command(program) == "/home/ann/job.py:2"
