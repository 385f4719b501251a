"""Spark's failures in words: what happened, where in the user's program, and what to do. The trace stays in Spark's log."""

from __future__ import annotations

import os
import re
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from pickle import PicklingError
from traceback import extract_tb
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame

from headrace.definitions import arguments, damages, refusals, secrets
from headrace.errors import DefinitionError, HeadraceError, JobError, SetupError, is_users
from headrace.spark import jvm_exit, launch

Flawed = Callable[[], tuple[str, str] | None]
"""Looks for a damaged file of a query's state: gives it, and what is wrong with it."""


@contextmanager
def of_definition(operator: str, where: str | None, inputs: Sequence[DataFrame]) -> Iterator[None]:
    """Turns Spark's analysis errors into DefinitionError at the user's line."""
    try:
        with jvm_exit.translated(SetupError):
            yield
    except PySparkException as error:
        what, fix = refusals.words(error, refusals.types(inputs))
        raise DefinitionError(f"{operator}: {secrets.hide(what)}", fix=fix, where=where) from None
    except Py4JJavaError as error:
        raise DefinitionError(f"{operator}: {first_line(error)}", fix=_in_the_log(), where=where) from None
    except PicklingError as error:
        fix = "make such things (connections, locks, open files, Spark's session) where they are used, inside the function"
        raise DefinitionError(f"{operator}: a function cannot be sent to Spark's workers: {error}", fix=fix, where=where) from None
    except AttributeError as error:  # of a function of the user's, which passes on what PySpark does not look at
        if error.name != "_jdf":
            raise
        raise DefinitionError(f"{operator}: {arguments.shown(error.obj)} is no DataFrame", fix=arguments.A_TABLE, where=where) from None


def first_line(error: BaseException) -> str:
    """What went wrong, without Spark's error class, plan or trace."""
    return _plain(_text(error))


def _text(error: BaseException) -> str:
    if isinstance(error, Py4JJavaError):
        return root_cause(error.java_exception)
    return str(error) if isinstance(error, PySparkException) else f"{type(error).__name__}: {error}"


def _plain(text: str) -> str:
    if "Traceback (most recent call last):" in text:  # from a Python process: its last line is what it raised
        raised = re.findall(r"^[A-Za-z_][\w.]*(?:: .*)?$", text, re.MULTILINE)
        text = raised[-1] if raised else text
    return secrets.hide(refusals.first_line(text))


def root_cause(throwable: Any) -> str:
    """The message of the innermost Java exception, or of the one around it that is known to say more."""
    messages = []
    while throwable is not None:
        messages.append(str(throwable.getMessage() or throwable.toString()))
        throwable = throwable.getCause()
    telling = (text for says_more in (_fix, _damage) for text in reversed(messages) if says_more(text))
    return next(telling, f"[{_LOADING}] {messages[-1]}" if any(_LOADING in text for text in messages) else messages[-1])


@contextmanager
def of_job(job: str, output: str, where: str | None) -> Iterator[None]:
    """Turns the failure of a batch, or of a query's start, into JobError. `where` is the line of the output: the one to look at if Spark
    does not tell a better one."""
    try:
        with jvm_exit.translated(JobError):
            yield
    except HeadraceError:
        raise
    except (PySparkException, Py4JJavaError) as error:
        raise _job_error(job, output, _text(error), where) from None
    except Exception as error:  # a function of the user's, called in this process
        raise of_function(job, output, error, where) from error


def of_query(job: str, query: str, exception: Any, raised: BaseException | None, where: str | None, flawed: Flawed) -> JobError:
    """The end of a streaming query, as Spark recorded it; `raised` if it was Python code that raised. `flawed` is asked where Spark does
    not say which file it could not read."""
    if raised is None:
        return _job_error(job, query, root_cause(exception), where, flawed)
    return of_function(job, query, raised, where, flawed)


def of_function(job: str, output: str, raised: BaseException, where: str | None, flawed: Flawed = lambda: None) -> JobError:
    """What a function of the user's raised in this process: its own traceback is the best there is."""
    line = _innermost(raised) or where
    if isinstance(raised, HeadraceError):  # of a sink, in its own words
        kind = type(raised) if isinstance(raised, JobError) else JobError
        return kind(f"job {job!r} stopped at {output}: {raised.what}", fix=raised.fix, where=raised.where or line)
    if isinstance(raised, AnalysisException):
        what, fix = refusals.words(raised, {})
        return JobError(f"job {job!r} stopped at {output}: {secrets.hide(what)}", fix=fix, where=line)
    error = _job_error(job, output, _text(raised), line, flawed)
    if not isinstance(raised, PySparkException):
        error.__cause__ = raised
        if error.fix == _in_the_log():
            error.fix = _FUNCTION + error.fix
    return error


