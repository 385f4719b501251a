"""`DataStream`: functions of single records, and the ways to keys, windows, pairs and sinks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

from pyspark.sql import functions as F
from pyspark.sql import types as T

from headrace.definitions import arguments
from headrace.errors import DefinitionError, unknown_name, user_line
from headrace.fronts.flink import functions, times
from headrace.fronts.flink.functions import OutputTag
from headrace.fronts.flink.running.chain import Assign, Link, same
from headrace.fronts.flink.streams.parts import Part, Parts, objects
from headrace.fronts.flink.times import WatermarkStrategy
from headrace.fronts.flink.types import TypeInformation, declared
from headrace.fronts.stream import Stream

if TYPE_CHECKING:
    from headrace.fronts.flink.connectors import KafkaSink
    from headrace.fronts.flink.environment import StreamExecutionEnvironment
    from headrace.fronts.flink.streams.connected import BroadcastStream, ConnectedStreams
    from headrace.fronts.flink.streams.joined import CoGroupedStreams, JoinedStreams
    from headrace.fronts.flink.streams.keyed import KeyedStream
    from headrace.fronts.flink.streams.windowed import AllWindowedStream

_HINTS = {
    "iterate": "a stream cannot lead back to itself on Spark: write to a topic that the program reads, or iterate within a function",
    "split": "yield to side outputs in a process function: process(…), get_side_output(tag); or filter twice",
    "fold": "key_by(…).process(…) with a ValueState that begins with the value; or windows with aggregate(…)",
    "flatMap": "flat_map", "keyBy": "key_by", "countWindowAll": "count_window_all", "windowAll": "window_all", "sinkTo": "sink_to",
    "partition_custom": "leave it out: records go to where their key is", "sum": "key_by(…).sum(…)", "reduce": "key_by(…).reduce(…)",
    "window": "key_by(…).window(…), or window_all(…)",
}  # fmt: skip


class DataStream:
    """A stream of values of one type; each method makes another one. A function that declares no `output_type` gives objects: Python
    understands them, Spark does not."""

    def __init__(self, env: StreamExecutionEnvironment, parts: Parts, sides: Any = None) -> None:
        self._env, self._parts, self._sides = env, parts, sides

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise unknown_name("a DataStream", name, [each for each in dir(type(self)) if not each.startswith("_")], _HINTS)

    def __repr__(self) -> str:
        return f"DataStream[{self.get_type()}]"

    def get_type(self) -> TypeInformation:
        """The type of its values."""
        return self._parts.type

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """The environment that it belongs to."""
        return self._env

    def name(self, name: str) -> DataStream:
        """A name for Flink's pages; here it changes nothing."""
        arguments.text("name", name)
        return self

    uid = name

    def set_parallelism(self, parallelism: int) -> DataStream:
        """Nothing: how many tasks there are is Spark's `spark.sql.shuffle.partitions`, and of a topic its partitions."""
        self._env._positive("set_parallelism", parallelism)
        return self

    def _spread(self) -> DataStream:
        """Nothing: records go to tasks as Spark deals them out, and to where their key is."""
        return self

    rebalance = shuffle = rescale = forward = global_ = _spread

    # -- single records --------------------------------------------------------------------------------------------------------------

    def map(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        """One value of each: a function, or a `MapFunction`."""
        return self._link("map", "map", func, output_type)

    def flat_map(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        """Zero to many values of each: a function that gives or yields them, or a `FlatMapFunction`."""
        return self._link("flat_map", "flat_map", func, output_type)

    def filter(self, func: Any) -> DataStream:
        """The values for which a function, or a `FilterFunction`, says true."""
        call = functions.caller("filter", func, "filter", "value")
        return self._of(self._parts.then(Link("filter", call, func)))

    def _link(self, kind: str, method: str, func: Any, output_type: TypeInformation | None) -> DataStream:
        call = functions.caller(kind, func, method, "value")
        return self._of(self._parts.then(Link(kind, call, func), declared(f"{kind}: output_type", output_type)))

    def process(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        """A `ProcessFunction`: values, and (tag, value) for side outputs. State and timers need a key."""
        checked = functions.require("process", func, functions.ProcessFunction, "process_element")
        if functions.defines(checked, "on_timer"):
            raise DefinitionError("process: timers belong to a key", fix="call key_by before", where=user_line())
        result = declared("process: output_type", output_type)
        made = [part.parted(Link("process", checked.process_element, checked), result) for part in self._parts.parts]
        return self._of(Parts(tuple(part for part, _ in made)), [side for _, side in made])

    def get_side_output(self, output_tag: OutputTag) -> DataStream:
        """What the process function before put out under this tag. Ask the stream that it gave, before anything else is done with it."""
        if not isinstance(output_tag, OutputTag):
            raise DefinitionError(
                f"get_side_output: {arguments.shown(output_tag)} is no OutputTag", fix="give the tag that the function yields to",
                where=user_line(),
            )  # fmt: skip
        if self._sides is None:
            raise DefinitionError(
                "get_side_output: only what a process function or a window gave has side outputs",
                fix="ask the stream that process(…) gave, before anything follows it", where=user_line(),
            )  # fmt: skip
        if callable(self._sides):
            return self._of(self._sides(output_tag))
        tagged = [side.where(F.col("tag") == output_tag.tag_id).select("time", "value") for side in self._sides]
        parts = [
            objects(stream, output_tag.type_info, timed=part.timed, has_time=part.has_time)
            for stream, part in zip(tagged, self._parts.parts, strict=True)
        ]
        return self._of(Parts(tuple(parts)))

    def union(self, *streams: DataStream) -> DataStream:
        """The records of all of them, which have one type."""
        parts = self._parts
        for stream in streams:
            if not isinstance(stream, DataStream):
                raise DefinitionError(
                    f"union: {arguments.shown(stream)} is no DataStream", fix="give streams of this environment", where=user_line()
                )
            parts = parts.also(stream._parts, "union")
        return self._of(parts)

    # -- time and keys ---------------------------------------------------------------------------------------------------------------

    def assign_timestamps_and_watermarks(self, watermark_strategy: WatermarkStrategy) -> DataStream:
        """The time of each record, and how late records may be."""
        strategy = times.strategy("assign_timestamps_and_watermarks", watermark_strategy)
        return self._of(Parts(tuple(timed(part, strategy) for part in self._parts.parts)))

    def key_by(self, key_selector: Any, key_type: TypeInformation | None = None) -> KeyedStream:
        """What follows is done for each key on its own: a function of the value, a `KeySelector`, the name of a field, or its place."""
        from headrace.fronts.flink.streams.keyed import KeyedStream

        return KeyedStream.of(self, key_selector, key_type)

    def window_all(self, window_assigner: Any) -> AllWindowedStream:
        """Windows over all records: one task takes them."""
        from headrace.fronts.flink.streams.windowed import AllWindowedStream

        return AllWindowedStream.of(self._together(), window_assigner)

    def count_window_all(self, size: int, slide: int | None = None) -> AllWindowedStream:
        """Windows of so many records of all."""
        from headrace.fronts.flink.streams.windowed import AllWindowedStream

        return AllWindowedStream.counting(self._together(), size, slide)

    def _together(self) -> KeyedStream:
        from headrace.fronts.flink.streams.keyed import KeyedStream

        return KeyedStream.of(self, _nothing, None)

    # -- two streams -----------------------------------------------------------------------------------------------------------------

    def connect(self, ds: DataStream | BroadcastStream) -> ConnectedStreams:
        """Two streams that share a function, and state. With a `BroadcastStream` each task has all of its records."""
        from headrace.fronts.flink.streams.connected import connected

        both: ConnectedStreams = connected(self, ds)
        return both

    def broadcast(self, *broadcast_state_descriptors: Any) -> BroadcastStream:
        """This stream for every task, with the states that it fills."""
        from headrace.fronts.flink.streams.connected import BroadcastStream

        return BroadcastStream(self, broadcast_state_descriptors)

    def join(self, other: DataStream) -> JoinedStreams:
        """Pairs of one key and window: `join(other).where(…).equal_to(…).window(…).apply(…)`."""
        from headrace.fronts.flink.streams.joined import JoinedStreams

        return JoinedStreams(self, other)

    def co_group(self, other: DataStream) -> CoGroupedStreams:
        """Both lists of a key and window: `co_group(other).where(…).equal_to(…).window(…).apply(…)`."""
        from headrace.fronts.flink.streams.joined import CoGroupedStreams

        return CoGroupedStreams(self, other)

    # -- ends ------------------------------------------------------------------------------------------------------------------------

    def print(self, sink_identifier: str | None = None) -> DataStream:
        """Each value on a line of the driver's output, as Flink writes it; `sink_identifier>` before it."""
        self._env._add_print(self, sink_identifier)
        return self

    def sink_to(self, sink: KafkaSink) -> DataStream:
        """Into a sink: a `KafkaSink`."""
        self._env._add_sink(self, sink)
        return self

    def add_sink(self, sink_func: Any) -> DataStream:
        """Into a `KafkaSink`; or `sink_func(value)` on the driver, at least once for each value."""
        self._env._add_sink(self, sink_func)
        return self

    def execute_and_collect(self, job_execution_name: str | None = None, limit: int | None = None) -> Any:
        """Run the program, and give the values of this stream: an iterator, or with a limit a list. The sources must have an end."""
        values = self._env._collect(self, job_execution_name or "collect")
        return CloseableIterator(values) if limit is None else values[:limit]

    def to_stream(self) -> Stream:
        """The same in headrace's own words: a `Stream` whose columns are the fields, or `value`; and `time` if it has one."""
        part = self._parts.made()
        columns = [F.col(f"value.`{name}`") for name in part.type.spark.names] if isinstance(part.type.spark, T.StructType) else ["value"]
        return part.stream.select(*columns, *(["time"] if part.has_time else []))

    def _of(self, parts: Parts, sides: Any = None) -> DataStream:
        return DataStream(self._env, parts, sides)

    def _made(self) -> Part:
        return self._parts.made()


class CloseableIterator(Iterator[Any]):
    """The values of `execute_and_collect`."""

    def __init__(self, values: list[Any]) -> None:
        self._values = iter(values)

    def __next__(self) -> Any:
        return next(self._values)

    def close(self) -> None:
        """Leave the rest."""
        self._values = iter(())

    def __enter__(self) -> CloseableIterator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def timed(part: Part, strategy: WatermarkStrategy) -> Part:
    """A part whose records have the time that the strategy says."""
    if strategy.assigner is None and not part.has_time:
        raise DefinitionError(
            "assign_timestamps_and_watermarks: the records have no time", where=user_line(),
            fix="say which it is: strategy.with_timestamp_assigner(lambda value, timestamp: value[1])",
        )  # fmt: skip
    if strategy.assigner is not None:
        made = part.made({"time": (Assign(strategy.assigner), same, T.TimestampType())})
        part = replace(made, stream=made.stream.select("time", "value"))
    else:
        part = part.made()
    if strategy.delay is None:
        return replace(part, has_time=True, timed=False)
    return replace(
        part, stream=part.stream.event_time("time", f"{strategy.delay} milliseconds"), has_time=True, timed=True, idle=strategy.idle
    )


def _nothing(_: Any) -> int:
    """The key of all records together."""
    return 0
