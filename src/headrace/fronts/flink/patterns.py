"""A pattern as a program says it, in the words of Flink's CEP, and as headrace's operator takes it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

from pyspark.sql import Column
from pyspark.sql import functions as F

from headrace.definitions import arguments
from headrace.errors import DefinitionError, unknown_name, user_line
from headrace.fronts.flink import functions
from headrace.fronts.flink.times import positive
from headrace.fronts.flink.types import TypeInformation
from headrace.ops.patterns import pattern as native

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


class Conditions:
    """The Python conditions of a pattern, in the order in which they were met."""

    def __init__(self) -> None:
        self.calls: list[Callable[[Any], Any]] = []

    def column(self, at: str, argument: Any) -> Column:
        if isinstance(argument, str | Column):
            return arguments.expression(at, argument)
        self.calls.append(functions.caller(at, argument, "filter", "value"))
        return F.col(f"_c{len(self.calls) - 1}")


class Names:
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
        for part in _all(pattern):
            name = part.of
            fits = (
                isinstance(name, str) and re.fullmatch(r"[A-Za-z]\w*", name) and name.lower() not in native.RESERVED and name not in taken
            )
            self.own[name] = name if fits else f"{re.sub(r'[^A-Za-z0-9]', '', str(name)) or 'step'}_{len(self.own)}"
            if not part.word.startswith("not_"):
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
    return [each for part in pattern.steps for each in (_all(part.of) if isinstance(part.of, Pattern) else [part])]


def built_of(pattern: Pattern, names: Names, asked: Conditions) -> native.Pattern:
    """The pattern in headrace's own words."""
    built: native.Pattern | None = None
    for part in pattern.steps:
        group = built_of(part.of, names, asked) if isinstance(part.of, Pattern) else None
        condition: Column | None = None
        for word, test in part.conditions:
            column = asked.column(f"where: of '{part.of}'", test)
            condition = column if condition is None else condition & column if word == "and" else condition | column
        if built is None:
            built = native.group(group) if group is not None else native.step(names.own[part.of], condition)
        else:
            built = getattr(built, part.word)(group if group is not None else names.own[part.of], condition)
        for word, values in part.more:
            own = [asked.column("until", values[0])] if word == "until" else list(values)
            built = getattr(built, word)(*own)
    assert built is not None
    return built if pattern.window is None else built.within(f"{pattern.window} milliseconds")
