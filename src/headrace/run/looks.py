"""A look at a stream: at most so many of its rows, from a run of which nothing remains.

A batch over what the sources have now, if the table of modes has one for this stream; else micro-batches, until there are enough rows, or
all there is has been read, or, of a source without an end, the time is over. No more rows than asked for ever leave Spark's tasks.
"""

from __future__ import annotations

import itertools
import tempfile
import time
from typing import Any, ClassVar

from pyspark.sql import DataFrame, SparkSession

from headrace.definitions.guarantees import Modes
from headrace.errors import DefinitionError, ModeError, user_line
from headrace.io.connectors import Calls, Run, Sink, Writer, computed, positive
from headrace.io.memory import MemorySink
from headrace.planning import modes, slots
from headrace.planning.recipe import Frames, Output, Step
from headrace.planning.triggers import Trigger, once
from headrace.run.streaming import Start
from headrace.spark import failures

_GLANCE = 0.05
_numbers = itertools.count(1)


class _Rows(Sink):
    """The first rows that come. They stay in Spark's JVM, as they are."""

    kind: ClassVar[str] = "memory"
    modes: ClassVar[Modes] = MemorySink.modes
    name = "rows"

    def __init__(self, n: int, preview: DataFrame) -> None:
        self._n, self._schema = n, preview._jdf.schema()
        self._spark = SparkSession.active()
        self._list: Any = self._spark._jvm.java.util.ArrayList()  # type: ignore[union-attr]

    @property
    def enough(self) -> bool:
        return int(self._list.size()) >= self._n

    def take(self, frame: DataFrame) -> None:
        self._list.addAll(frame.limit(self._n - self._list.size())._jdf.collectAsList())

    def open(self, run: Run) -> Writer:  # noqa: ARG002
        return Calls(self._take_computed)

    def _take_computed(self, frame: DataFrame, batch: int) -> None:  # noqa: ARG002
        with computed(frame) as rows:
            self.take(rows)

    def frame(self) -> DataFrame:
        return DataFrame(self._spark._jsparkSession.createDataFrame(self._list, self._schema), self._spark)


def look(step: Step, n: int, seconds: float) -> DataFrame:
    """A local DataFrame of at most n rows."""
    positive(n=n)
    if not seconds > 0:
        raise DefinitionError(f"seconds={seconds!r} is no time", fix="give seconds=1 or more", where=user_line())
    rows = _Rows(n, step.preview)
    output = Output(step, rows, user_line())
    try:
        modes.check([output], "batch")
    except ModeError:
        _as_stream(output, rows, seconds)
    else:
        _as_batch(output, rows)
    return rows.frame()


def _as_batch(output: Output, rows: _Rows) -> None:
    slots.check_one()
    for source in set(output.step.sources()):
        source.check()
    with failures.of_look(output.where):
        rows.take(Frames(lambda source: source.table())[output.step])


def _as_stream(output: Output, rows: _Rows, seconds: float) -> None:
    """Under a name that no job has, for Spark does not take one twice; and with a checkpoint that is gone afterwards."""
    ends = all(modes.has_end(source) for source in output.step.sources())
    with tempfile.TemporaryDirectory(prefix="headrace-look-", ignore_cleanup_errors=True) as checkpoint:
        start = Start(f"look-{next(_numbers)}", "micro-batch", once if ends else Trigger(), None, checkpoint)
        with start([output]) as running:
            deadline = float("inf") if ends else time.monotonic() + seconds
            while not rows.enough and time.monotonic() < deadline and not running.wait(_GLANCE):
                pass
