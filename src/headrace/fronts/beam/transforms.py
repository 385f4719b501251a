"""The two ends that a pipeline has on headrace: a stream of headrace's as a PCollection, and a PCollection as one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import apache_beam as beam
from apache_beam import pvalue
from apache_beam.transforms.window import GlobalWindows

from headrace.definitions import arguments, durations
from headrace.errors import DefinitionError, user_line
from headrace.fronts.stream import Stream
from headrace.planning.recipe import Output


class ReadFromStream(beam.PTransform):  # type: ignore[misc]
    """The records of a stream of headrace's, each a dict of its columns: `p | ReadFromStream(hr.read.kafka("bids", schema=…), time="at")`.

    time   the column that is the element's timestamp, and moves the watermark. Without it, elements have Beam's first timestamp, and
           what waits for the watermark waits for the end of the input.
    delay  so late may records come.

    In every mode in which the stream can be read.
    """

    def __init__(self, stream: Stream, *, time: str | None = None, delay: str = "0 seconds") -> None:
        super().__init__()
        if not isinstance(stream, Stream):
            raise DefinitionError(
                f"ReadFromStream: {arguments.shown(stream)} is no stream",
                fix="give one: hr.read.kafka('bids', schema=…)",
                where=user_line(),
            )
        self.time = None if time is None else stream._named("ReadFromStream: time", [time])[0]
        durations.delay(delay, "ReadFromStream: delay")
        self.stream, self.delay = stream, delay

    def expand(self, pbegin: pvalue.PBegin) -> pvalue.PCollection:
        return pvalue.PCollection(pbegin.pipeline, is_bounded=getattr(pbegin.pipeline.runner, "mode", None) == "batch")

    def get_windowing(self, inputs: Any) -> Any:  # noqa: ARG002 - as Beam calls it
        return beam.Windowing(GlobalWindows())


class WriteToStream(beam.PTransform):  # type: ignore[misc]
    """The elements as rows of a stream of headrace's, which goes into one of its sinks.

    schema  the columns; an element is a dict of them, or a tuple or list in their order, or, of one column, the value
    to      a function of the stream that gives an output: `lambda rows: rows.to.kafka("counts", create=True)`
    """

    def __init__(self, schema: str, to: Callable[[Stream], Output]) -> None:
        super().__init__()
        self.schema, self.to = schema, to

    def expand(self, pcoll: pvalue.PCollection) -> pvalue.PDone:
        return pvalue.PDone(pcoll.pipeline)
