"""`KeyedStream`: what is done for each key on its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headrace.definitions import arguments
from headrace.errors import DefinitionError, user_line
from headrace.fronts.flink import codec, functions
from headrace.fronts.flink.running import process
from headrace.fronts.flink.running.chain import Key
from headrace.fronts.flink.running.process import By, Spec
from headrace.fronts.flink.running.rolling import Final, Rolling
from headrace.fronts.flink.streams import scans, selecting
from headrace.fronts.flink.streams.datastream import DataStream
from headrace.fronts.flink.streams.parts import TIME, Part, Parts
from headrace.fronts.flink.types import Convert, TypeInformation, declared
from headrace.fronts.stream import Stream
from headrace.kernel.python.scanning import PythonScanOptions, PythonTimer
from headrace.kernel.scan import Timer
from headrace.ops.windows.assigning import LAST

if TYPE_CHECKING:
    from headrace.fronts.flink.streams.joined import IntervalJoined
    from headrace.fronts.flink.streams.windowed import PolicyWindowedStream, WindowedStream


class KeyedStream(DataStream):
    """A stream, taken apart by key; `DataStream.key_by` makes it."""

    _key_type: TypeInformation
    _part: Part

    @classmethod
    def of(cls, stream: DataStream, selector: Any, key_type: TypeInformation | None) -> KeyedStream:
        """The stream with the column `key`: a field as Spark has it, or what a function gives."""
        chosen = selecting.field(stream.get_type(), selector)
        keyed = cls(stream._env, stream._parts)
        if chosen is not None:
            keyed._key_type, column = chosen
            made = stream._parts.made()
            part = replace(made, stream=made.stream.with_columns(key=column))
        else:
            call = functions.caller("key_by", selector, "get_key", "value")
            keyed._key_type = declared("key_by: key_type", key_type)
            write = codec.key_bytes if keyed._key_type.is_object else keyed._key_type.writing()
            part = stream._parts.made({"key": (Key(call), write, keyed._key_type.spark)})
        keyed._part = part
        return keyed

    @property
    def _key(self) -> Convert:
        return self._key_type.reading()

    # -- one value for each record ---------------------------------------------------------------------------------------------------

    def reduce(self, func: Any) -> DataStream:
        """For each record what the key's records up to it are reduced to. As BATCH, the last of these alone."""
        call = functions.caller("reduce", func, "reduce", "value1", "value2")
        return self._rolling(call)

    def sum(self, position_to_sum: int | str = 0) -> DataStream:
        """For each record the sum of a field so far; other fields are those of the key's first record. As BATCH, the last alone."""
        return self._by_field("sum", position_to_sum, lambda known, new: known + new)

    def min(self, position_to_min: int | str = 0) -> DataStream:
        """The same for the least; other fields are those of the first record."""
        return self._by_field("min", position_to_min, F.least)

    def max(self, position_to_max: int | str = 0) -> DataStream:
        """The same for the greatest."""
        return self._by_field("max", position_to_max, F.greatest)

    def min_by(self, position_to_min_by: int | str = 0) -> DataStream:
        """For each record the one with the least field so far, the first of equal ones."""
        field = self._column("min_by", position_to_min_by)
        return self._native(lambda known, new: F.when(field(new) < field(known), new).otherwise(known))

    def max_by(self, position_to_max_by: int | str = 0) -> DataStream:
        """The same for the greatest."""
        field = self._column("max_by", position_to_max_by)
        return self._native(lambda known, new: F.when(field(new) > field(known), new).otherwise(known))

    def map_with_state(self, func: Callable[[Any, Any], tuple[Any, Any]], output_type: TypeInformation | None = None) -> DataStream:
        """`mapWithState` of Flink's Scala: `func(value, state)` gives the value that goes out and the new state; state None: forget it."""
        call = functions.caller("map_with_state", func, "map", "value", "state")
        return self.process(_WithState(call, several=False), output_type)

    def flat_map_with_state(self, func: Callable[[Any, Any], tuple[Any, Any]], output_type: TypeInformation | None = None) -> DataStream:
        """The same for zero to many values that go out."""
        call = functions.caller("flat_map_with_state", func, "flat_map", "value", "state")
        return self.process(_WithState(call, several=True), output_type)

    def _by_field(self, at: str, position: int | str, combine: Callable[[Column, Column], Column]) -> DataStream:
        self._column(at, position)  # which refuses what it cannot take
        kind: Any = self.get_type()
        if not kind.has_fields:
            return self._native(combine)
        name = selecting.name(at, kind, position)
        return self._native(
            lambda known, new: known.withField(f"`{name}`", combine(known[name], new[name]).cast(kind.spark[name].dataType))
        )

    def _column(self, at: str, position: int | str) -> Callable[[Column], Column]:
        kind = self.get_type()
        if kind.is_object:
            raise DefinitionError(
                f"{at}: Spark does not know the fields of these values, for the function before declares no type",
                fix="declare it: map(…, output_type=Types.TUPLE([Types.STRING(), Types.INT()]))", where=user_line(),
            )  # fmt: skip
        if not kind.has_fields:
            return lambda value: value
        name = selecting.name(at, kind, position)
        return lambda value: value[name]

    def _native(self, combine: Callable[[Column, Column], Column]) -> DataStream:
        """A scan without Python: the value so far, and the new one."""
        part, kind = self._part, self.get_type().spark
        known, new = F.col("state.known"), F.col("record.value")
        after = F.when(F.col("state.any"), combine(known, new)).otherwise(new).cast(kind)

        def scanned(batch: bool) -> dict[str, Any]:
            state = {"known": F.lit(None).cast(kind), "any": False, "at": F.lit(None).cast("timestamp")}
            options: dict[str, Any] = {"state": state, "update": {"known": after, "any": True, "at": F.col("record.time")}}
            if not batch:
                return options | {"output": [after.alias("value"), F.col("record.time").alias("time")], **_at_once(part)}
            return options | {"timer": Timer(at=F.lit(LAST), output=[known.alias("value"), F.col("state.at").alias("time")], forget=True)}

        return self._behind(scans.native(part.stream, scanned))

    def _rolling(self, call: Callable[[Any, Any], Any]) -> DataStream:
        part, kind = self._part, self.get_type()
        each = Rolling(call, kind.reading(), kind.writing())

        def scanned(batch: bool) -> PythonScanOptions:
            output = T.StructType([T.StructField("value", kind.spark), TIME])
            state = T.StructType([*output, T.StructField("any", T.BooleanType())])
            options: PythonScanOptions = {"state": state, "start": {"any": False}, "function": each, "output": output}
            if not batch:
                return {**options, **_at_once(part)}
            return {**options, "function": replace(each, silent=True), "timer": PythonTimer(at=F.lit(LAST), function=Final())}

        return self._behind(scans.in_python(part.stream, ["key"], scanned))

    def _behind(self, stream: Stream) -> DataStream:
        return self._of(Parts((Part(stream, self.get_type(), timed=self._part.timed, has_time=self._part.has_time),)))

    # -- functions with state --------------------------------------------------------------------------------------------------------

    def process(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        """A `KeyedProcessFunction`: values, and (tag, value) for side outputs, with keyed state and timers.

        With timers by event time, records are taken in the order of their time, behind the watermark, as Flink takes those that come in
        order; one that is late is taken when it comes. Without, they are taken as they come.
        """
        checked = functions.require("process", func, functions.KeyedProcessFunction, "process_element")
        by = timers_by("process", checked, timed=self._part.timed)
        kind = self.get_type()
        result = declared("process: output_type", output_type)
        spec = Spec(checked, by, ("process_element",), (kind.reading(),), self._key, result.writing())
        return run(self, self._part, spec, result)

    # -- windows and pairs -----------------------------------------------------------------------------------------------------------

    def window(self, window_assigner: Any) -> WindowedStream | PolicyWindowedStream:
        """Windows of each key: an assigner, such as `TumblingEventTimeWindows.of(Time.minutes(5))`. Or policies, as Flink 0.8 had them:
        `window(Count.of(100)).every(Time.minutes(1))`."""
        from headrace.fronts.flink.streams.windowed import windowed

        return windowed(self, window_assigner)

    def count_window(self, size: int, slide: int = 0) -> WindowedStream:
        """Windows of so many records of a key; with a slide the last so many, with every so manyth record."""
        from headrace.fronts.flink.streams.windowed import WindowedStream

        return WindowedStream.counting(self, size, slide or None)

    def interval_join(self, other: KeyedStream) -> IntervalJoined:
        """Pairs of one key whose times are not far from each other: `interval_join(other).between(lower, upper).process(…)`."""
        from headrace.fronts.flink.streams.joined import IntervalJoined

        return IntervalJoined(self, other)

    def key_by(self, key_selector: Any, key_type: TypeInformation | None = None) -> KeyedStream:
        """By another key."""
        return KeyedStream.of(DataStream(self._env, self._parts), key_selector, key_type)


class _WithState(functions.KeyedProcessFunction):
    def __init__(self, call: Callable[[Any, Any], tuple[Any, Any]], *, several: bool) -> None:
        self.call, self.several = call, several
        self.state: Any = None

    def open(self, runtime_context: Any) -> None:
        self.state = runtime_context.get_state(process.STATE_OF_MAP)

    def process_element(self, value: Any, ctx: Any) -> Any:
        output, state = self.call(value, self.state.value())
        self.state.update(state)
        return output if self.several else [output]


def timers_by(at: str, function: Any, *, timed: bool) -> By:
    """Which time the timers of a function go by; None if it has none. A function has timers of one kind."""
    if not functions.defines(function, "on_timer"):
        return None
    event, clock = (functions.mentions(function, f"register_{kind}_time_timer") for kind in ("event", "processing"))
    if event and clock:
        raise DefinitionError(
            f"{at}: {type(function).__name__} sets timers by event time and by the clock, and a function has timers of one kind here",
            fix="write two functions, one for each kind", where=user_line(),
        )  # fmt: skip
    if event and not timed:
        raise DefinitionError(
            f"{at}: {type(function).__name__} sets timers by event time, and the stream has none",
            fix="call assign_timestamps_and_watermarks before key_by, or use register_processing_time_timer", where=user_line(),
        )  # fmt: skip
    return "clock" if clock or not timed else "event"


def run(keyed: DataStream, part: Part, spec: Spec, result: TypeInformation, keys: tuple[str, ...] = ("key",)) -> DataStream:
    """A function with state behind a stream with the columns value, time and key."""
    output = T.StructType([T.StructField("value", result.spark), TIME])
    options: Any = {
        "state": process.STATE, "maps": [process.ENTRIES], "function": process.on_record(spec), "output": output,
        "ports": {"side": process.SIDE}, **when(part, spec.by),
    }  # fmt: skip
    if spec.by is not None:
        options["timer"] = PythonTimer(at="state.wake", function=process.OnAlarm(spec))
    scanned = scans.with_ports(part.stream, keys, options, late=False)
    behind = Part(scanned["main"], result, timed=part.timed and spec.by != "clock", has_time=part.has_time)
    return DataStream(keyed._env, Parts((behind,)), [scanned["side"]])


def when(part: Part, by: By) -> Any:
    """In which order the scan takes records, and that their time goes on."""
    if by == "event":
        return {"event_time": "time", "late_after": F.lit(LAST), "time_out": "time"}
    return {} if by == "clock" else _at_once(part)


def _at_once(part: Part) -> Any:
    return {"event_time": "time", "late_after": F.lit(LAST), "wait": False, "time_out": "time"} if part.timed else {}


def refused_key(at: str, argument: object) -> DefinitionError:
    return DefinitionError(f"{at}: {arguments.shown(argument)} is no keyed stream", fix="call key_by on it", where=user_line())
