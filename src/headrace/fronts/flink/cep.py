"""CEP: patterns among the records of a key, in the words of Flink's library, on headrace's own operator.

    Pattern.begin("small").where("amount < 1").followed_by("large").where(lambda payment: payment.amount > 500).within(Time.minutes(1))

A condition is an expression over the fields of a row (text in SQL, or a column of Spark's), which may look at what the match has taken so
far, by the name of a step: `"price > up.price"`, `"sum(small.amount) < 10"`. Or it is a Python function of the value alone, which is asked
once for each record.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headrace.definitions import arguments
from headrace.errors import DefinitionError, unknown_name, user_line
from headrace.fronts.flink import functions
from headrace.fronts.flink.functions import OutputTag
from headrace.fronts.flink.running.matches import Matched
from headrace.fronts.flink.streams.datastream import DataStream
from headrace.fronts.flink.streams.keyed import KeyedStream, refused_key
from headrace.fronts.flink.streams.parts import Part, Parts, objects
from headrace.fronts.flink.times import positive
from headrace.fronts.flink.types import TypeInformation, declared
from headrace.kernel.ports import LATE
from headrace.ops.patterns import pattern as native
from headrace.ops.patterns.matching import ports_of_match

_HINTS = {
    "followedBy": "followed_by", "followedByAny": "followed_by_any", "notNext": "not_next", "notFollowedBy": "not_followed_by",
    "oneOrMore": "one_or_more", "timesOrMore": "times_or_more", "allowCombinations": "allow_combinations",
    "subtype": "where(lambda value: isinstance(value, …))",
}  # fmt: skip


class SimpleCondition:
    """A condition on a value alone: `filter(value)`."""

    def filter(self, value: Any) -> bool:
        """Whether it is met."""
        raise NotImplementedError


class AfterMatchSkipStrategy:
    """What is dropped after a match."""

    def __init__(self, words: str, step: str | None = None) -> None:
        self.words, self.step, self.must = words, step, False

    @staticmethod
    def no_skip() -> AfterMatchSkipStrategy:
        """Nothing: every match, also several of one start."""
        return AfterMatchSkipStrategy("none")

    @staticmethod
    def skip_to_next() -> AfterMatchSkipStrategy:
        """What began with the same record."""
        return AfterMatchSkipStrategy("to next")

    @staticmethod
    def skip_past_last_event() -> AfterMatchSkipStrategy:
        """What began with its last record or before."""
        return AfterMatchSkipStrategy("past last")

    @staticmethod
    def skip_to_first(pattern_name: str) -> AfterMatchSkipStrategy:
        """What began before the first record of a step."""
        return AfterMatchSkipStrategy("to first", pattern_name)

    @staticmethod
    def skip_to_last(pattern_name: str) -> AfterMatchSkipStrategy:
        """What began before the last record of a step."""
        return AfterMatchSkipStrategy("to last", pattern_name)

    def throw_exception_on_miss(self) -> AfterMatchSkipStrategy:
        """The job fails if the match has no record of that step."""
        self.must = True
        return self


@dataclass(frozen=True)
class _Said:
    """A step as it was said: the word that began it, its name or group, its conditions, and what else was said of it."""

    word: str
    of: Any
    conditions: tuple[tuple[str, Any], ...] = ()
    more: tuple[tuple[str, tuple[Any, ...]], ...] = ()


@dataclass(frozen=True)
class Pattern:
    """Steps of records; each method makes a longer or more exact pattern."""

    steps: tuple[_Said, ...]
    skip: AfterMatchSkipStrategy
    window: int | None = None

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise unknown_name("a Pattern", name, [each for each in dir(type(self)) if not each.startswith("_")], _HINTS)

    @staticmethod
    def begin(name: str | Pattern, after_match_skip_strategy: AfterMatchSkipStrategy | None = None) -> Pattern:
        """The first step, or a group."""
        return Pattern((_Said("begin", name),), after_match_skip_strategy or AfterMatchSkipStrategy.no_skip())

    def next(self, name: str | Pattern) -> Pattern:
        """The very next record."""
        return self._then("next", name)

    def followed_by(self, name: str | Pattern) -> Pattern:
        """The first such record from here."""
        return self._then("followed_by", name)

    def followed_by_any(self, name: str | Pattern) -> Pattern:
        """Any later such record: one start has many matches."""
        return self._then("followed_by_any", name)

    def not_next(self, name: str) -> Pattern:
        """The very next record is not this."""
        return self._then("not_next", name)

    def not_followed_by(self, name: str) -> Pattern:
        """No such record until the next step; at the end, with `within`: none in that time."""
        return self._then("not_followed_by", name)

    def where(self, condition: Any) -> Pattern:
        """A condition of the last step; several are all to be met."""
        return self._condition("and", condition)

    def or_(self, condition: Any) -> Pattern:
        """Or this one, instead of all that were said of the step before."""
        return self._condition("or", condition)

    def until(self, condition: Any) -> Pattern:
        """A record that meets it ends the repetitions."""
        return self._say("until", condition)

    def times(self, from_times: int, to_times: int | None = None) -> Pattern:
        """So often."""
        return self._say("times", *([from_times] if to_times is None else [from_times, to_times]))

    def times_or_more(self, times: int) -> Pattern:
        """So often or more."""
        return self._say("at_least", times)

    def one_or_more(self) -> Pattern:
        """Once or more."""
        return self._say("one_or_more")

    def optional(self) -> Pattern:
        """Also without it."""
        return self._say("optional")

    def greedy(self) -> Pattern:
        """As many as possible."""
        return self._say("greedy")

    def consecutive(self) -> Pattern:
        """Repetitions follow each other directly."""
        return self._say("consecutive")

    def allow_combinations(self) -> Pattern:
        """All combinations of repetitions."""
        return self._say("combinations")

    def within(self, window_time: Any) -> Pattern:
        """The last record is less than so long after the first."""
        return replace(self, window=min(positive("within", window_time), self.window or 2**63))

    def get_name(self) -> str:
        """The name of the last step."""
        return str(self.steps[-1].of)

    def _then(self, word: str, name: Any) -> Pattern:
        return replace(self, steps=(*self.steps, _Said(word, name)))

    def _condition(self, word: str, condition: Any) -> Pattern:
        last = self.steps[-1]
        return replace(self, steps=(*self.steps[:-1], replace(last, conditions=(*last.conditions, (word, condition)))))

    def _say(self, word: str, *values: Any) -> Pattern:
        last = self.steps[-1]
        return replace(self, steps=(*self.steps[:-1], replace(last, more=(*last.more, (word, values)))))


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
        kind, asked = self.keyed.get_type(), _Conditions()
        names = _Names(self.pattern, kind)
        sought = _built(self.pattern, names, asked)
        part = self._records(asked)
        options: Any = {"output": names.output(), "skip": names.skip(self.pattern.skip), **self._time(part, sought)}
        if self.most is not None:
            options["most"] = self.most
        found = part.stream.key_by("key").match(sought, **options)
        read = kind.reading()
        outputs = [self._called(found, call, names, read, result, part)]
        if lost is not None:
            if "timed_out" not in ports_of_match(sought, options):
                raise DefinitionError("process: nothing times out without within", fix="call within(Time.minutes(5))", where=user_line())
            outputs.append(self._called(found.port("timed_out"), lost, names, read, result, part))
        mains = tuple(main for main, _ in outputs)

        def side(tag: OutputTag) -> Parts:
            if self.late is not None and tag.tag_id == self.late.tag_id:
                if LATE not in ports_of_match(sought, options):
                    raise DefinitionError("get_side_output: without event time no record is late", fix="leave it out", where=user_line())
                return Parts((Part(found.late.select("time", "value"), kind, has_time=True),))
            tagged = [rows.where(F.col("tag") == tag.tag_id).select("time", F.col("side").alias("value")) for _, rows in outputs]
            return Parts(tuple(objects(rows, tag.type_info, timed=part.timed, has_time=part.has_time) for rows in tagged))

        return DataStream(self.keyed._env, Parts(mains), side)

    def _called(
        self, rows: Any, call: Callable[..., Any], names: _Names, read: Any, result: TypeInformation, part: Part
    ) -> tuple[Part, Any]:
        row = T.StructType(
            [T.StructField("tag", T.StringType()), T.StructField("value", result.spark), T.StructField("side", T.BinaryType())]
        )
        timed = rows.rename(end="time") if "end" in rows.columns else rows.with_columns(time=F.lit(None).cast("timestamp"))
        made = timed.flat_map(Matched(call, names.given, read, result.writing()), row, keep=["time"])
        return Part(made.where("tag is null").select("time", "value"), result, timed=part.timed, has_time=part.has_time), made

    def _records(self, asked: _Conditions) -> Part:
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


class _Conditions:
    """The Python conditions of a pattern, in the order in which they were met."""

    def __init__(self) -> None:
        self.calls: list[Callable[[Any], Any]] = []

    def column(self, at: str, given: Any) -> Column:
        if isinstance(given, str | Column):
            return arguments.expression(at, given)
        self.calls.append(functions.caller(at, given, "filter", "value"))
        return F.col(f"_c{len(self.calls) - 1}")


class _Judged:
    """A record with what the Python conditions say of it."""

    def __init__(self, read: Any, calls: list[Callable[[Any], Any]]) -> None:
        self.read, self.calls = read, calls

    def __call__(self, record: dict[str, Any]) -> list[dict[str, Any]]:
        value = self.read(record["value"])
        return [{f"_c{number}": bool(call(value)) for number, call in enumerate(self.calls)}]


class _Names:
    """The names of the steps, as the program has them, and as headrace's operator takes them: `start` means something else there."""

    def __init__(self, pattern: Pattern, kind: TypeInformation) -> None:
        taken = {"key", "time", "value", *(kind.spark.names if kind.has_fields else ())}  # type: ignore[attr-defined]
        if kind.has_fields and (clash := {"key", "time", "value"} & set(kind.spark.names)):  # type: ignore[attr-defined]
            raise DefinitionError(
                f"CEP.pattern: a field is called '{min(clash)}', which means something else here",
                fix="give it another name before",
                where=user_line(),
            )
        self.own: dict[str, str] = {}
        self.given: dict[str, str] = {}
        for said in _all(pattern):
            name = said.of
            fits = (
                isinstance(name, str) and re.fullmatch(r"[A-Za-z]\w*", name) and name.lower() not in native.RESERVED and name not in taken
            )
            self.own[name] = name if fits else f"{re.sub(r'[^A-Za-z0-9]', '', str(name)) or 'step'}_{len(self.own)}"
            if not said.word.startswith("not_"):
                self.given[self.own[name]] = name

    def output(self) -> list[Column]:
        return [F.collect_list(F.col(f"{step}.value")).alias(step) for step in self.given]

    def skip(self, strategy: AfterMatchSkipStrategy) -> str:
        if strategy.step is None:
            return strategy.words
        if strategy.step not in self.own:
            raise DefinitionError(
                f"AfterMatchSkipStrategy: there is no step '{strategy.step}'", fix=f"name one of {', '.join(self.own)}", where=user_line()
            )
        return f"{strategy.words} {self.own[strategy.step]}{' or fail' if strategy.must else ''}"


def _all(pattern: Pattern) -> list[_Said]:
    return [each for said in pattern.steps for each in (_all(said.of) if isinstance(said.of, Pattern) else [said])]


def _built(pattern: Pattern, names: _Names, asked: _Conditions) -> native.Pattern:
    """The pattern in headrace's own words."""
    built: native.Pattern | None = None
    for said in pattern.steps:
        group = _built(said.of, names, asked) if isinstance(said.of, Pattern) else None
        condition: Column | None = None
        for word, given in said.conditions:
            column = asked.column(f"where: of '{said.of}'", given)
            condition = column if condition is None else condition & column if word == "and" else condition | column
        if built is None:
            built = native.group(group) if group is not None else native.step(names.own[said.of], condition)
        else:
            built = getattr(built, said.word)(group if group is not None else names.own[said.of], condition)
        for word, values in said.more:
            own = [asked.column("until", values[0])] if word == "until" else list(values)
            built = getattr(built, word)(*own)
    assert built is not None
    return built if pattern.window is None else built.within(f"{pattern.window} milliseconds")
