"""When a window puts out a pane: triggers, alone and together.

| trigger                        | ready                                                                     | finished                  |
|--------------------------------|---------------------------------------------------------------------------|---------------------------|
| `after_records(n)`             | with the nth record since it began                                        | when it has fired         |
| `after_time("10 seconds")`     | so long by the clock after the first record since it began                | when it has fired         |
| `after_watermark(early, late)` | when the watermark has passed the window's end (early, late: below) | then, without `late`      |
| `after_any(a, b, …)`           | when one of them is                                                       | when it has fired         |
| `after_all(a, b, …)`           | when all of them are                                                      | when it has fired         |
| `after_each(a, b, …)`          | when the first is, until that is finished; then the second, and so on     | when the last is          |
| `repeatedly(a)`                | when `a` is; when that is finished it begins anew                         | never                     |
| `or_finally(a, end)`           | when one of them is                                                       | as `a`, or `end` has fired |

Before the end `after_watermark` is ready as often as `early` is, behind it as often as `late` is.

These are Beam's, by Beam's rules. A number of records stands for `after_records`, a duration for `after_time`. A trigger is asked after
each record (Beam asks it after each bundle, which depends on how the records were cut), when the watermark has passed the window's end, and
when its time by the clock has come. A window whose trigger is finished is closed: what comes for it is late.
"""

# ruff: noqa: ARG002 - triggers share one interface

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from headrace.definitions import arguments, durations
from headrace.errors import DefinitionError, user_line
from headrace.ops.windows.flags import Fields, Flag, Known, Moment, both, chosen, column, either, negated, never


class Trigger:
    """A trigger over fields of the state whose names begin with `at`: their first values, what a record and a firing make of them, and what
    they say. `known` are the fields of the whole state, as columns; what is returned are those that change."""

    def fields(self, at: str) -> Fields:
        raise NotImplementedError

    def seen(self, at: str, known: Known, moment: Moment) -> Fields:
        """After a record."""
        raise NotImplementedError

    def ready(self, at: str, known: Known, moment: Moment) -> Flag:
        """Whether a pane shall go out now."""
        raise NotImplementedError

    def fired(self, at: str, known: Known, moment: Moment) -> Fields:
        """After a pane, when it was ready."""
        raise NotImplementedError

    def finished(self, at: str, known: Known) -> Flag:
        raise NotImplementedError

    def merged(self, at: str, one: Known, other: Known) -> Fields:
        """Of two windows that become one."""
        raise NotImplementedError

    def reopened(self, at: str, known: Known) -> Fields:
        """When the end of a window has moved before the watermark, and is to be passed once more."""
        return {}

    def alarms(self, at: str, known: Known) -> list[Column]:
        """When it may be ready by the clock."""
        return []


@dataclass(frozen=True)
class AfterRecords(Trigger):
    """Counts records; less than none: it has fired."""

    n: int

    def fields(self, at: str) -> Fields:
        return {at: F.lit(0).cast("bigint")}

    def seen(self, at: str, known: Known, moment: Moment) -> Fields:
        return {at: F.when(known[at] < 0, known[at]).otherwise(known[at] + 1)}

    def ready(self, at: str, known: Known, moment: Moment) -> Flag:
        return known[at] >= self.n

    def fired(self, at: str, known: Known, moment: Moment) -> Fields:
        return {at: F.lit(-1).cast("bigint")}

    def finished(self, at: str, known: Known) -> Flag:
        return known[at] < 0

    def merged(self, at: str, one: Known, other: Known) -> Fields:
        none = F.lit(0).cast("bigint")
        total = F.greatest(one[at], none) + F.greatest(other[at], none)
        return {at: F.when((one[at] < 0) & (other[at] < 0), one[at]).otherwise(total)}


