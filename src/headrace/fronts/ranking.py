"""What a keyed stream has to say about the best, the new and the too many of a key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from pyspark.sql import Column

from headrace.definitions import arguments
from headrace.errors import DefinitionError, user_line
from headrace.kernel.event_time import time_columns
from headrace.kernel.scan import LATE, MAIN
from headrace.ops import changes, distinct, ranking
from headrace.ops.distinct import Keep
from headrace.ops.ranking import OrderOptions, Top

if TYPE_CHECKING:
    from headrace.fronts.stream import Stream


class Ranked:
    """The part of a keyed stream that ranks, compares and limits records. `order`, `event_time`, `delay` and `idle` are those of `scan`:
    without them records are taken as they arrive; with `event_time` in the order of their time, and what is late comes out of `.late`."""

    stream: Stream
    keys: tuple[str, ...]

    def top(
        self,
        n: int,
        by: str | Column,
        *,
        of: str | Sequence[str] = (),
        ascending: bool = False,
        ties: bool = False,
        rank: bool = False,
        at: str | None = None,
        **options: Unpack[OrderOptions],
    ) -> Stream:
        """The best `n` records of each key by a column, the greatest first; of equal ones the earlier first. One without a value is passed
        over.

        A record that changes them gives the rows that left (`change` is "left") and its own ("entered"). With `rank=True` it gives a
        row for each rank that has another record now, with the column `rank`: a table by key and rank, of which the last row counts.

        of         columns that name a thing, of which only the newest record counts: `top(3, by="total", of="seller")`. What has fallen
                   out is forgotten, so this is exact as long as things only rise.
        ascending  the least first.
        ties       also all that are equal to the last one; not with ranks that change.
        at         a column with the time at which the key is complete, such as the end of its window. Nothing goes out before the time has
                   passed it; then the best do, once, and the key is forgotten. What comes later is late.

        >>> import headrace as hr
        >>> bids = hr.read.memory("auction int, price int", [(1, 5), (1, 3), (2, 7), (1, 9)])
        >>> best = bids.key_by("auction").top(2, by="price", rank=True).to.memory()
        >>> hr.Job("best", best).run("batch")
        >>> sorted(tuple(row) for row in best.sink.rows)
        [(1, 3, 2), (1, 5, 1), (1, 5, 2), (1, 9, 1), (2, 7, 1)]

        State: n rows a key (with `ties`, as many as are equal), for ever unless there is `idle` or `at`.
        """
        arguments.options("top", options, OrderOptions)
        chosen = Top(n=n, by=by, of=of, ascending=ascending, ties=ties, rank=rank, at=at)
        if at is not None:
            arguments.name("top: at", at)
            options["event_time"] = options.get("event_time") or _time(self.stream)
        ranked = self.stream._then("top", lambda df: ranking.top(df, keys=self.keys, ranking=chosen, **options))
        return ranked._parted("top", _ports(options))

    def changes(self, *columns: str, **options: Unpack[OrderOptions]) -> Stream:
        """The records in which one of these columns (none named: any but the key) differs from the key's record before. Null equals null,
        and the first record of a key comes out.

        >>> import headrace as hr
        >>> doors = hr.read.memory("door string, open boolean", [("a", True), ("a", True), ("b", True), ("a", None), ("a", None)])
        >>> changed = doors.key_by("door").changes("open").to.memory()
        >>> hr.Job("doors", changed).run("batch")
        >>> sorted(str(tuple(row)) for row in changed.sink.rows)
        ["('a', None)", "('a', True)", "('b', True)"]

        State: the columns, once a key.
        """
        arguments.options("changes", options, OrderOptions)
        watched = self.stream._named("changes", columns)
        changed = self.stream._then("changes", lambda df: changes.changes(df, keys=self.keys, columns=watched, **options))
        return changed._parted("changes", _ports(options))

    def distinct(
        self, keep: Keep = "first", *, within: str | None = None, time: str | None = None, **options: Unpack[OrderOptions]
    ) -> Stream:
        """One record where the key has several: the first, or the last. The others come out of `.port("again")`.

        `key_by("id").distinct()` keeps the first that arrives, with `event_time` the earliest. With `within="10 minutes"` it keeps one for
        each ten minutes: the first, at once, and again one that is ten minutes or more later; or the last, when time has passed the end of
        the span that its first record opened. `keep="last"` without it leaves out what is older than a record before it, so that the last
        row of a key is its newest. `time` is the column to measure by, unless there is `event_time`.

        >>> import headrace as hr
        >>> clicks = hr.read.memory("id int, page string", [(1, "a"), (2, "b"), (1, "a")])
        >>> once = clicks.key_by("id").distinct()
        >>> kept, doubles = once.to.memory("kept"), once.port("again").to.memory("doubles")
        >>> hr.Job("clicks", kept, doubles).run("batch")
        >>> sorted(row.id for row in kept.sink.rows), [row.id for row in doubles.sink.rows]
        ([1, 2], [1])

        State: a flag or a time a key, for ever unless there is `idle`; with `event_time` and `within`, until the span is over. See
        `headrace.ops.distinct` for the rules. For one column of several, `hr.seen_before` is a feature.
        """
        arguments.options("distinct", options, OrderOptions)
        kept = self.stream._then(
            "distinct",
            lambda df: distinct.distinct(df, keys=self.keys, keep=keep, within=within, time=time, **options),
            keep=keep, within=within,
        )  # fmt: skip
        return kept._parted("distinct", [MAIN, distinct.AGAIN, *_ports(options)[1:]])

    def sample(self, fraction: float, *, seed: int = 0) -> Stream:
        """About this part of the keys, each with all of its records: `sample(0.1)` for a tenth. A hash of the key says which, so they are
        the same in every run and every mode, and a smaller part is a part of a larger one. Another seed takes others. Nothing is kept.

        >>> import headrace as hr
        >>> visits = hr.read.memory("user int", [(user,) for user in range(1000)] * 2)
        >>> some = visits.key_by("user").sample(0.05).to.memory()
        >>> hr.Job("some", some).run("batch")
        >>> users = {row.user for row in some.sink.rows}
        >>> 20 < len(users) < 100, len(some.sink.rows) == 2 * len(users)
        (True, True)
        """
        return self.stream._then("sample", lambda df: changes.sample(df, keys=self.keys, fraction=fraction, seed=seed))

    def rate_limit(self, n: int, per: str, *, time: str | None = None, **options: Unpack[OrderOptions]) -> Stream:
        """At most `n` records of a key in any span of that length: `rate_limit(3, "1 minute", time="at")`. The others come out of
        `.port("over")`. `time` is the column to measure by, unless there is `event_time`.

        A record passes if fewer than n that have passed are later than `per` before it: one that is exactly `per` later than another is
        not in one span with it. What did not pass does not count. A record without a time does not pass.

        >>> import headrace as hr
        >>> from datetime import UTC, datetime
        >>> mails = hr.read.memory("user string, at timestamp", [("ann", datetime(2026, 1, 1, 10, 0, s, tzinfo=UTC)) for s in (0, 20, 40)])
        >>> sent = mails.key_by("user").rate_limit(2, "1 minute", time="at")
        >>> passed, over = sent.to.memory("sent"), sent.port("over").to.memory("over")
        >>> hr.Job("mails", passed, over).run("batch")
        >>> len(passed.sink.rows), len(over.sink.rows)
        (2, 1)

        State: n times a key.
        """
        arguments.options("rate_limit", options, OrderOptions)
        limited = self.stream._then("rate_limit", lambda df: changes.rate_limit(df, keys=self.keys, n=n, per=per, time=time, **options))
        return limited._parted("rate_limit", [MAIN, changes.OVER, *_ports(options)[1:]])


def _time(stream: Stream) -> str:
    for name in time_columns(stream.step.preview):
        return name
    raise DefinitionError(
        "top: it is not known which column is the time",
        fix='.event_time("column", "10 minutes") before it, or event_time="column"', where=user_line(),
    )  # fmt: skip


def _ports(options: OrderOptions) -> list[str]:
    return [MAIN, *([LATE] if options.get("event_time") is not None else [])]
