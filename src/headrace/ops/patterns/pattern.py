"""A pattern: steps of records, and how one follows the other. It reads as a sentence.

    hr.step("small", "amount < 1").times(3).followed_by("large", "amount > 500").within("10 minutes")

| word                                | the next record of the match is                                                      |
|-------------------------------------|--------------------------------------------------------------------------------------|
| `next("b", …)`                      | the very next record of the key, and it must be a b                                  |
| `followed_by("b", …)`               | the first b from here; what is no b is skipped                                       |
| `followed_by_any("b", …)`           | any later b: each is taken, and also skipped, so one start has many matches          |
| `not_next("b", …)`                  | (what follows, if the very next record is no b)                                      |
| `not_followed_by("b", …)`           | (what follows, if no b comes before it); at the end, with `within`: no b in that time |

What is said of a step is said after it, of the last one: `times`, `one_or_more`, `at_least`, `optional`; how repetitions follow each other
(by default as with `followed_by`), `consecutive` or `combinations`; `greedy`, `until`. In the place of a step may be a pattern: a group.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from pyspark.sql import Column

from headrace.definitions import arguments, durations
from headrace.definitions.arguments import Condition
from headrace.errors import DefinitionError, user_line

Link = Literal["next", "followed_by", "followed_by_any"]
RESERVED = ("match", "record", "state", "timer", "scan", "start", "end")


@dataclass(frozen=True, eq=False)  # a column that is compared gives a column
class Part:
    """One place of a pattern: a step (`name`, `condition`) or a group, with what is said of it.

    link      how it follows what is before it
    absent    it must not be there
    least     so often at least, and `most` (None: no end) at most; or, if it is `optional`, not at all
    between   how a repetition follows the one before
    own       it must come within so many microseconds of the record before
    where     the user's line
    """

    name: str
    condition: Condition | None = None
    group: Pattern | None = None
    link: Link = "next"
    absent: bool = False
    least: int = 1
    most: int | None = 1
    optional: bool = False
    between: Link = "followed_by"
    greedy: bool = False
    until: Condition | None = None
    own: int | None = None
    where: str | None = None

    @property
    def repeats(self) -> bool:
        return self.most != 1


@dataclass(frozen=True, eq=False, repr=False)
class Pattern:
    """Steps of records, made by `step` or `group`, and each method makes a longer or more exact one. See `headrace.ops.patterns.pattern`.

    >>> import headrace as hr
    >>> hr.step("small", "amount < 1").one_or_more().followed_by("large", "amount > 500").within("10 minutes")
    Pattern[small one or more times, followed by large, within 10 minutes]
    """

    parts: tuple[Part, ...]
    window: str | None = None

    # -- what follows ----------------------------------------------------------------------------------------------------------------

    def next(self, step: str | Pattern, condition: Condition | None = None) -> Pattern:
        """The very next record of the key is this step, or the match ends. Without a condition any record is."""
        return self._then("next", _part("next", step, condition, "next"))

    def followed_by(self, step: str | Pattern, condition: Condition | None = None) -> Pattern:
        """The first record from here that is this step; the others before it are skipped."""
        return self._then("followed_by", _part("followed_by", step, condition, "followed_by"))

    def followed_by_any(self, step: str | Pattern, condition: Condition | None = None) -> Pattern:
        """Any later record that is this step: the match goes on with each of them."""
        return self._then("followed_by_any", _part("followed_by_any", step, condition, "followed_by_any"))

    def not_next(self, step: str, condition: Condition | None = None) -> Pattern:
        """The very next record is not this step. At the end of a pattern the match is complete with that record, which is not in it."""
        return self._without("not_next", step, condition, "next")

    def not_followed_by(self, step: str, condition: Condition | None = None) -> Pattern:
        """No record is this step until the next step has taken one. At the end of a pattern, with `within`: until the time is over, when
        the match is complete."""
        return self._without("not_followed_by", step, condition, "followed_by")

    # -- how often -------------------------------------------------------------------------------------------------------------------

    def times(self, least: int, most: int | None = None) -> Pattern:
        """So often: `times(3)` three times, `times(2, 4)` two to four times."""
        least, most = _count("times", least, 0), _count("times", least if most is None else most, 1)
        if most < least:
            raise _refused(f"times({least}, {most}): the second is less than the first", "give the smaller number first")
        return self._repeated("times", least, most)

    def at_least(self, n: int) -> Pattern:
        """So often or more."""
        return self._repeated("at_least", _count("at_least", n, 1), None)

    def one_or_more(self) -> Pattern:
        """Once or more: a match for each number of them that the rest goes on with, unless it is `greedy`."""
        return self._repeated("one_or_more", 1, None)

    def optional(self) -> Pattern:
        """Also without it: `one_or_more().optional()` is zero or more."""
        part = self._last("optional")
        if part.optional:
            raise _refused(f"optional: '{part.name}' is optional already", "say it once")
        return self._become(replace(part, optional=True))

    def consecutive(self) -> Pattern:
        """Its repetitions follow each other directly, as with `next`."""
        return self._between("consecutive", "next")

    def combinations(self) -> Pattern:
        """A repetition is any later record, as with `followed_by_any`: all combinations of them. Their number doubles with each record."""
        return self._between("combinations", "followed_by_any")

    def greedy(self) -> Pattern:
        """A record that could be one more of these is not taken, nor skipped, by the step that follows."""
        part = self._last("greedy")
        if part.group is not None:
            raise _refused("greedy: a group cannot be greedy", "say it of a step in the group, or leave it out")
        if not part.repeats:
            raise _refused(f"greedy: '{part.name}' comes once at most", "say before how often: .one_or_more().greedy()")
        if part.between == "followed_by_any":
            raise _refused("greedy: combinations leave records out, which greedy forbids", "leave out one of the two")
        return self._become(replace(part, greedy=True))

    def until(self, condition: Condition) -> Pattern:
        """A record that meets the condition ends the repetitions, and is not one of them. The next step may take it."""
        part = self._last("until")
        if part.most is not None:
            raise _refused(f"until: the repetitions of '{part.name}' have an end already", "use it after one_or_more() or at_least(n)")
        if part.until is not None:
            raise _refused(f"until: '{part.name}' has one already", "write one condition: 'a or b'")
        _check_condition("until", condition)
        return self._become(replace(part, until=condition))

    # -- time ------------------------------------------------------------------------------------------------------------------------

    def within(self, duration: str, *, after: Literal["first", "previous"] = "first") -> Pattern:
        """The last record is less than `duration` after the first: one that is exactly so much later is too late. Said twice, the shorter
        counts. With `after="previous"` it is said of the last step, and measured from the record that was taken before."""
        micros = durations.micros(duration, "within")
        if arguments.one_of("within: after", after, ("first", "previous")) == "first":
            shorter = self.window is None or micros < durations.micros(self.window)
            return replace(self, window=duration if shorter else self.window)
        part = self.parts[-1]
        if part.group is not None:
            raise _refused("within: a group has no record before it", "say it of a step in the group")
        if len(self.parts) == 1 and not part.repeats:
            raise _refused("within: the first step has no record before it", "say it of a later step, or leave out after='previous'")
        return self._become(replace(part, own=micros))

    # -- the parts -------------------------------------------------------------------------------------------------------------------

    def steps(self) -> Iterator[Part]:
        """The steps, without groups around them, in their order."""
        for part in self.parts:
            yield from (part,) if part.group is None else part.group.steps()

    def __repr__(self) -> str:
        within = f", within {self.window}" if self.window else ""
        return f"Pattern[{', '.join(_words(part, first=i == 0) for i, part in enumerate(self.parts))}{within}]"

    def _then(self, word: str, part: Part) -> Pattern:
        names = {step.name.lower() for step in self.steps()}
        new = [part] if part.group is None else list(part.group.steps())
        if twice := [step.name for step in new if step.name.lower() in names]:
            raise _refused(f"{word}: there is a step '{twice[0]}' already", "give each step a name of its own")
        return replace(self, parts=(*self.parts, part))

    def _without(self, word: str, step: str, condition: Condition | None, link: Link) -> Pattern:
        if isinstance(step, Pattern):
            raise _refused(f"{word}: a group cannot be absent", "name a step and its condition")
        if _ends_optional(self.parts[-1]):
            raise _refused(
                f"{word}: the step before, '{self.parts[-1].name}', is optional, so it is open from where on '{step}' must not come",
                "leave out optional(), or write two patterns, one with the step and one without",
            )
        return self._then(word, replace(_part(word, step, condition, link), absent=True))

    def _last(self, word: str) -> Part:
        part = self.parts[-1]
        if part.absent:
            raise _refused(f"{word}: it is said of '{part.name}', which must not come", "say it of a step before it")
        return part

    def _become(self, part: Part) -> Pattern:
        return replace(self, parts=(*self.parts[:-1], part))

    def _repeated(self, word: str, least: int, most: int | None) -> Pattern:
        part = self._last(word)
        if part.repeats or part.optional:
            raise _refused(f"{word}: how often '{part.name}' comes has been said already", "say it once, and optional() after it")
        return self._become(replace(part, least=max(least, 1), most=most, optional=part.optional or least == 0))

    def _between(self, word: str, link: Link) -> Pattern:
        part = self._last(word)
        if not part.repeats:
            raise _refused(f"{word}: '{part.name}' comes once at most", f"say before how often: .one_or_more().{word}()")
        if part.greedy and link == "followed_by_any":
            raise _refused("combinations: they leave records out, which greedy forbids", "leave out one of the two")
        return self._become(replace(part, between=link))


def step(name: str, condition: Condition | None = None) -> Pattern:
    """The first step of a pattern: any record that meets the condition, a column or text. Without one, every record.

    A condition may look at what the match has taken before this record, by the name of the step: `sum(small.amount)` and any other of
    Spark's aggregates is over the records of `small`, `small.amount` is that of its last one, and `match` stands for all steps. Of no
    records an aggregate is what it is in Spark: null, or 0 for a count. What is null is not met.

    >>> import headrace as hr
    >>> hr.step("up", "price > up.price or count(up.*) = 0").one_or_more().greedy().next("down", "price < up.price")
    Pattern[up one or more times greedy, next down]
    """
    return Pattern((_part("step", name, condition, "next"),))


def group(pattern: Pattern) -> Pattern:
    """A pattern as the first step of another: `group(step("a", …).next("b", …)).one_or_more()`. As a later step it needs no `group`."""
    if not isinstance(pattern, Pattern):
        raise _refused(f"group: {arguments.shown(pattern)} is no pattern", "give one: hr.group(hr.step('a', …).next('b', …))")
    return Pattern((_part("group", pattern, None, "next"),))


def _part(word: str, of: str | Pattern, condition: Condition | None, link: Link) -> Part:
    if isinstance(of, Pattern):
        if condition is not None:
            raise _refused(f"{word}: a group has no condition of its own", "give its steps conditions")
        if of.window is not None:
            raise _refused(f"{word}: a group has no time of its own", "say within of the whole pattern, or after='previous' of a step")
        if all(part.optional for part in of.parts):
            raise _refused(f"{word}: all steps of the group are optional", "say optional() of the group, and not of one of its steps")
        if of.parts[-1].absent:
            raise _refused(f"{word}: the group ends with '{of.parts[-1].name}', which must not come", "say that after the group")
        return Part(f"({', '.join(part.name for part in of.parts)})", group=of, link=link, where=user_line())
    if not isinstance(of, str) or not re.fullmatch(r"[A-Za-z]\w*", of):
        raise _refused(f"{word}: {arguments.shown(of)} is no name for a step", "give a word, and then the condition: 'small', 'amount < 1'")
    if of.lower() in RESERVED:
        raise _refused(f"{word}: a step cannot be called '{of}', which means something else in a condition", "give it another name")
    _check_condition(f"{word}: the condition of '{of}'", condition)
    return Part(of, condition, link=link, where=user_line())


def _check_condition(at: str, condition: object) -> None:
    """As `arguments.condition` does, but without a session: a pattern may be written before there is one."""
    if not isinstance(condition, Column | str | bool | None):
        raise _refused(
            f"{at}: {arguments.shown(condition)} is no condition", 'give a column that is true or false, or text such as "amount > 3"'
        )


def _ends_optional(part: Part) -> bool:
    return part.optional or (part.group is not None and _ends_optional(part.group.parts[-1]))


def _count(word: str, count: int, least: int) -> int:
    if not isinstance(count, int) or isinstance(count, bool) or count < least:
        raise _refused(f"{word}: {arguments.shown(count)} is not how often a step can come", f"give a whole number, {least} or more")
    return count


def _words(part: Part, *, first: bool) -> str:
    """The part as a person would say it."""
    link = "" if first else f"{'not ' if part.absent else ''}{part.link.replace('_', ' ')} "
    often = "" if not part.repeats else f" {part.least} or more times" if part.most is None else f" {part.least} to {part.most} times"
    often = {" 1 or more times": " one or more times", f" {part.least} to {part.least} times": f" {part.least} times"}.get(often, often)
    return f"{link}{part.name}{often}{' optional' if part.optional else ''}{' greedy' if part.greedy else ''}"


def _refused(what: str, fix: str) -> DefinitionError:
    return DefinitionError(what, fix=fix, where=user_line())