@dataclass(frozen=True)
class AfterTime(Trigger):
    """Remembers when, by the clock, the first record came."""

    after: int

    def fields(self, at: str) -> Fields:
        return {at: never(), f"{at}d": F.lit(False)}

    def seen(self, at: str, known: Known, moment: Moment) -> Fields:
        return {at: F.when(~known[f"{at}d"], F.coalesce(known[at], moment.now))}

    def ready(self, at: str, known: Known, moment: Moment) -> Flag:
        return F.coalesce(moment.now >= self._due(at, known), F.lit(False))

    def fired(self, at: str, known: Known, moment: Moment) -> Fields:
        return {at: never(), f"{at}d": F.lit(True)}

    def finished(self, at: str, known: Known) -> Flag:
        return known[f"{at}d"]

    def merged(self, at: str, one: Known, other: Known) -> Fields:
        return {at: F.least(one[at], other[at]), f"{at}d": one[f"{at}d"] & other[f"{at}d"]}

    def alarms(self, at: str, known: Known) -> list[Column]:
        return [self._due(at, known)]

    def _due(self, at: str, known: Known) -> Column:
        return F.timestamp_micros(F.unix_micros(known[at]) + F.lit(self.after))


@dataclass(frozen=True)
class AfterWatermark(Trigger):
    """Remembers whether the pane that is on time, or the first behind it, has gone out."""

    early: Trigger | None = None
    late: Trigger | None = None

    def fields(self, at: str) -> Fields:
        return {f"{at}w": F.lit(False), **self._of(at, lambda trigger, name: trigger.fields(name))}

    def seen(self, at: str, known: Known, moment: Moment) -> Fields:
        on = known[f"{at}w"]
        early = self.early.seen(f"{at}e", known, moment) if self.early else {}
        late = self.late.seen(f"{at}l", known, moment) if self.late else {}
        return {**_when(~on, early, known), **_when(on, late, known)}

    def ready(self, at: str, known: Known, moment: Moment) -> Flag:
        on = known[f"{at}w"]
        early = either(moment.passed, self.early.ready(f"{at}e", known, moment) if self.early else False)
        late = self.late.ready(f"{at}l", known, moment) if self.late else False
        return either(both(negated(on), early), both(on, late))

    def fired(self, at: str, known: Known, moment: Moment) -> Fields:
        on = known[f"{at}w"]
        early = self.early.fired(f"{at}e", known, moment) if self.early else {}
        late = self.late.fired(f"{at}l", known, moment) if self.late else {}
        soon = both(negated(on), negated(moment.passed))
        anew = self.early.fields(f"{at}e") if self.early else {}  # a window may be opened again
        return {**chosen(soon, early, anew), **_when(on, late, known), f"{at}w": column(either(on, moment.passed))}

    def finished(self, at: str, known: Known) -> Flag:
        return False if self.late else known[f"{at}w"]

    def merged(self, at: str, one: Known, other: Known) -> Fields:
        return {f"{at}w": one[f"{at}w"] | other[f"{at}w"], **self._of(at, lambda trigger, name: trigger.merged(name, one, other))}

    def reopened(self, at: str, known: Known) -> Fields:
        return {f"{at}w": F.lit(False), **(self.late.fields(f"{at}l") if self.late else {})}

    def alarms(self, at: str, known: Known) -> list[Column]:
        early = self.early.alarms(f"{at}e", known) if self.early else []
        late = self.late.alarms(f"{at}l", known) if self.late else []
        return [*(F.when(~known[f"{at}w"], time) for time in early), *(F.when(known[f"{at}w"], time) for time in late)]

    def _of(self, at: str, fields: Any) -> Fields:
        early = fields(self.early, f"{at}e") if self.early else {}
        return {**early, **(fields(self.late, f"{at}l") if self.late else {})}


