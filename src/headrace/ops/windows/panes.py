"""The panes of a window: what it keeps, and what a record, the watermark and the clock make of it.

A window is a set of fields: the buffers of its aggregates, the fields of its trigger, the number of its panes, and how many records have
come since the last. They may be those of a key's state or of a row in a bag: each function here takes them as columns, and gives what they
become and the row that goes out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from pyspark.sql import Column
from pyspark.sql import functions as F

from headrace.ops.windows.aggregates import Totals
from headrace.ops.windows.flags import Fields, Flag, Known, Moment, both, chosen, column, either, negated, never
from headrace.ops.windows.triggers import Trigger

Accumulation = Literal["accumulating", "discarding", "retracting"]
ACCUMULATIONS: tuple[Accumulation, ...] = ("accumulating", "discarding", "retracting")

EARLY, ON_TIME, LATE = "early", "on_time", "late"
PENDING, INDEX, PASSED, SHOWN = "pending", "index", "passed", "shown"
T = "t"  # the names of the trigger's fields begin with it


@dataclass(frozen=True)
class Change:
    """What becomes of the fields, and the rows that go out: one of these columns, or as many as the array has."""

    fields: Fields
    output: list[Column] | Column
    when: Flag

    @property
    def rows(self) -> Column:
        return self.output if isinstance(self.output, Column) else F.array(F.struct(*self.output))


@dataclass(frozen=True)
class Panes:
    """`head` are the columns that a row begins with, start, end and key, of a window with such fields. Of a window whose start or end may
    change these are fields, too: `span`."""

    totals: Totals
    trigger: Trigger
    accumulation: Accumulation
    head: Callable[[Known], Sequence[Column]]
    span: tuple[str, ...] = ()

    @property
    def initial(self) -> Fields:
        """The fields of a window without records."""
        zero = F.lit(0).cast("bigint")
        fields = {**self.totals.initial, **self.trigger.fields(T), PENDING: zero, INDEX: zero, PASSED: F.lit(False)}
        fields |= {name: never() for name in self.span}
        if self.accumulation == "retracting":
            fields[SHOWN] = F.filter(F.array(self._shown(fields, F.lit(EARLY), False)), lambda _: F.lit(False))
        return fields

    def record(self, known: Known, moment: Moment) -> Change:
        """After a record."""
        counted = {PENDING: known[PENDING] + 1, PASSED: column(either(known[PASSED], moment.passed))}
        after = {**known, **self.totals.added(known), **self.trigger.seen(T, known, moment), **counted}
        return self._fired(after, moment, self.trigger.ready(T, after, moment), _timing(moment), False)

    def ends(self, known: Known, *, expired: Flag, last: Flag) -> Change:
        """The watermark has reached the end of the window; or it is `expired`: the allowed lateness is over, and only what has been in no
        pane goes out. `last`: nothing comes behind it."""
        moment = Moment(True, never())
        before = {**known, PASSED: F.lit(True)}
        left = both(last, known[PENDING] > 0, negated(self.finished(known)))
        ready = either(left, both(negated(expired), self.trigger.ready(T, before, moment)))
        timing = F.when(column(expired), LATE).otherwise(ON_TIME)
        return self._fired(before, moment, ready, timing, last)

    def rings(self, known: Known, now: Column) -> Change:
        """The clock has reached a time that the trigger waited for."""
        moment = Moment(known[PASSED], now)
        return self._fired(dict(known), moment, self.trigger.ready(T, known, moment), _timing(moment), False)

    def reopened(self, known: Known) -> Fields:
        """Of a window that has grown, so that the watermark has not passed its end any more."""
        return {**known, PASSED: F.lit(False), **self.trigger.reopened(T, known)}

    def merged(self, one: Known, other: Known) -> Fields:
        """Of two windows that become one: its panes are counted anew."""
        own = {PENDING: one[PENDING] + other[PENDING], INDEX: F.lit(0).cast("bigint"), PASSED: one[PASSED] | other[PASSED]}
        own |= {SHOWN: F.concat(one[SHOWN], other[SHOWN])} if self.accumulation == "retracting" else {}
        return {**self.totals.merged(one, other), **self.trigger.merged(T, one, other), **own}

    def finished(self, known: Known) -> Flag:
        """Whether it is closed, whatever comes."""
        return self.trigger.finished(T, known)

    def alarm(self, known: Known) -> Column | None:
        """When, by the clock, the trigger may be ready."""
        times = self.trigger.alarms(T, known)
        return None if not times else times[0] if len(times) == 1 else F.least(*times)

    def _fired(self, before: Fields, moment: Moment, ready: Flag, timing: Column, last: Flag) -> Change:
        state = {**before, **self.trigger.fired(T, before, moment)}
        last = either(last, self.finished(state))
        row = [*self.head(before), *self._content(before, timing, last)]
        spent: Fields = {PENDING: F.lit(0).cast("bigint"), INDEX: before[INDEX] + 1}
        spent |= self.totals.initial if self.accumulation == "discarding" else {}
        if self.accumulation != "retracting":
            return Change(chosen(ready, {**state, **spent}, before), row, ready)
        back = F.transform(
            before[SHOWN], lambda shown: F.struct(*self.head({**before, **{n: shown[n] for n in self.span}}), *self._again(shown))
        )
        spent[SHOWN] = F.array(self._shown(before, timing, last))
        return Change(chosen(ready, {**state, **spent}, before), F.concat(back, F.array(F.struct(*row))), ready)

    def _content(self, known: Known, timing: Column, last: Flag) -> list[Column]:
        """The aggregates and the pane, whose number is that of the panes before it."""
        pane = F.struct(
            timing.alias("timing"), known[INDEX].alias("index"), (known[INDEX] == 0).alias("first"), column(last).alias("last"),
            *([F.lit(False).alias("retracted")] if self.accumulation == "retracting" else []),
        )  # fmt: skip
        return [*self.totals.results(known), pane.alias("pane")]

    def _shown(self, known: Known, timing: Column, last: Flag) -> Column:
        """What is remembered of a pane, to take it back."""
        return F.struct(*[known[name].alias(name) for name in self.span], *self._content(known, timing, last))

    def _again(self, shown: Column) -> list[Column]:
        pane = shown["pane"].withField("retracted", F.lit(True))
        return [*[shown[name].alias(name) for name in self.totals.folds], pane.alias("pane")]


def _timing(moment: Moment) -> Column:
    return F.when(column(moment.passed), LATE).otherwise(EARLY)
