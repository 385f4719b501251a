"""Where the elements of a pipeline come from: values in the program, Beam's bounded sources, its TestStream, a stream of headrace's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from apache_beam.io.iobase import BoundedSource
from apache_beam.testing.test_stream import ElementEvent, TestStream, WatermarkEvent
from apache_beam.utils.timestamp import MAX_TIMESTAMP
from apache_beam.utils.windowed_value import WindowedValue
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headrace.errors import DefinitionError, user_line
from headrace.fronts import read
from headrace.fronts.beam import elements
from headrace.fronts.beam.elements import COLUMNS, ENDED, FIRST, Row
from headrace.fronts.beam.transforms import ReadFromStream
from headrace.fronts.stream import Stream
from headrace.kernel.event_time import WATERMARK


def values(given: Iterable[Any]) -> Stream:
    """Values that the program has. Then the source is at its end."""
    return elements_of(map(elements.first, given))


def elements_of(given: Iterable[WindowedValue]) -> Stream:
    """The same of elements with their timestamps and windows."""
    return _marked([(elements.packed(each), FIRST) for each in given], [(None, ENDED)])


def _marked(*batches: Sequence[tuple[bytes | None, datetime]]) -> Stream:
    """Elements, and between them rows without a value: those move the watermark to their time, and go no further."""
    return _first(read.memory(COLUMNS, *batches).event_time("time", "0 seconds", mark="value is null")).where("value is not null")


def _first(stream: Stream) -> Stream:
    """The same with elements at the first of all times; the watermark goes on as it does."""

    def held(df: DataFrame) -> DataFrame:
        # Not just that time: a condition behind it must not keep the marks from where the watermark is taken.
        time = F.least("time", F.lit(FIRST)).alias("time", metadata={WATERMARK: 0} if df.isStreaming else {})
        return df.select(*(time if name == "time" else F.col(f"`{name}`") for name in df.columns))

    return stream.then(held)


def bounded(source: BoundedSource) -> Stream:
    """A source of Beam's, read by one task."""
    return values([b""]).flat_map(_Reading(source), "value binary", keep=["time"])


class _Reading:
    def __init__(self, source: BoundedSource) -> None:
        self.source = source

    def __call__(self, record: Row) -> Iterable[Row]:  # noqa: ARG002 - one record, for one call
        for value in self.source.read(self.source.get_range_tracker(None, None)):
            yield {"value": elements.packed(elements.first(value))}


def test_stream(transform: TestStream) -> Stream:
    """A micro-batch for each event. A watermark is a row without a value: it moves the time, and goes no further."""
    batches: list[Sequence[tuple[bytes | None, datetime]]] = []
    for event in transform._events:
        if isinstance(event, ElementEvent):
            batches.append([(elements.packed(elements.first(each.value, each.timestamp)), FIRST) for each in event.timestamped_values])
        elif isinstance(event, WatermarkEvent):
            ends = event.new_watermark >= MAX_TIMESTAMP
            batches.append([(None, ENDED if ends else elements.to_time(event.new_watermark))])
        else:
            raise DefinitionError(
                "TestStream: the clock cannot be advanced here", fix="leave out advance_processing_time: no trigger goes by the clock",
                where=user_line(),
            )  # fmt: skip
    return _marked(*batches)


def stream(transform: ReadFromStream) -> Stream:
    """The records of a stream as dicts, with their time if that is known."""
    record = F.struct(*(F.col(f"`{name}`") for name in transform.stream.columns))
    time = F.lit(FIRST) if transform.time is None else F.col(f"`{transform.time}`")
    read_time = transform.stream.select(record.alias("record"), time.alias("time"))
    timed = read_time.event_time("time", transform.delay)
    paired = timed.with_columns(at=F.col("time"))
    return _first(paired).flat_map(_Record(timed=transform.time is not None), "value binary", keep=["time"])


class _Record:
    def __init__(self, *, timed: bool) -> None:
        self.timed = timed

    def __call__(self, record: Row) -> list[Row]:
        timestamp = elements.to_timestamp(record["at"] if self.timed else None)
        return [{"value": elements.packed(elements.first(record["record"], timestamp))}]