@dataclass(frozen=True)
class Repeatedly(Trigger):
    """Keeps nothing of its own."""

    trigger: Trigger

    def fields(self, at: str) -> Fields:
        return self.trigger.fields(at)

    def seen(self, at: str, known: Known, moment: Moment) -> Fields:
        return self.trigger.seen(at, known, moment)

    def ready(self, at: str, known: Known, moment: Moment) -> Flag:
        return self.trigger.ready(at, known, moment)

    def fired(self, at: str, known: Known, moment: Moment) -> Fields:
        after = self.trigger.fired(at, known, moment)
        fresh = self.fields(at)
        whole = {**{name: known[name] for name in fresh}, **after}
        return chosen(self.trigger.finished(at, {**known, **whole}), fresh, whole)

    def finished(self, at: str, known: Known) -> Flag:
        return False

    def merged(self, at: str, one: Known, other: Known) -> Fields:
        return self.trigger.merged(at, one, other)

    def reopened(self, at: str, known: Known) -> Fields:
        return self.trigger.reopened(at, known)

    def alarms(self, at: str, known: Known) -> list[Column]:
        return self.trigger.alarms(at, known)


@dataclass(frozen=True)
class _Several(Trigger):
    """Remembers whether it has fired."""

    triggers: tuple[Trigger, ...]

    def fields(self, at: str) -> Fields:
        return {f"{at}d": F.lit(False), **self._of(at, lambda trigger, name: trigger.fields(name))}

    def seen(self, at: str, known: Known, moment: Moment) -> Fields:
        return self._of(at, lambda trigger, name: trigger.seen(name, known, moment))

    def fired(self, at: str, known: Known, moment: Moment) -> Fields:
        return {f"{at}d": F.lit(True)}

    def finished(self, at: str, known: Known) -> Flag:
        return known[f"{at}d"]

    def merged(self, at: str, one: Known, other: Known) -> Fields:
        parts = self._of(at, lambda trigger, name: trigger.merged(name, one, other))
        return {f"{at}d": one[f"{at}d"] & other[f"{at}d"], **parts}

    def reopened(self, at: str, known: Known) -> Fields:
        return self._of(at, lambda trigger, name: trigger.reopened(name, known))

    def alarms(self, at: str, known: Known) -> list[Column]:
        return [time for trigger, name in self._named(at) for time in trigger.alarms(name, known)]

    def _named(self, at: str) -> list[tuple[Trigger, str]]:
        return [(trigger, f"{at}{number}_") for number, trigger in enumerate(self.triggers)]

    def _of(self, at: str, fields: Any) -> Fields:
        return {name: value for trigger, each in self._named(at) for name, value in fields(trigger, each).items()}


@dataclass(frozen=True)
class AfterAny(_Several):
    def ready(self, at: str, known: Known, moment: Moment) -> Flag:
        return both(~known[f"{at}d"], either(*(trigger.ready(name, known, moment) for trigger, name in self._named(at))))


@dataclass(frozen=True)
class AfterAll(_Several):
    def ready(self, at: str, known: Known, moment: Moment) -> Flag:
        return both(~known[f"{at}d"], *(trigger.ready(name, known, moment) for trigger, name in self._named(at)))


@dataclass(frozen=True)
class AfterEach(_Several):
    """Remembers which of them it is at."""

    def fields(self, at: str) -> Fields:
        return {f"{at}i": F.lit(0), **self._of(at, lambda trigger, name: trigger.fields(name))}

    def seen(self, at: str, known: Known, moment: Moment) -> Fields:
        turns = enumerate(self._named(at))
        parts = [_when(known[f"{at}i"] == number, trigger.seen(name, known, moment), known) for number, (trigger, name) in turns]
        return {name: value for part in parts for name, value in part.items()}

    def ready(self, at: str, known: Known, moment: Moment) -> Flag:
        turns = enumerate(self._named(at))
        return either(*(both(known[f"{at}i"] == number, trigger.ready(name, known, moment)) for number, (trigger, name) in turns))

    def fired(self, at: str, known: Known, moment: Moment) -> Fields:
        after: Fields = {}
        turn = known[f"{at}i"]
        for number, (trigger, name) in enumerate(self._named(at)):
            its, here = trigger.fired(name, known, moment), known[f"{at}i"] == number
            turn = F.when(column(both(here, trigger.finished(name, {**known, **its}))), number + 1).otherwise(turn)
            after |= _when(here, its, known)
        return {**after, f"{at}i": turn}

    def finished(self, at: str, known: Known) -> Flag:
        return known[f"{at}i"] >= len(self.triggers)

    def merged(self, at: str, one: Known, other: Known) -> Fields:
        parts = self._of(at, lambda trigger, name: trigger.merged(name, one, other))
        return {f"{at}i": F.least(one[f"{at}i"], other[f"{at}i"]), **parts}


