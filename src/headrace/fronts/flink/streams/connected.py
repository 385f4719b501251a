"""Two streams that share a function: connected, keyed or not, and with a broadcast stream."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headrace.definitions import arguments
from headrace.errors import DefinitionError, user_line
from headrace.fronts.flink import codec, functions
from headrace.fronts.flink.running.both import Either
from headrace.fronts.flink.running.chain import Link
from headrace.fronts.flink.running.process import By, Spec
from headrace.fronts.flink.running.state import MapStateDescriptor
from headrace.fronts.flink.streams.datastream import DataStream
from headrace.fronts.flink.streams.keyed import KeyedStream, run, timers_by
from headrace.fronts.flink.streams.parts import Part, Parts, check_together
from headrace.fronts.flink.types import TypeInformation, Types, declared
from headrace.fronts.stream import Stream


class BroadcastStream:
    """A stream for every task; `DataStream.broadcast` makes it."""

    def __init__(self, stream: DataStream, descriptors: tuple[Any, ...]) -> None:
        if not descriptors or not all(isinstance(each, MapStateDescriptor) for each in descriptors):
            raise DefinitionError(
                "broadcast: it is not said which state the stream fills",
                fix="give a MapStateDescriptor: broadcast(rules)",
                where=user_line(),
            )
        self.stream = stream


class ConnectedStreams:
    """Two streams; `DataStream.connect` makes it."""

    def __init__(self, one: DataStream, other: DataStream) -> None:
        self._one, self._other = one, other

    def key_by(self, key_selector1: Any, key_selector2: Any, key_type: TypeInformation | None = None) -> ConnectedStreams:
        """Both by key: what has one key meets one state."""
        one, other = self._one.key_by(key_selector1, key_type), self._other.key_by(key_selector2, key_type)
        return ConnectedStreams(one, other)

    def map(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        """A `CoMapFunction`: `map1` of the first stream's values, `map2` of the second's."""
        checked = functions.require("map", func, functions.CoMapFunction, "map1", "map2")
        return self._stateless("map", checked, (checked.map1, checked.map2), output_type)

    def flat_map(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        """A `CoFlatMapFunction`: `flat_map1` and `flat_map2`."""
        checked = functions.require("flat_map", func, functions.CoFlatMapFunction, "flat_map1", "flat_map2")
        return self._stateless("flat_map", checked, (checked.flat_map1, checked.flat_map2), output_type)

    def _stateless(self, kind: str, func: Any, calls: tuple[Any, Any], output_type: TypeInformation | None) -> DataStream:
        if self._keyed:
            return self.process(Either(kind, func), output_type)
        result = declared(f"{kind}: output_type", output_type)
        both = [stream._parts.then(Link(kind, call, func), result) for stream, call in zip((self._one, self._other), calls, strict=True)]
        return DataStream(self._one._env, both[0].also(both[1], kind))

    @property
    def _keyed(self) -> bool:
        return isinstance(self._one, KeyedStream) and isinstance(self._other, KeyedStream)

    def process(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        """A `CoProcessFunction`, or with keys a `KeyedCoProcessFunction`: state that both streams share, and timers."""
        checked = functions.require("process", func, functions.CoProcessFunction, "process_element1", "process_element2")
        result = declared("process: output_type", output_type)
        if not self._keyed:
            calls = (checked.process_element1, checked.process_element2)
            made = [
                part.parted(Link("process", call, checked), result)
                for stream, call in zip((self._one, self._other), calls, strict=True)
                for part in stream._parts.parts
            ]
            check_together("process", self._one._parts, self._other._parts)
            return DataStream(self._one._env, Parts(tuple(part for part, _ in made)), [side for _, side in made])
        both = together("process", self._one, self._other)
        by = timers_by("process", checked, timed=both.timed)
        reads = (self._one.get_type().reading(), self._other.get_type().reading())
        spec = Spec(checked, by, ("process_element1", "process_element2"), reads, _key(self._one).reading(), result.writing())
        return run(self._one, both, spec, result)


class BroadcastConnectedStream:
    """A stream with a broadcast one; `DataStream.connect` makes it."""

    def __init__(self, one: DataStream, other: DataStream) -> None:
        self._one, self._other = one, other

    def process(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        """A `BroadcastProcessFunction`, or for a keyed stream a `KeyedBroadcastProcessFunction`.

        Each of the environment's tasks (`set_parallelism`) has all broadcast records, in the order of their partition, and a copy of the
        state. Within a batch they come first; a record that came before them in an earlier batch did not see them.
        """
        methods = ("process_element", "process_broadcast_element")
        checked = functions.require("process", func, functions.BroadcastProcessFunction, *methods)
        result = declared("process: output_type", output_type)
        keyed = self._one if isinstance(self._one, KeyedStream) else self._one.key_by(_spread, Types.INT())
        if functions.defines(checked, "on_timer") and functions.mentions(checked, "register_event_time_timer"):
            raise DefinitionError(
                f"process: {type(checked).__name__} sets timers by event time, and broadcast records have none that data could wait for",
                fix="use register_processing_time_timer; or headrace's own as_of, for the rules as of a record's time", where=user_line(),
            )  # fmt: skip
        both = together("process", keyed, self._other, tasks=self._one._env.get_parallelism())
        by: By = "clock" if functions.defines(checked, "on_timer") else None
        reads = (self._one.get_type().reading(), self._other.get_type().reading())
        spec = Spec(checked, by, methods, reads, keyed._key, result.writing(), tasks=True)
        return run(self._one, replace(both, timed=False), spec, result, keys=("task",))


def connected(one: DataStream, other: Any) -> Any:
    """Two streams, of which the second may be a broadcast one."""
    if isinstance(other, BroadcastStream):
        return BroadcastConnectedStream(one, other.stream)
    if not isinstance(other, DataStream):
        raise DefinitionError(
            f"connect: {arguments.shown(other)} is no stream", fix="give a DataStream, or stream.broadcast(…)", where=user_line()
        )
    return ConnectedStreams(one, other)


def together(at: str, one: DataStream, other: DataStream, tasks: int | None = None) -> Part:
    """The records of both in one stream: `second` tells whose they are, `value` and `value2` hold what they are. With `tasks`, those of
    the second for each task."""
    assert isinstance(one, KeyedStream)
    ours = one._part
    if tasks is None:
        check_together(at, one._parts, other._parts)
        theirs = _keyed_part(other)
        if _key(one).spark != _key(other).spark:
            raise DefinitionError(
                f"{at}: the keys of the streams are of {_key(one)} and of {_key(other)}", fix="give both one type: key_by(…, key_type=…)",
                where=user_line(),
            )  # fmt: skip
    else:
        theirs = other._made()
    kinds = one.get_type().spark, other.get_type().spark
    first = ours.stream.select(
        "time", "value", "key", F.lit(False).alias("second"), F.lit(None).cast(kinds[1]).alias("value2"), *_task(tasks, False)
    )
    key = "key" if tasks is None else F.lit(None).cast(_key(one).spark).alias("key")
    second = theirs.stream.select(
        "time",
        F.lit(None).cast(kinds[0]).alias("value"),
        key,
        F.lit(True).alias("second"),
        F.col("value").alias("value2"),
        *_task(tasks, True),
    )
    if tasks is not None:  # their times do not go on together
        first, second = _untimed(first), _untimed(second)
    return replace(ours, stream=second.union(first), timed=ours.timed and theirs.timed, has_time=ours.has_time and theirs.has_time)


def _task(tasks: int | None, everywhere: bool) -> list[Any]:
    if tasks is None:
        return []
    if everywhere:
        return [F.explode(F.sequence(F.lit(0), F.lit(tasks - 1))).alias("task")]
    return [F.pmod(F.xxhash64("key"), F.lit(tasks)).cast("int").alias("task")]


def _untimed(stream: Stream) -> Stream:
    def plain(df: DataFrame) -> DataFrame:
        return df.withColumn("time", F.timestamp_micros(F.unix_micros("time")))

    return stream.then(plain)


def _keyed_part(stream: DataStream) -> Part:
    assert isinstance(stream, KeyedStream)
    return stream._part


def _key(stream: DataStream) -> TypeInformation:
    assert isinstance(stream, KeyedStream)
    return stream._key_type


def _spread(value: Any) -> int:
    """A task for each record of a stream without keys."""
    return zlib.crc32(codec.dumps(value)) & 0x7FFFFFFF
