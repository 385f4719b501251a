"""All that is asked of the windows of a stream, in one value."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headrace.kernel.expressions.clocks import now
from headrace.ops import merging
from headrace.ops.windows import assigning
from headrace.ops.windows.kinds import Window
from headrace.ops.windows.panes import Accumulation
from headrace.ops.windows.triggers import Trigger

_output_mode: ContextVar[str] = ContextVar("output_mode", default="update")


@contextmanager
def put_out(output_mode: str) -> Iterator[None]:
    """What is planned meanwhile is for a job with this output mode: windows without a trigger of their own put out rows as it says."""
    token = _output_mode.set(output_mode)
    try:
        yield
    finally:
        _output_mode.reset(token)


@contextmanager
def final() -> Iterator[None]:
    """What is planned meanwhile puts out rows that do not change any more, unless the job puts out its whole result each time."""
    with put_out("append" if _output_mode.get() == "update" else _output_mode.get()):
        yield


@dataclass(frozen=True)
class Windowing:
    """
    window        how the stream is cut
    by            the keys
    on            the column of the time; None: the clock's, or, for windows that do not ask for the time, none
    by_clock      the time is the clock's
    timed         there is a watermark, and so what is late
    trigger       when a pane goes out; None: as the job's output mode says
    lateness      how long after its end a window takes records, in microseconds
    accumulation  what is in a pane
    """

    window: Window
    by: tuple[str, ...] = ()
    on: str | None = None
    by_clock: bool = False
    timed: bool = False
    trigger: Trigger | None = None
    lateness: int = 0
    accumulation: Accumulation = "accumulating"
    delay: str = "0 seconds"
    mode: str = "update"

    def now(self) -> Windowing:
        """The same for the job that is being planned."""
        return replace(self, mode=_output_mode.get())

    def described(self) -> dict[str, Any]:
        """What a checkpoint depends on, in plain values."""
        return {
            **self.window.described(),
            "lateness": self.lateness,
            "trigger": str(self.trigger),
            "panes": self.accumulation,
            "timed": self.timed,
        }

    @property
    def updates(self) -> bool:
        """Whether a row goes out whenever its window has changed, and not when the window has ended."""
        return self.mode != "append"

    def with_time(self, df: DataFrame) -> tuple[DataFrame, Column]:
        """The records, and their time in microseconds."""
        if self.on is not None:
            return df, assigning.micros(df, self.on)
        if not self.by_clock:
            return df, F.lit(0)
        name = merging.unused("_now", df)
        return df.withColumn(name, now()), F.unix_micros(name)

    def borders(self, df: DataFrame, start: Column, end: Column) -> list[Column]:
        """Start and end as they come out, of the kind that the time is."""
        local = self.on is not None and isinstance(df.schema[self.on].dataType, T.TimestampNTZType)
        kind = "timestamp_ntz" if local else "timestamp"
        return [start.cast(kind).alias("start"), end.cast(kind).alias("end")]
