"""Windows of a key that its records decide on: by their number, by time, by how far a value has moved, by a mark.

| window                                                     | what it is                                                            |
|------------------------------------------------------------|------------------------------------------------------------------------|
| `until(records=1000)`                                      | a thousand records, then the next thousand                            |
| `until(records=1000, time="10 seconds")`                   | the same, but no window is longer than ten seconds: the strictest governs |
| `until(delta=("price", 5))`                                | as long as the price is within 5 of the first                         |
| `until(mark="kind = 'start'")`                             | from one mark to the next                                             |
| `keeping(records=4).every(records=2)`                      | the last four, with every second record                               |
| `keeping(records=100).every(time="1 minute")`              | the last hundred, every minute                                        |
| `keeping(time="10 seconds").every(delta=("meters", 50))`   | the last ten seconds, every fifty meters                              |

Records are taken as they come; with `on="at"` in the order of that time, behind its watermark, and what is later is late. Time is then that
of the column; else that of the clock, by which a batch is one moment.

The rules are Flink's, of two of its ages. A window of `until` is closed by a record that no longer fits into it, which opens the next one
(as in Flink 0.8), or by the one that makes it full. What `every` names fires with the record that reaches it (as Flink's triggers do
today); a border of time with all records up to it, that of the border included. Of several, each closes or fires, and of several things to
keep the strictest governs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import Column

from headrace.definitions import arguments, durations
from headrace.definitions.arguments import Condition
from headrace.errors import DefinitionError, user_line
from headrace.ops.windows.kinds import Window


@dataclass(frozen=True)
class Policy:
    """Limits, each None if it is not one: a number of records, microseconds, a column and how far it may move, a condition."""

    records: int | None = None
    time: int | None = None
    delta: tuple[Column | str, float] | None = None
    mark: Condition | None = None

    def described(self) -> dict[str, str]:
        return {name: str(value) for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class Until(Window):
    """Windows one after the other, each as long as the policy lets it be."""

    policy: Policy

    @property
    def decided(self) -> bool:
        return True

    def described(self) -> dict[str, Any]:
        return {"kind": "Until", **self.policy.described()}


@dataclass(frozen=True)
class Keeping(Window):
    """What is kept of the last records, put out as often as `often` says."""

    kept: Policy
    often: Policy

    @property
    def decided(self) -> bool:
        return True

    def described(self) -> dict[str, Any]:
        return {"kind": "Keeping", "kept": self.kept.described(), "often": self.often.described()}

    def every(
        self,
        *,
        records: int | None = None,
        time: str | None = None,
        delta: tuple[Column | str, float] | None = None,
        mark: Condition | None = None,
    ) -> Keeping:
        """The same, put out with every so manyth record; at every multiple of that time (a border) by which there is a record, as long as
        something is kept that has not been put out or is to leave; with each record that is further than `delta` from the last such; with
        each record that has the mark."""
        return replace(self, often=_policy("every", records, time, delta, mark))


def until(
    *,
    records: int | None = None,
    time: str | None = None,
    delta: tuple[Column | str, float] | None = None,
    mark: Condition | None = None,
) -> Window:
    """Windows one after the other; the first of these limits that is reached ends one.

    records  with the nth record, which is in it.
    time     so long after its first record: a record of that time or later opens the next. By the clock, or the time of `on`, it also ends
             without a record.
    delta    a column and a distance: a record whose value is further from that of the window's first record opens the next.
    mark     a condition: a record for which it is true opens the next.

    >>> import headrace as hr
    >>> from pyspark.sql import functions as F
    >>> orders = hr.read.memory("shop string, amount double")
    >>> orders.key_by("shop").window(hr.until(records=2)).agg(total=F.sum("amount"))
    Stream[shop: string, total: double]

    What is left at the end of a batch comes out; of a stream that is finished, if it goes by event time. State: one row for each key.
    """
    return Until(_policy("until", records, time, delta, mark))


def keeping(*, records: int | None = None, time: str | None = None, delta: tuple[Column | str, float] | None = None) -> Keeping:
    """The last so many records, and of these none that is older than `time`: as old is gone. With `delta`, a column and a distance, none
    whose value is as far or further from that of the newest. `.every(…)` says when they are put out, with each record if it is not said.

    State: what the aggregates read of the records that are kept.
    """
    return Keeping(_policy("keeping", records, time, delta, None), Policy(records=1))


def _policy(at: str, records: object, time: str | None, delta: object, mark: Condition | None) -> Policy:
    if records is not None and (not isinstance(records, int) or isinstance(records, bool) or records < 1):
        raise DefinitionError(f"{at}: records={arguments.shown(records)} is no number of records", fix="give 1 or more", where=user_line())
    span = None if time is None else durations.micros(time, f"{at}: time")
    moved: tuple[Column | str, float] | None = None
    if delta is not None:
        if not (isinstance(delta, tuple) and len(delta) == 2 and isinstance(delta[0], Column | str) and isinstance(delta[1], int | float)):
            raise DefinitionError(
                f"{at}: delta={arguments.shown(delta)} is not a column and how far it may move", fix='give both: delta=("price", 5)',
                where=user_line(),
            )  # fmt: skip
        moved = (delta[0], float(delta[1]))
    policy = Policy(records, span, moved, mark)
    if policy == Policy():
        raise DefinitionError(f"{at}: there is no limit", fix=f'give one or more: {at}(records=1000, time="10 seconds")', where=user_line())
    return policy
