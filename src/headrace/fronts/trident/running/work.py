"""The work of a node on one partition: called in this process, or sent to a Spark task. Errors get the operation's name and line."""

from __future__ import annotations

import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from traceback import extract_tb
from typing import Any

from headrace.errors import HeadraceError, JobError, is_users
from headrace.fronts.trident.operations import Task, TransactionAttempt
from headrace.fronts.trident.states.kinds import StateFactory
from headrace.fronts.trident.tuples import FailedException, Row

_LIBRARIES = tuple(f"{sysconfig.get_path(kind)}/" for kind in ("stdlib", "platstdlib", "purelib", "platlib"))


@dataclass(frozen=True)
class Work:
    """`function(task, rows)`, with its needs elsewhere. `opens`: the state that it gets there, `function(task, state, rows)`."""

    label: str
    where: str | None
    function: Callable[..., Iterable[Any]]
    batch: TransactionAttempt
    partitions: int
    conf: Mapping[str, Any]
    operations: tuple[Any, ...] = ()
    opens: StateFactory | None = None

    def __call__(self, partition: int, *rows: list[Row]) -> list[Any]:
        """Here, where the operations are prepared and the states are open."""
        with named(self.label, self.where):
            return list(self.function(self._task(partition), *rows))

    def alone(self, partition: int, *rows: list[Row]) -> list[Any]:
        """In a process that knows nothing: with `prepare` and `cleanup` around it, and a state of its own."""
        task = self._task(partition)
        with named(self.label, self.where), prepared(self.operations, self.conf):
            if self.opens is None:
                return list(self.function(task, *rows))
            if not any(rows):
                return []
            state = self.opens.makeState(self.conf, partition, self.partitions)
            try:
                return list(self.function(task, state, *rows))
            finally:
                close(state)

    def _task(self, partition: int) -> Task:
        return Task(self.batch, partition, self.partitions, self.conf)


@contextmanager
def prepared(operations: Iterable[Any], conf: Mapping[str, Any]) -> Iterator[None]:
    """`prepare` before, `cleanup` afterwards, of those that have them."""
    called = [operation for operation in operations if hasattr(operation, "prepare") and hasattr(operation, "cleanup")]
    for operation in called:
        operation.prepare(conf, None)
    try:
        yield
    finally:
        for operation in called:
            operation.cleanup()


def close(state: Any) -> None:
    """Let go of what a state holds, if it says how."""
    if callable(end := getattr(state, "close", None)):
        end()


@contextmanager
def named(label: str, where: str | None) -> Iterator[None]:
    """What user code raises is a JobError with the operation and the line, except what means that the batch shall be replayed."""
    try:
        yield
    except FailedException as error:  # one of the user's own kind, too: of a task only the text comes back
        raise FailedException(f"{label}: {error}") from error
    except HeadraceError as error:
        error.where = error.where or where
        raise
    except Exception as error:
        raise JobError(
            f"{label}: {type(error).__name__}: {error}", fix="mend the operation; raise FailedException to have the batch replayed",
            where=_innermost(error) or where,
        ) from error  # fmt: skip


def _innermost(error: BaseException) -> str | None:
    frames = [frame for frame in extract_tb(error.__traceback__) if is_users(frame.filename) and Path(frame.filename).is_absolute()]
    ours = [frame for frame in frames if not frame.filename.startswith(_LIBRARIES)]
    return f"{ours[-1].filename}:{ours[-1].lineno}" if ours else None
