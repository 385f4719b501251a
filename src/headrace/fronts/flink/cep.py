"""CEP: patterns among the records of a key, in the words of Flink's library, on headrace's own operator.

    Pattern.begin("small").where("amount < 1").followed_by("large").where(lambda payment: payment.amount > 500).within(Time.minutes(1))

A condition is an expression over the fields of a row (text in SQL, or a column of Spark's), which may look at what the match has taken so
far, by the name of a step: `"price > up.price"`, `"sum(small.amount) < 10"`. Or it is a Python function of the value alone, which is asked
once for each record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import functions as F
from pyspark.sql import types as T

from headrace.definitions import arguments
from headrace.errors import DefinitionError, user_line
from headrace.fronts.flink import functions
from headrace.fronts.flink.functions import OutputTag
from headrace.fronts.flink.patterns import Conditions, Names, Pattern, built_of
from headrace.fronts.flink.running.matches import Matched
from headrace.fronts.flink.streams.datastream import DataStream
from headrace.fronts.flink.streams.keyed import KeyedStream, refused_key
from headrace.fronts.flink.streams.parts import Part, Parts, objects
from headrace.fronts.flink.types import TypeInformation, declared
from headrace.kernel.ports import LATE
from headrace.ops.patterns import pattern as native
from headrace.ops.patterns.matching import ports_of_match


class CEP:
    """`CEP.pattern(keyed_stream, pattern)`."""

    @staticmethod
    def pattern(input: KeyedStream, pattern: Pattern, *, most: int | None = None) -> PatternStream:
        """The matches of a pattern among the records of each key. Where nothing else bounds how many may be on their way, `most` must."""
        if not isinstance(input, KeyedStream):
            raise refused_key("CEP.pattern", input)
        if not isinstance(pattern, Pattern):
            raise DefinitionError(
                f"CEP.pattern: {arguments.shown(pattern)} is no Pattern", fix="Pattern.begin('a').where(…)", where=user_line()
            )
        return PatternStream(input, pattern, most)


@dataclass(frozen=True, eq=False)
class PatternStream:
    """The matches of a pattern."""

    keyed: KeyedStream
    pattern: Pattern
    most: int | None = None
    late: OutputTag | None = None

    def side_output_late_data(self, late_data_output_tag: OutputTag) -> PatternStream:
        """Where late records go: `result.get_side_output(tag)`."""
        return replace(self, late=late_data_output_tag)

    def select(self, pattern_select_function: Any, output_type: TypeInformation | None = None) -> DataStream:
        """One value of each match: a function of a dict from step to the list of its values."""
        call = functions.caller("select", pattern_select_function, "select", "match")
        return self._run(lambda match, _: [call(match)], None, declared("select: output_type", output_type))

    def flat_select(self, pattern_flat_select_function: Any, output_type: TypeInformation | None = None) -> DataStream:
        """Zero to many values of each match."""
        call = functions.caller("flat_select", pattern_flat_select_function, "flat_select", "match")
        return self._run(lambda match, _: call(match), None, declared("flat_select: output_type", output_type))

    def process(self, pattern_process_function: Any, output_type: TypeInformation | None = None) -> DataStream:
        """A `PatternProcessFunction`: `process_match(match, ctx)`, and, if it has it, `process_timed_out_match(match, ctx)` of what did
        not become complete within its time. Both give values, and (tag, value) for side outputs."""
        checked = functions.require("process", pattern_process_function, PatternProcessFunction, "process_match")
        lost = getattr(checked, "process_timed_out_match", None)
        return self._run(checked.process_match, lost, declared("process: output_type", output_type))

    def _run(self, call: Callable[..., Any], lost: Callable[..., Any] | None, result: TypeInformation) -> DataStream:
        kind, asked = self.keyed.get_type(), Conditions()
        names = Names(self.pattern, kind)
        sought = built_of(self.pattern, names, asked)
        part = self._records(asked)
        options: Any = {"output": names.output(), "skip": names.skip(self.pattern.skip), **self._time(part, sought)}
        if self.most is not None:
            options["most"] = self.most
        matches = part.stream.key_by("key").match(sought, **options)
        read = kind.reading()
        goes_on = replace(part, timed=part.timed and lost is None)  # time does not go on behind what has run out of it
        outputs = [self._called(matches, call, names, read, result, goes_on)]
        if lost is not None:
            if "timed_out" not in ports_of_match(sought, options):
                raise DefinitionError("process: nothing times out without within", fix="call within(Time.minutes(5))", where=user_line())
            outputs.append(self._called(matches.port("timed_out"), lost, names, read, result, goes_on))
        mains = tuple(main for main, _ in outputs)

        def side(tag: OutputTag) -> Parts:
            if self.late is not None and tag.tag_id == self.late.tag_id:
                if LATE not in ports_of_match(sought, options):
                    raise DefinitionError("get_side_output: without event time no record is late", fix="leave it out", where=user_line())
                return Parts((Part(matches.late.select("time", "value"), kind, has_time=True),))
            tagged = [rows.where(F.col("tag") == tag.tag_id).select("time", F.col("side").alias("value")) for _, rows in outputs]
            return Parts(tuple(objects(rows, tag.type_info, timed=goes_on.timed, has_time=part.has_time) for rows in tagged))

        return DataStream(self.keyed._env, Parts(mains), side)

    def _called(
        self, rows: Any, call: Callable[..., Any], names: Names, read: Any, result: TypeInformation, part: Part
    ) -> tuple[Part, Any]:
        row = T.StructType(
            [T.StructField("tag", T.StringType()), T.StructField("value", result.spark), T.StructField("side", T.BinaryType())]
        )
        timed = rows.rename(end="time") if "end" in rows.columns else rows.with_columns(time=F.lit(None).cast("timestamp"))
        if not part.timed:
            timed = timed.with_columns(time=F.timestamp_micros(F.unix_micros("time")))
        made = timed.flat_map(Matched(call, names.given, read, result.writing()), row, keep=["time"])
        return Part(made.where("tag is null").select("time", "value"), result, timed=part.timed, has_time=part.has_time), made

    def _records(self, asked: Conditions) -> Part:
        """The records as the pattern sees them: key, time, value, its fields, and what Python conditions say."""
        part, kind = self.keyed._part, self.keyed.get_type()
        if asked.calls:
            judged = T.StructType([T.StructField(f"_c{number}", T.BooleanType()) for number in range(len(asked.calls))])
            stream = part.stream.flat_map(_Judged(kind.reading(), asked.calls), judged, keep=["time", "value", "key"])
            part = replace(part, stream=stream)
        if kind.has_fields:
            fields = [F.col(f"value.`{name}`") for name in kind.spark.names]  # type: ignore[attr-defined]
            part = replace(part, stream=part.stream.select("time", "key", "value", *fields, *(f"_c{n}" for n in range(len(asked.calls)))))
        return part

    def _time(self, part: Part, sought: native.Pattern) -> Any:
        if part.timed:
            return {"event_time": "time"}
        if sought.window is not None:
            raise DefinitionError(
                "within: the stream has no event time", fix="call assign_timestamps_and_watermarks before key_by", where=user_line()
            )
        return {}


class PatternProcessFunction(functions.Function):
    """What a match gives."""

    def process_match(self, match: dict[str, list[Any]], ctx: Any) -> Any:
        """Its values."""
        raise NotImplementedError


class _Judged:
    """A record with what the Python conditions say of it."""

    def __init__(self, read: Any, calls: list[Callable[[Any], Any]]) -> None:
        self.read, self.calls = read, calls

    def __call__(self, record: dict[str, Any]) -> list[dict[str, Any]]:
        value = self.read(record["value"])
        return [{f"_c{number}": bool(call(value)) for number, call in enumerate(self.calls)}]
