"""Spark's failures in words: what happened, where in the user's program, and what to do. The trace stays in Spark's log."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from headrace.errors import DefinitionError, JobError, is_users
from headrace.io import secrets
from headrace.run.session import log

_UNKNOWN_COLUMN = ("UNRESOLVED_COLUMN", "UNRESOLVED_USING_COLUMN_FOR_JOIN", "COLUMN_NOT_FOUND")


@contextmanager
def of_definition(operator: str, where: str | None, inputs: Sequence[DataFrame]) -> Iterator[None]:
    """Turns Spark's analysis errors into DefinitionError at the user's line."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        condition = (error.getCondition() if isinstance(error, PySparkException) else None) or ""
        if condition.startswith(_UNKNOWN_COLUMN):
            raise _unknown_column(operator, where, inputs, error) from None
        fix = next((fix for sign, fix in _HINTS.items() if sign in str(error)), "change it as the message says")
        raise DefinitionError(f"{operator}: {first_line(error)}", fix=fix, where=where) from None


def _unknown_column(operator: str, where: str | None, inputs: Sequence[DataFrame], error: PySparkException) -> DefinitionError:
    parameters = error.getMessageParameters() or {}
    name = parameters.get("objectName", parameters.get("colName", "?")).replace("`", "")
    nearest = [found.strip("` ") for found in parameters.get("proposal", "").split(",") if found.strip("` ")]
    columns = [column for frame in inputs for column in frame.columns]
    hint = f"did you mean {nearest[0]!r}? " if nearest else ""
    return DefinitionError(f"{operator}: there is no column {name!r}", fix=f"{hint}The columns here are {', '.join(columns)}", where=where)


_HINTS = {
    "Queries with streaming sources": "a stream has no rows while it is defined: no count, collect or show; `.to.callback` gets them",
    "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN": "give a condition: a column that is true or false",
    "CANNOT_PARSE_INTERVAL": "write a duration like '10 minutes'",
    "PARSE_SYNTAX_ERROR": "mend the expression or the schema; a schema reads like 'name string, amount double'",
}


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
    text = re.sub(r"\s*SQLSTATE: \w+|;$", "", text.strip().split("\n")[0])
    return secrets.hide(re.sub(r"^\[[A-Z0-9_.]+\]\s*", "", text))


def root_cause(throwable: Any) -> str:
    """The message of the innermost Java exception, or of the one around it that is known to say more."""
    messages = []
    while throwable is not None:
        messages.append(str(throwable.getMessage() or throwable.toString()))
        throwable = throwable.getCause()
    return next((text for text in reversed(messages) if any(sign in text for sign in _FIXES)), messages[-1])


@contextmanager
def of_job(job: str, output: str) -> Iterator[None]:
    """Turns the failure of a batch, or of a query's start, into JobError."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        raise _job_error(job, output, _text(error)) from None


def of_query(job: str, query: str, exception: Any, raised: BaseException | None) -> JobError:
    """The end of a streaming query, as Spark recorded it; `raised` if it was Python code that raised."""
    error = _job_error(job, query, root_cause(exception) if raised is None else _text(raised))
    if raised is not None and not isinstance(raised, PySparkException):
        error.__cause__ = raised  # the user's own function: its traceback is the best there is
    return error


def _job_error(job: str, output: str, text: str) -> JobError:
    fix = next((fix for sign, fix in _FIXES.items() if sign in text), "") + f"the whole story is in Spark's log, {log()}"
    return JobError(f"job {job!r} stopped at {output}: {_plain(text)}", fix=fix, where=_line(text))


_WRITABLE = "make the directory that is named writable, or write to another; "
_FIXES = {
    "data may have been lost": "records went before they were read: keep the topic longer, start under another name to go on; ",
    "UnknownTopicOrPartitionException": "a topic is gone: make it again and start the job under another name; ",
    "Permission denied": _WRITABLE,
    "Parent path is not a directory": _WRITABLE,
    "Mkdirs failed": _WRITABLE,
    "mkdir of": _WRITABLE,
    "No space left on device": "make room there; ",
    "Connection refused": "nothing listens where the job reads or writes: check host and port, start the server first; ",
    "INSUFFICIENT_SLOT": "other work had task slots that the job needed for its next batch: have some to spare, and start it again; ",
    "sets itself again and again": "give the scan idle=…, or let the timer's `at` become null; ",
    "SCHEMA_NOT_COMPATIBLE": "the state is not what it was: start the job under another name; ",
}


def _line(text: str) -> str | None:
    """The user's line in a message: where a column was made, which PySpark remembers, or the innermost of a Python traceback."""
    made = re.search(r"was called from\n(\S+:\d+)", text)
    frames = [f"{file}:{line}" for file, line in re.findall(r'File "([^"]+)", line (\d+)', text) if is_users(file)]
    return made.group(1) if made else frames[-1] if frames else None
