"""Windows of a key, and of all records: what is said of them, up to their function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headrace.definitions import arguments
from headrace.errors import DefinitionError, user_line
from headrace.fronts.flink import functions
from headrace.fronts.flink.functions import OutputTag
from headrace.fronts.flink.running import process, windows
from headrace.fronts.flink.running.process import By
from headrace.fronts.flink.running.windows import Fold, WindowSpec
from headrace.fronts.flink.streams import scans
from headrace.fronts.flink.streams.datastream import DataStream
from headrace.fronts.flink.streams.keyed import KeyedStream, when
from headrace.fronts.flink.streams.parts import TIME, Part, Parts, objects
from headrace.fronts.flink.times import millis
from headrace.fronts.flink.types import TypeInformation, declared
from headrace.fronts.flink.windows import evictors, triggers
from headrace.fronts.flink.windows.assigners import EventTimeSessionWindows, FixedWindows, GlobalWindows, WindowAssigner
from headrace.fronts.flink.windows.policies import Every, policies
from headrace.fronts.flink.windows.triggers import Trigger
from headrace.kernel.expressions.clocks import now
from headrace.kernel.python.scanning import PythonTimer
from headrace.ops.windows import assigning
from headrace.ops.windows.assigning import LAST


@dataclass(frozen=True)
class WindowedStream:
    """A keyed stream in windows: a trigger, an evictor and a lateness may be said of them, and then what they give."""

    _keyed: KeyedStream
    _assigner: WindowAssigner
    _trigger: Trigger
    _evictor: evictors.Evictor | None = None
    _lateness: int = 0
    _late: OutputTag | None = None
    _has_key = True

    @classmethod
    def of(cls, keyed: KeyedStream, assigner: Any) -> Self:
        """Cut by an assigner."""
        if not isinstance(assigner, WindowAssigner):
            raise DefinitionError(
                f"window: {arguments.shown(assigner)} is no window assigner", where=user_line(),
                fix="give one: TumblingEventTimeWindows.of(Time.seconds(5)); or policies of Flink 0.8: Count.of(5), Time.seconds(5)",
            )  # fmt: skip
        return cls(keyed, assigner, triggers.trigger("get_default_trigger", assigner.get_default_trigger(keyed._env)))

    @classmethod
    def counting(cls, keyed: KeyedStream, size: int, slide: int | None) -> Self:
        """Cut by the number of records."""
        often = triggers.CountTrigger.of(triggers.count("count_window", slide or size))
        if slide is None:
            return cls(keyed, GlobalWindows(), triggers.PurgingTrigger.of(often))
        return cls(keyed, GlobalWindows(), often, evictors.CountEvictor.of(triggers.count("count_window", size)))

    def trigger(self, trigger: Trigger) -> Self:
        """When it fires, instead of by its own rule."""
        return replace(self, _trigger=triggers.trigger("trigger", trigger))

    def evictor(self, evictor: evictors.Evictor) -> Self:
        """What is left out when it fires. All records are then kept."""
        return replace(self, _evictor=evictors.evictor(evictor))

    def allowed_lateness(self, time_ms: Any) -> Self:
        """How long after its end a window takes records, and fires with each of them: milliseconds, or a `Time`."""
        length = millis("allowed_lateness", time_ms)
        if length < 0 or not self._assigner.is_event_time() or isinstance(self._assigner, GlobalWindows):
            raise DefinitionError(
                "allowed_lateness: only windows by event time have late records, and it is not less than 0",
                fix="leave it out",
                where=user_line(),
            )
        return replace(self, _lateness=length)

    def side_output_late_data(self, output_tag: OutputTag) -> Self:
        """Where late records go: `result.get_side_output(tag)`."""
        return replace(self, _late=output_tag)

    # -- what it gives -----------------------------------------------------------------------------------------------------------------

    def reduce(self, reduce_function: Any, window_function: Any = None, output_type: TypeInformation | None = None) -> DataStream:
        """What its records are reduced to, one after the other: state is one value. With a window function, what that makes of it."""
        call = functions.caller("reduce", reduce_function, "reduce", "value1", "value2")
        kind = self._keyed.get_type() if window_function is None and output_type is None else None
        return self._folded(windows.reducing(call), window_function, kind or declared("reduce: output_type", output_type))

    def aggregate(
        self, aggregate_function: Any, window_function: Any = None, accumulator_type: Any = None, output_type: TypeInformation | None = None
    ) -> DataStream:  # fmt: skip
        """What an `AggregateFunction` makes of its records: state is the accumulator. With a window function, what that makes of it."""
        del accumulator_type  # an accumulator is a Python object
        methods = ("create_accumulator", "add", "get_result")
        checked = functions.require("aggregate", aggregate_function, functions.AggregateFunction, *methods)
        if self._assigner.merges and not functions.defines(checked, "merge"):
            raise DefinitionError(
                f"aggregate: sessions become one when they touch, and {type(checked).__name__} does not say how two accumulators do",
                fix="give it merge(self, acc_a, acc_b)", where=user_line(),
            )  # fmt: skip
        return self._folded(windows.aggregating(checked), window_function, declared("aggregate: output_type", output_type))

    def _folded(self, fold: Fold, window_function: Any, result: TypeInformation) -> DataStream:
        call, owner = (_only, None) if window_function is None else self._called("window_function", window_function)
        if self._evictor is None:
            return self._run(call, owner, fold, result)
        return self._run(
            lambda key, context, values: call(key, context, [windows.folded(fold, values)] if values else []), owner, None, result
        )

    def apply(self, window_function: Any, output_type: TypeInformation | None = None) -> DataStream:
        """What a `WindowFunction`, or a function of the same arguments, makes of its records, all of which are kept."""
        call, owner = self._called("apply", window_function)
        return self._run(call, owner, None, declared("apply: output_type", output_type))

    def process(self, process_window_function: Any, output_type: TypeInformation | None = None) -> DataStream:
        """What a `ProcessWindowFunction` makes of its records, all of which are kept."""
        call, owner = self._called("process", process_window_function)
        return self._run(call, owner, None, declared("process: output_type", output_type))

    def _called(self, at: str, argument: Any) -> tuple[Callable[..., Any], Any]:
        """The function as it is called, and its object."""
        if callable(getattr(argument, "process", None)):
            method, keyed = argument.process, self._has_key
            return (lambda key, context, values: method(key, context, values) if keyed else method(context, values)), argument
        method, keyed = functions.caller(at, argument, "apply", *(["key"] if self._has_key else []), "window", "inputs"), self._has_key
        return (lambda key, context, values: method(*([key] if keyed else []), context.window(), values)), argument

    def _run(self, call: Callable[..., Any], owner: Any, fold: Fold | None, result: TypeInformation) -> DataStream:
        part, kind = self._keyed._part, self._keyed.get_type()
        by = self._by(part)
        fixed = isinstance(self._assigner, FixedWindows)
        spec = WindowSpec(
            self._assigner, self._trigger, self._evictor, call, owner, fold, self._lateness, fixed, not fixed and by == "event", by,
            kind.reading(), self._keyed._key, result.writing(),
        )  # fmt: skip
        output = T.StructType([T.StructField("value", result.spark), TIME])
        options: Any = {
            "state": process.STATE, "maps": [process.ENTRIES], "function": windows.on_record(spec), "output": output,
            "ports": {"side": process.SIDE}, **self._when(part, by),
        }  # fmt: skip
        if by is not None:
            options["timer"] = PythonTimer(at="state.wake", function=windows.OnAlarm(spec))
        late = by == "event" and (fixed or getattr(self._assigner, "gap", None) is not None)
        assigned = part.stream.then(assign, self._assigner) if by == "clock" or fixed else part.stream
        scanned = scans.with_ports(assigned, ["key", "start", "end"] if fixed else ["key"], options, late=late)
        timed = part.timed and by != "clock"
        behind = Part(scanned["main"], result, timed=timed, has_time=by is not None or part.has_time)

        def side(tag: OutputTag) -> Parts:
            if self._late is not None and tag.tag_id == self._late.tag_id:
                if not late:
                    raise DefinitionError(
                        "get_side_output: no record of these windows is late", fix="leave out side_output_late_data", where=user_line()
                    )
                return Parts((Part(scanned["late"].select("time", "value"), kind, has_time=True),))
            tagged = scanned["side"].where(F.col("tag") == tag.tag_id).select("time", "value")
            return Parts((objects(tagged, tag.type_info, timed=timed, has_time=behind.has_time),))

        return DataStream(self._keyed._env, Parts((behind,)), side)

    def _by(self, part: Part) -> By:
        """Which time its timers go by; refused if window and trigger do not agree, or there is no time."""
        wanted = triggers.by(self._trigger)
        own: By = wanted if isinstance(self._assigner, GlobalWindows) else "event" if self._assigner.is_event_time() else "clock"
        if wanted is not None and wanted != own:
            words = {"event": "event time", "clock": "the clock"}
            raise DefinitionError(
                f"trigger: the windows go by {words[own or 'event']}, and {type(self._trigger).__name__} by {words[wanted]}",
                fix="use a trigger of the same time; early panes by the clock: to_stream(), then window(…, early='10 seconds')",
                where=user_line(),
            )  # fmt: skip
        if own == "event" and not part.timed:
            raise DefinitionError(
                "window: the windows go by event time, and the stream has none",
                fix="call assign_timestamps_and_watermarks before key_by, or use windows of processing time", where=user_line(),
            )  # fmt: skip
        if self._assigner.merges and not self._trigger.can_merge():
            raise DefinitionError(
                f"trigger: sessions become one when they touch, and {type(self._trigger).__name__} has no on_merge",
                fix="give it on_merge(self, window, ctx), or use another trigger", where=user_line(),
            )  # fmt: skip
        return own

    def _when(self, part: Part, by: By) -> Any:
        if by != "event":
            return when(part, by)
        until = f"make_dt_interval(0, 0, 0, {self._lateness / 1000})"
        if isinstance(self._assigner, FixedWindows):
            late_after = F.when(F.col("last"), F.col("end") + F.expr(until)).otherwise(F.lit(LAST))
            return {
                "event_time": "time",
                "wait": False,
                "late_after": late_after,
                "time_out": "time",
                "time_behind": "1 millisecond",
                "watermark": "watermark",
            }
        gap = self._assigner.gap if isinstance(self._assigner, EventTimeSessionWindows) else None
        whole = F.lit(LAST) if gap is None else F.col("time") + F.expr(f"make_dt_interval(0, 0, 0, {(gap + self._lateness) / 1000})")
        return {"event_time": "time", "late_after": whole, "time_out": "time"}


class AllWindowedStream(WindowedStream):
    """The same over all records: functions are called without a key."""

    _has_key = False


class PolicyWindowedStream:
    """Windows by policies, as Flink 0.8 had them: `window(what is kept)` or `window(what is kept).every(when it is put out)`."""

    def __init__(self, keyed: KeyedStream, kept: Any) -> None:
        self._keyed, self._policies = keyed, policies("window", kept)

    def every(self, *often: Any) -> PolicyWindowedStream:
        """When the function is called: at each of these."""
        made = PolicyWindowedStream(self._keyed, [])
        made._policies = replace(self._policies, often=policies("every", list(often)).kept)
        return made

    def reduce(self, reduce_function: Any) -> DataStream:
        """What the records that are kept are reduced to."""
        call = functions.caller("reduce", reduce_function, "reduce", "value1", "value2")
        return self._run(lambda _, values: [windows.folded(windows.reducing(call), values)], self._keyed.get_type())

    def apply(self, window_function: Any, output_type: TypeInformation | None = None) -> DataStream:
        """What a function of the key and the records makes of those that are kept."""
        call = functions.caller("apply", window_function, "apply", "key", "inputs")
        return self._run(call, declared("apply: output_type", output_type))

    def _run(self, call: Callable[[Any, list[Any]], Any], result: TypeInformation) -> DataStream:
        timed = self._keyed._part.timed
        if self._policies.needs_time and not timed:
            raise DefinitionError(
                "window: a policy of time goes by event time here, and the stream has none",
                fix="call assign_timestamps_and_watermarks before key_by", where=user_line(),
            )  # fmt: skip
        return self._keyed.process(Every(self._policies, call, timed=timed), result)


def windowed(keyed: KeyedStream, cut: Any) -> WindowedStream | PolicyWindowedStream:
    """Windows by an assigner, or by policies."""
    return WindowedStream.of(keyed, cut) if not policies.are(cut) else PolicyWindowedStream(keyed, cut)


def assign(df: DataFrame, assigner: WindowAssigner) -> DataFrame:
    """The records with the column `now` if they go by the clock, and `start`, `end` and `last` of each of their fixed windows."""
    by_clock = not assigner.is_event_time()
    timed = df.withColumn("now", now()) if by_clock else df
    if not isinstance(assigner, FixedWindows):
        return timed
    at = assigning.assign(timed, assigner.native(), F.unix_micros("now" if by_clock else "time"))
    named = at.df.withColumnsRenamed({at.start: "start", at.end: "end"})
    return named.withColumn("last", F.lit(True)) if at.last is None else named.withColumnRenamed(at.last, "last")


def _only(key: Any, context: Any, values: list[Any]) -> list[Any]:  # noqa: ARG001 - called as a window function
    return values
