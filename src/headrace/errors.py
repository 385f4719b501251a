"""Every exception that headrace raises on purpose.

    HeadraceError
    ├── SetupError        the machine lacks something: Java, a jar, a port, a writable directory
    ├── DefinitionError   the program is wrong: an unknown column, a type that does not fit
    ├── ModeError         the program is right, but not in the mode asked for
    └── JobError          a running job stopped: a topic is gone, a checkpoint belongs to another job

Each says what happened, where in the user's program, and what to do about it.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

_FOUND = [Path(__file__), *(Path(spec.origin) for name in ("pyspark", "py4j") if (spec := find_spec(name)) and spec.origin)]
_NOT_THE_USERS = tuple(f"{file.parent}{os.sep}" for file in _FOUND)


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
    """An operator, source, sink, trigger or output mode does not exist in the mode that was asked for, or there are too few task slots."""


class JobError(HeadraceError):
    """A job could not start or go on."""


def is_users(file: str) -> bool:
    """Whether a file is neither headrace's nor PySpark's, nor made up."""
    return not file.startswith((*_NOT_THE_USERS, "<"))


def user_line() -> str | None:
    """`file:line` of the innermost caller that is neither headrace nor PySpark: the line to mend."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if is_users(file):
            return f"{file}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return None