@dataclass(frozen=True)
class OrFinally(_Several):
    """The first of two, until the second fires."""

    def ready(self, at: str, known: Known, moment: Moment) -> Flag:
        return both(~known[f"{at}d"], either(*(trigger.ready(name, known, moment) for trigger, name in self._named(at))))

    def fired(self, at: str, known: Known, moment: Moment) -> Fields:
        (first, one), (last, other) = self._named(at)
        ends = last.ready(other, known, moment)
        return {**_when(negated(ends), first.fired(one, known, moment), known), f"{at}d": column(ends)}

    def finished(self, at: str, known: Known) -> Flag:
        (first, one), _ = self._named(at)
        return either(known[f"{at}d"], first.finished(one, known))


def _when(flag: Flag, changes: Known, known: Known) -> Fields:
    """The changes if it is true, else what there was."""
    return chosen(flag, changes, {name: known[name] for name in changes})


def after_records(n: int) -> Trigger:
    """Ready with the nth record since it began."""
    if not isinstance(n, int) or isinstance(n, bool) or n < 1:
        raise DefinitionError(f"after_records: {arguments.shown(n)} is not a number of records", fix="give 1 or more", where=user_line())
    return AfterRecords(n)


def after_time(duration: str) -> Trigger:
    """Ready so long after the first record since it began, by the clock. In a batch, which has no clock, never."""
    return AfterTime(durations.micros(duration, "after_time"))


def after_watermark(*, early: Any = None, late: Any = None) -> Trigger:
    """Ready when the watermark has passed the end of the window: that pane always goes out, with new records in it or without. Before it as
    often as `early` is ready, behind it (within the allowed lateness) as often as `late` is."""
    return AfterWatermark(*(None if part is None else _repeated(part) for part in (early, late)))


def after_any(*triggers: Any) -> Trigger:
    """Ready when one of them is: `repeatedly(after_any(1000, "10 seconds"))`."""
    return AfterAny(_all("after_any", triggers))


def after_all(*triggers: Any) -> Trigger:
    """Ready when all of them are."""
    return AfterAll(_all("after_all", triggers))


def after_each(*triggers: Any) -> Trigger:
    """Ready when the first is, until that is finished; then when the second is, and so on."""
    return AfterEach(_all("after_each", triggers))


def repeatedly(trigger: Any) -> Trigger:
    """Ready when the trigger is, which begins anew when it is finished."""
    return _repeated(trigger)


def or_finally(trigger: Any, end: Any) -> Trigger:
    """Ready when the trigger is, until `end` is, which is the last pane."""
    return OrFinally(_all("or_finally", (trigger, end)))


def trigger(choice: Any, at: str = "trigger") -> Trigger:
    """A trigger; also a number of records, a duration, or `hr.every("10 seconds")`."""
    duration = getattr(choice, "interval", choice)
    if isinstance(duration, str):
        return AfterTime(durations.micros(duration, at))
    if isinstance(choice, int) and not isinstance(choice, bool) and choice > 0:
        return AfterRecords(choice)
    if not isinstance(choice, Trigger):
        raise DefinitionError(
            f"{at}: {arguments.shown(choice)} is no trigger of a window",
            fix='give a number of records, a duration such as "10 seconds", or a trigger such as hr.after_any(100, "10 seconds")',
            where=user_line(),
        )
    return choice


def _all(at: str, choices: tuple[Any, ...]) -> tuple[Trigger, ...]:
    if not choices:
        raise DefinitionError(f"{at}: no trigger is given", fix=f'give some: {at}(100, "10 seconds")', where=user_line())
    return tuple(trigger(each, at) for each in choices)


def _repeated(choice: Any) -> Trigger:
    one = trigger(choice, "repeatedly")
    return one if isinstance(one, Repeatedly) else Repeatedly(one)
