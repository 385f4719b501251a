"""Pairs of two streams: in a window, or not far apart in time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import functions as F
from pyspark.sql import types as T

from headrace.definitions import arguments
from headrace.errors import DefinitionError, user_line
from headrace.fronts.flink import codec, functions
from headrace.fronts.flink.functions import OutputTag
from headrace.fronts.flink.running.both import JoinWindow, PairContext, Tag, TaggedKey
from headrace.fronts.flink.running.chain import Link, parted
from headrace.fronts.flink.streams.datastream import DataStream
from headrace.fronts.flink.streams.keyed import KeyedStream, refused_key
from headrace.fronts.flink.streams.parts import Part, Parts, check_together
from headrace.fronts.flink.streams.windowed import WindowedStream
from headrace.fronts.flink.times import millis, to_millis
from headrace.fronts.flink.types import OBJECT, Convert, TypeInformation, declared


class CoGroupedStreams:
    """`one.co_group(other).where(…).equal_to(…).window(…).apply(…)`: both lists of a key's window, of which one may be empty."""

    _pairs, _word = False, "co_group"

    def __init__(self, one: DataStream, other: DataStream) -> None:
        if not isinstance(other, DataStream):
            raise DefinitionError(f"{self._word}: {arguments.shown(other)} is no stream", fix="give a DataStream", where=user_line())
        self._one, self._other = one, other
        self._keys: tuple[Any, ...] = ()
        self._windowed: WindowedStream | None = None

    def where(self, key_selector: Any, key_type: TypeInformation | None = None) -> CoGroupedStreams:
        """The key of the first stream's values."""
        self._keys, self._type = (functions.caller("where", key_selector, "get_key", "value"),), key_type
        return self

    def equal_to(self, key_selector: Any) -> CoGroupedStreams:
        """The key of the second's."""
        if len(self._keys) != 1:
            raise DefinitionError("equal_to: the key of the first stream comes first", fix="call where(…) before it", where=user_line())
        self._keys = (*self._keys, functions.caller("equal_to", key_selector, "get_key", "value"))
        return self

    def window(self, assigner: Any) -> CoGroupedStreams:
        """The windows, which both streams share: sessions are made of the records of both."""
        if len(self._keys) != 2:
            raise DefinitionError("window: the keys come first", fix="call where(…) and equal_to(…) before it", where=user_line())
        check_together(self._word, self._one._parts, self._other._parts)
        both = [stream._parts.then(Link("map", Tag(number), None), OBJECT) for number, stream in enumerate((self._one, self._other))]
        tagged = DataStream(self._one._env, both[0].also(both[1], self._word))
        keyed = tagged.key_by(TaggedKey(self._keys), self._type)
        self._windowed = WindowedStream.of(keyed, assigner)
        return self

    def trigger(self, trigger: Any) -> CoGroupedStreams:
        """When a window fires."""
        self._windowed = self._cut("trigger").trigger(trigger)
        return self

    def evictor(self, evictor: Any) -> CoGroupedStreams:
        """What is left out when it fires: its values are (0 or 1, value), by stream."""
        self._windowed = self._cut("evictor").evictor(evictor)
        return self

    def allowed_lateness(self, time_ms: Any) -> CoGroupedStreams:
        """How long after its end a window takes records."""
        self._windowed = self._cut("allowed_lateness").allowed_lateness(time_ms)
        return self

    def apply(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        """What a function of both lists gives: a list, or values that it yields."""
        method = "join" if self._pairs else "co_group"
        call = functions.caller("apply", func, method, "first", "second")
        return self._cut("apply")._run(JoinWindow(call, pairs=self._pairs), func, None, declared("apply: output_type", output_type))

    def _cut(self, word: str) -> WindowedStream:
        if self._windowed is None:
            raise DefinitionError(f"{word}: there is no window", fix="call window(…) before it", where=user_line())
        return self._windowed


class JoinedStreams(CoGroupedStreams):
    """`one.join(other).where(…).equal_to(…).window(…).apply(…)`: each pair of a key's window, as one value. A window that fires again
    repeats its pairs."""

    _pairs, _word = True, "join"


@dataclass(frozen=True, eq=False)
class IntervalJoined:
    """`one.interval_join(other).between(lower, upper).process(…)`, by headrace's own join of two streams."""

    one: KeyedStream
    other: KeyedStream
    bounds: tuple[int, int] | None = None
    inner: tuple[int, int] = (0, 0)
    late: tuple[OutputTag | None, OutputTag | None] = (None, None)

    def between(self, lower_bound: Any, upper_bound: Any) -> IntervalJoined:
        """The right record's time is from `lower_bound` after the left one's (before, if it is negative) to `upper_bound` after, both
        included."""
        lower, upper = millis("between", lower_bound), millis("between", upper_bound)
        if lower > upper:
            raise DefinitionError("between: the lower bound is above the upper one", fix="give the lower one first", where=user_line())
        return replace(self, bounds=(lower, upper))

    def lower_bound_exclusive(self) -> IntervalJoined:
        """Without the lower bound itself."""
        return replace(self, inner=(1, self.inner[1]))

    def upper_bound_exclusive(self) -> IntervalJoined:
        """Without the upper bound itself."""
        return replace(self, inner=(self.inner[0], -1))

    def side_output_left_late_data(self, output_tag: OutputTag) -> IntervalJoined:
        """Where late records of the left stream go."""
        return replace(self, late=(output_tag, self.late[1]))

    def side_output_right_late_data(self, output_tag: OutputTag) -> IntervalJoined:
        """Where late records of the right stream go."""
        return replace(self, late=(self.late[0], output_tag))

    def process(self, process_join_function: Any, output_type: TypeInformation | None = None) -> DataStream:
        """What a `ProcessJoinFunction` makes of each pair."""
        checked = functions.require("process", process_join_function, functions.ProcessJoinFunction, "process_element")
        if self.bounds is None:
            raise DefinitionError(
                "interval_join: it is not said how far apart the records may be", fix="call between(lower, upper)", where=user_line()
            )
        if not isinstance(self.other, KeyedStream):
            raise refused_key("interval_join", self.other)
        left, right = self.one._part, self.other._part
        if not left.timed or not right.timed:
            raise DefinitionError(
                "interval_join: a stream has no event time",
                fix="call assign_timestamps_and_watermarks on both, before key_by",
                where=user_line(),
            )
        result = declared("process: output_type", output_type)
        lower, upper = self.bounds[0] + self.inner[0], self.bounds[1] + self.inner[1]
        names = {"value": "right", "time": "right_time"}
        joined = left.stream.select("time", "key", "value").join(
            right.stream.select("time", "key", "value").rename(**names), on="key", between=(_text(lower), _text(upper))
        )
        call = Pair(checked.process_element, self.one.get_type().reading(), self.other.get_type().reading(), result.writing())
        row = T.StructType(
            [T.StructField("tag", T.StringType()), T.StructField("value", result.spark), T.StructField("side", T.BinaryType())]
        )
        timed = joined.with_columns(later=F.greatest("time", "right_time"))
        made = timed.flat_map(call, row, keep=["later"]).rename(later="time")
        main = Part(made.where("tag is null").select("time", "value"), result, has_time=True)

        def side(tag: OutputTag) -> Parts:
            for late, port, of in zip(self.late, ("late", "late_other"), (self.one, self.other), strict=True):
                if late is not None and late.tag_id == tag.tag_id:
                    rows = joined.port(port)
                    named = rows.rename(right="value", right_time="time") if "right" in rows.columns else rows
                    return Parts((Part(named.select("time", "value"), of.get_type(), has_time=True),))
            sides = made.where(F.col("tag") == tag.tag_id).select("time", F.col("side").alias("value"))
            return Parts((Part(sides, OBJECT, has_time=True),))

        return DataStream(self.one._env, Parts((main,)), side)


class Pair:
    """The rows of a pair."""

    def __init__(self, call: Callable[..., Any], left: Convert, right: Convert, write: Convert) -> None:
        self.call, self.left, self.right, self.write = call, left, right, write

    def __call__(self, record: dict[str, Any]) -> list[dict[str, Any]]:
        context = PairContext(to_millis(record["time"]), to_millis(record["right_time"]))
        main, sides = parted(self.call(self.left(record["value"]), self.right(record["right"]), context) or ())
        return [{"value": self.write(value)} for value in main] + [{"tag": tag.tag_id, "side": codec.dumps(value)} for tag, value in sides]


def _text(length: int) -> str:
    return f"{'-' if length < 0 else ''}{abs(length)} milliseconds"