@contextmanager
def of_look(where: str | None) -> Iterator[None]:
    """Turns the failure of a look at a stream into JobError."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        text = _text(error)
        fix = _fix(text) + _in_the_log()
        raise JobError(f"there are no rows to show: {_plain(text)}", fix=fix, where=_line(text) or where) from None


def _job_error(job: str, output: str, text: str, where: str | None, flawed: Flawed = lambda: None) -> JobError:
    ours = _OURS.search(text)
    if ours is not None:  # raised by headrace on a worker
        what, at, fix = ours.groups()
        return JobError(f"job {job!r} stopped at {output}: {what}", fix=f"{fix}; {_in_the_log()}", where=at or where)
    fix, what = _fix(text), _plain(text)
    if not fix and "Traceback (most recent call last):" in text:
        fix = _FUNCTION
    if not fix and (damage := _damage(text) or (flawed() if _LOADING in text else None)) is not None:
        file, flaw = damage
        what, fix = f"{file} {flaw}", f"{damages.way_on(file)}; "
    return JobError(f"job {job!r} stopped at {output}: {what}", fix=fix + _in_the_log(), where=_line(text) or where)


def _damage(text: str) -> tuple[str, str] | None:
    """The file of a checkpoint that a message names as damaged, and what it says of it."""
    if not _DAMAGED.search(text) or (file := damages.named(text)) is None:
        return None
    line = next(line for line in text.splitlines() if file in line)
    return file, f"is damaged: {secrets.hide(_CLASS.sub('', line))}"


def _fix(text: str) -> str:
    return next((fix for sign, fix in _FIXES.items() if sign in text), "")


def _in_the_log() -> str:
    return f"the whole story is in Spark's log, {launch.log()}"


_OURS = re.compile(r"^headrace\.errors\.\w+: (.*)\n(?:  at   (\S+)\n)?  fix  (.*)$", re.MULTILINE)
_LOADING = "CANNOT_LOAD_STATE_STORE"
_CLASS = re.compile(r"^\s*(Caused by: )?[\w.$]+(Exception|Error): ")
_DAMAGED = re.compile(r"checksum|does not exist|incomplete|EOF|corrupt", re.IGNORECASE)
_FUNCTION = "mend the function at that line, or let it return None for what it cannot do; "
_WRITABLE = "make the directory that is named writable, or write to another; "
_TOO_LARGE = (
    'write less of a row, of dead letters the bytes alone (value="raw"); or allow larger ones, options={"kafka.max.request.size": …} here'
    " and max.message.bytes of the topic; "
)
_FIXES = {
    "[CAST_INVALID_INPUT]": "write .try_cast('int') for .cast('int'), which gives null there, or leave such records out before; ",
    "[CAST_OVERFLOW": "cast to a wider type, such as bigint or double, or write .try_cast(…), which gives null there; ",
    "[DIVIDE_BY_ZERO]": "write F.try_divide(a, b), which gives null there, or leave such records out before; ",
    "[REMAINDER_BY_ZERO]": "write F.try_mod(a, b), which gives null there, or leave such records out before; ",
    "ARITHMETIC_OVERFLOW]": "cast to a wider type before, .cast('bigint') or .cast('double'); F.try_add and the like give null there; ",
    "[INVALID_ARRAY_INDEX": "write F.get(list, 0) or F.try_element_at(list, F.lit(1)), which give null there; ",
    "[CANNOT_PARSE_TIMESTAMP]": "write F.try_to_timestamp(…), which gives null there; ",
    "[NOT_NULL_ASSERT_VIOLATION": "leave records without a value out before: .where(F.col('name').isNotNull()); ",
    "[USER_RAISED_EXCEPTION]": "a condition of the program's own was not met: mend the records that it names, or the condition; ",
    "[TABLE_OR_VIEW_NOT_FOUND]": "make it before the job starts, table.createOrReplaceTempView('name'), or give the DataFrame itself; ",
    "pyarrow.lib.Arrow": "give values of the types that the schema names; ",
    "data may have been lost": "records went before they were read: keep the topic longer, start under another name to go on; ",
    "UnknownTopicOrPartitionException": "a topic is gone: make it again and start the job under another name; ",
    "Cannot run program": "no such Python is there, where tasks run: install it, or name one that is in PYSPARK_PYTHON; ",
    "PYTHON_VERSION_MISMATCH]": "give tasks the Python of this program: a path that all machines have, in PYSPARK_PYTHON; ",
    "ModuleNotFoundError": "install it in the Python of the tasks (PYSPARK_PYTHON), or put it beside the program; ",
    "Permission denied": _WRITABLE,
    "Parent path is not a directory": _WRITABLE,
    "Mkdirs failed": _WRITABLE,
    "mkdir of": _WRITABLE,
    "max.request.size": _TOO_LARGE,
    "larger than the max message size the server will accept": _TOO_LARGE,
    "No space left on device": "make room there; ",
    "Connection refused": "nothing listens where the job reads or writes: check host and port, start the server first; ",
    "INSUFFICIENT_SLOT": "other work had task slots that the job needed for its next batch: have some to spare, and start it again; ",
    "Malformed records are detected": "a line of a file does not fit the schema: mend the file, or give a schema that fits it; ",
    "sets itself again and again": "give the scan idle=…, or let the timer's `at` become null; ",
    "the most that it may have": "let rows leave sooner (expire), remove those that are done with (each), or allow more: Bag(most=…); ",
    "SCHEMA_NOT_COMPATIBLE": "the state is not what it was: start the job under another name; ",
}


def _line(text: str) -> str | None:
    """The user's line in a message: where a column was made, which PySpark remembers, or the innermost of a Python traceback."""
    made = re.search(r"was called from\n(\S+:\d+)", text)
    frames = [f"{file}:{line}" for file, line in re.findall(r'File "([^"]+)", line (\d+)', text) if _is_program(file)]
    return made.group(1) if made else frames[-1] if frames else None


def _innermost(raised: BaseException) -> str | None:
    """The user's line, of all that an exception went through, that is nearest to where it was raised."""
    frames = [f"{frame.filename}:{frame.lineno}" for frame in extract_tb(raised.__traceback__) if _is_program(frame.filename)]
    return frames[-1] if frames else None


def _is_program(file: str) -> bool:
    """Whether a file is the user's own, and not one of a library that it calls."""
    return is_users(file) and Path(file).is_absolute() and not file.startswith(_LIBRARIES)


_LIBRARIES = tuple({sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")})
