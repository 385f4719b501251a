"""Every exception that headrace raises on purpose.

    HeadraceError
    ├── SetupError        the machine lacks something: Java, a jar, a port, a writable directory
    ├── DefinitionError   the program is wrong: an unknown column, a type that does not fit
    ├── ModeError         the program is right, but not in the mode (or with the guarantee) asked for
    └── JobError          a running job stopped: a topic is gone, a checkpoint belongs to another job

Each says what happened, where in the user's program, and what to do about it.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

_HOME = Path(__file__).parent
_PACKAGES = [Path(spec.origin).parent for name in ("pyspark", "py4j", "typer", "click") if (spec := find_spec(name)) and spec.origin]
_FLAGSHIP = _HOME.with_name("headrace_fraud")  # where it is installed with headrace; in a checkout it is a program like any other
_NOT_THE_USERS = tuple(f"{folder}{os.sep}" for folder in (_HOME, _FLAGSHIP, *_PACKAGES))
_PYTHONS = f"{sysconfig.get_path('stdlib')}{os.sep}"
_INSTALLED = tuple(f"{sysconfig.get_path(kind)}{os.sep}" for kind in ("purelib", "platlib"))  # often within Python's own
_COMMAND = f"{_HOME / 'cli'}{os.sep}"


class HeadraceError(Exception):
    """What happened (`what`), how to mend it (`fix`) and, where it is known, the user's line (`where`)."""

    def __init__(self, what: str, *, fix: str, where: str | None = None) -> None:
        self.what, self.fix, self.where = what, fix, where
        at = f"\n  at   {where}" if where else ""
        super().__init__(f"{what}{at}\n  fix  {fix}")


class SetupError(HeadraceError):
    """The machine lacks something that headrace needs."""


class DefinitionError(HeadraceError):
    """The program describes something that cannot be run in any mode."""


class ModeError(HeadraceError):
    """An operator, source, sink or guarantee does not exist in the mode that was asked for."""


class JobError(HeadraceError):
    """A job could not start or go on."""


def is_users(file: str) -> bool:
    """Whether a file is neither headrace's, Spark's, Python's own, nor made up."""
    pythons = file.startswith(_PYTHONS) and not file.startswith(_INSTALLED)
    return not pythons and not file.startswith((*_NOT_THE_USERS, "<"))


def user_line() -> str | None:
    """`file:line` of the innermost caller that is the user's: the line to mend.

    None if there is no such line, as under `headrace run` once the program is loaded: who calls the command is not the user's.
    """
    frame = sys._getframe(1)
    while frame is not None and not frame.f_code.co_filename.startswith(_COMMAND):
        file = frame.f_code.co_filename
        if is_users(file):
            return f"{file}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return None
