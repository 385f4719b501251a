"""Every exception that headrace raises on purpose.

    HeadraceError
    ├── SetupError        the machine lacks something: Java, a jar, a port, a writable directory
    ├── DefinitionError   the program is wrong: an unknown column, a type that does not fit
    │   ├── UnknownNameError   what it calls has no such method; also an AttributeError
    │   ├── ArgumentError      a call has a value that it cannot take; also a ValueError
    │   └── QueryError         a word of a query in SQL is wrong; it says which: line and column
    ├── ModeError         the program is right, but not in the mode asked for
    └── JobError          a running job stopped: a topic is gone, a checkpoint belongs to another job
        └── FencedError        another run of the same job has taken over: this one must not write any more

Each says what happened, where in the user's program, and what to do about it.

>>> import headrace as hr
>>> try:
...     hr.read.memory("name string").select("nome")
... except hr.errors.DefinitionError as error:
...     print(f"{error.what}; {error.fix}")
select: there is no column 'nome'; did you mean 'name'? The columns here are name
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path

_HOME = Path(__file__).parent
_PACKAGES = [
    Path(spec.origin).parent
    for name in ("pyspark", "py4j", "typer", "click", "apache_beam", "IPython")
    if (spec := find_spec(name)) and spec.origin
]
_FLAGSHIP = _HOME.with_name("headrace_fraud")  # where it is installed with headrace; in a checkout it is a program like any other
_NOT_THE_USERS = tuple(f"{folder}{os.sep}" for folder in (_HOME, _FLAGSHIP, *_PACKAGES))
_PYTHONS = f"{sysconfig.get_path('stdlib')}{os.sep}"
_INSTALLED = tuple(f"{sysconfig.get_path(kind)}{os.sep}" for kind in ("purelib", "platlib"))  # often within Python's own
_COMMAND = f"{_HOME / 'cli'}{os.sep}"


class HeadraceError(Exception):
    """What happened (`what`), how to mend it (`fix`) and, where it is known, the user's line (`where`)."""

    def __init__(self, what: str, *, fix: str, where: str | None = None) -> None:
        super().__init__(what)
        self.what, self.fix, self.where = what, fix, where

    def __str__(self) -> str:
        at = f"\n  at   {self.where}" if self.where else ""
        return f"{self.what}{at}\n  fix  {self.fix}"


class SetupError(HeadraceError):
    """The machine lacks something that headrace needs."""


class DefinitionError(HeadraceError):
    """The program describes something that cannot be run in any mode."""


class UnknownNameError(DefinitionError, AttributeError):
    """The program asks for something by a name that is not there: `stream.filter`, `hr.read.csv`."""


class ArgumentError(DefinitionError, ValueError):
    """A call has a value that it cannot take: a window that is no multiple of the batch."""


class QueryError(DefinitionError):
    """A query in SQL is wrong at one word: `line` and `column` count from 1, and `what` shows the line with a mark below the word."""

    def __init__(self, what: str, *, fix: str, where: str | None = None, line: int = 0, column: int = 0) -> None:
        super().__init__(what, fix=fix, where=where)
        self.line, self.column = line, column


class ModeError(HeadraceError):
    """An operator, source, sink, trigger or output mode does not exist in the mode that was asked for, or there are too few task slots."""


class JobError(HeadraceError):
    """A job could not start or go on."""


class FencedError(JobError):
    """Another run of the same job has taken over its output. This one has written nothing since, and is not to be started again."""


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


@contextmanager
def pointing_at(where: str | None) -> Iterator[None]:
    """What is raised inside and knows no line of the user's gets this one."""
    try:
        yield
    except HeadraceError as error:
        error.where = error.where or where
        raise


def unknown_name(owner: str, name: str, names: list[str], hints: Mapping[str, str] | None = None) -> AttributeError:
    """For `__getattr__`: that `owner` has no `name`, and what to write instead: its hint, or the nearest of the names that there are."""
    if name.startswith("_"):  # Python, notebooks and copies ask for such: they take no for an answer
        return AttributeError(f"{owner} has no {name!r}")
    near = get_close_matches(name, names, n=1)
    fix = (hints or {}).get(name) or (f"did you mean {near[0]!r}?" if near else f"it has {', '.join(names)}")
    return UnknownNameError(f"{owner} has no {name!r}", fix=fix, where=user_line())
