"""Streams together with tables and with other streams: what of a `Stream` joins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headrace.definitions import arguments, durations
from headrace.fronts.changing import BY, ChangingTable, times_of
from headrace.fronts.tables import opener
from headrace.io.tables import Table
from headrace.ops.joins import as_of, checks, intervals, static, tables, windowed
from headrace.ops.joins.sides import PORTS, together
from headrace.ops.windows import Window

if TYPE_CHECKING:
    from headrace.planning.recipe import Step


class Joining:
    """The joins of a stream. Each is a function from DataFrames to a DataFrame, in `headrace.ops.joins`."""

    if TYPE_CHECKING:  # which a stream has
        step: Step

        def _then(self, operator: str, apply: Callable[..., DataFrame], *others: Any, row: str | None = None, **state: Any) -> Self: ...

        def _parted(self, operator: str, ports: Sequence[str]) -> Self: ...

    def join(
        self,
        other: Joining | ChangingTable | Table | DataFrame | str,
        on: str | Sequence[str],
        how: str = "inner",
        *,
        between: tuple[str, str] | None = None,
        window: Window | None = None,
        by: str | None = None,
    ) -> Self:
        """Each record with the rows of the same keys of a table (`hr.table`, a DataFrame, or what `hr.table` takes), of a table that
        changes (`key_by(…).table()`), or of another stream.

        how      "inner"; "left", where records without a row stay, with nulls; "semi", the records with a row, and "anti", those without.
                 Of two streams also "right" and "full". With a table that changes "inner" or "left".
        between  of two streams, how much earlier and later the other's record may be: with `("-5 minutes", "10 minutes")` its time is from
                 5 minutes before to 10 minutes after this one's, both inclusive. The times are those of `event_time`, on both sides.
        window   of two streams, instead: both are in the same window, `hr.tumbling("5 minutes")`. Rows begin with its `start` and `end`,
                 and come when it has ended. See `headrace.ops.joins.windowed`.
        by       of a stream and a table that changes: "time", the row of the record's own time, as `as_of` finds it; or "arrival", the row
                 that there is when the record comes, in real time at once.

        The keys come first and once; another column that both have is refused. A null key equals nothing.

        A table is sent to every task, so it must fit into memory. A change of it is seen if it is one of `hr.table(…, reload=True)`.

        State: none of a table; of one that changes, its rows. Of two streams, both keep their records until the other's time has passed the
        bound; without `between` (inner only) for ever. Every mode has it. A
        pair comes when the second of its records does, in real time at once; a record without a partner when the watermark has passed its
        bound. A record that is late, or has no time, goes out of the port `late`, and one of the other stream out of `late_other`; in a
        batch none is late. See `headrace.ops.joins.intervals` for the rules.
        """
        keys = arguments.names("join: on", on)
        if not keys:
            raise checks.refused("join", "on names no column", "name those that both have: on='id'")
        if isinstance(other, ChangingTable):
            _without("join", "a table that changes", between=between, window=window)
            return self._with_table(other, keys, how, by or "time")
        if by is not None:
            raise checks.refused("join", "`by` is for a table that changes", "make one, stream.key_by(…).table(), or leave it out")
        if isinstance(other, Joining) and window is not None:
            _without("join", "streams by window", between=between)
            return self._in_windows(other, keys, how, window)
        if isinstance(other, Joining):
            checks.how("join", how, intervals.HOW, "two streams")
            bound = intervals.bound(self.step.preview.schema, other.step.preview.schema, keys, how, between)
            joined = self._then(
                "join", lambda df, more: intervals.join(df, more, keys, how, bound), other,
                row="join_streams", keys=keys, how=how, between=between,
            )  # fmt: skip
            return joined if bound is None else joined._parted("join", PORTS)
        checks.how("join", how, static.HOW, "a table")
        for name, option in {"between": between, "window": window}.items():
            if option is not None:
                raise checks.refused("join", f"`{name}` is for two streams", "leave it out; compare with .where afterwards")
        rows = opener(other)
        return self._then("join", lambda df: static.join(df, F.broadcast(rows()), keys, how), row="join_table")

    def _in_windows(self, other: Joining, keys: list[str], how: str, window: Window) -> Self:
        times = self._timed("join", other, window)
        if how not in ("semi", "anti"):
            checks.names("join", self.step.preview, other.step.preview, keys)
        return self._then(
            "join", lambda df, more: windowed.join(together("join", df, more, keys, times), window, how), other,
            row="join_windows", keys=keys, how=how, **window.described(),
        )._parted("join", PORTS)  # fmt: skip

    def cogroup(self, other: Joining, window: Window, on: str | Sequence[str], *, into: tuple[str, str] = ("left", "right")) -> Self:
        """The records of two streams that are in the same window, by key, as two lists: a row for each key and window in which one of them
        has a record, when the window has ended. Either list may be empty, so any join by window can be made of it.

        >>> import headrace as hr
        >>> seen = hr.read.memory("ad int, shown timestamp").event_time("shown", "1 minute")
        >>> clicked = hr.read.memory("ad int, at timestamp").event_time("at", "1 minute")
        >>> seen.cogroup(clicked, hr.tumbling("1 hour"), on="ad", into=("shown", "clicks"))
        Stream[start: timestamp, end: timestamp, ad: int, shown: array<struct<shown:timestamp>>, clicks: array<struct<at:timestamp>>]

        Both streams need an `event_time`. Late records come out of `.late` and `.port("late_other")`. State: the records of the windows
        that have not ended. Every mode has it. See `headrace.ops.joins.windowed` for the rules.
        """
        keys, times = arguments.names("cogroup: on", on), self._timed("cogroup", other, window)
        names = arguments.names("cogroup: into", into)
        if len(names) != 2 or names[0] == names[1]:
            raise checks.refused("cogroup", f"into={into!r} are not two names", 'write into=("orders", "payments")')
        return self._then(
            "cogroup", lambda df, more: windowed.cogroup(together("cogroup", df, more, keys, times), window, (names[0], names[1])), other,
            keys=keys, **window.described(),
        )._parted("cogroup", PORTS)  # fmt: skip

    def _timed(self, operator: str, other: Joining, window: object) -> tuple[str, str]:
        if not isinstance(window, Window):
            raise checks.refused(operator, f"{arguments.shown(window)} is no window", 'give one: hr.tumbling("5 minutes")')
        return self._streams(operator, other)

    def _with_table(self, table: ChangingTable, keys: list[str], how: str, by: str) -> Self:
        checks.how("join", how, tables.HOW_STREAM, "a stream and a table that changes")
        arguments.one_of("join: by", by, BY)
        if set(keys) != set(table.keys):
            what = f"the table is by {', '.join(table.keys)}, and not by {', '.join(keys)}"
            raise checks.refused("join", what, f"join on its key; rename it before if it is called otherwise here: .rename({keys[0]}='…')")
        checks.names("join", self.step.preview, table.stream.step.preview, keys)
        deleted = (None, table.deleted)
        if by == "arrival":
            return self._then(
                "join", lambda df, more: tables.looked_up(together("join", df, more, keys, deleted=deleted), how), table.stream,
                row="join_changing", keys=keys, how=how, by=by,
            )  # fmt: skip
        times = times_of("join", self, table.stream)
        return self._then(
            "join", lambda df, more: as_of.as_of(df, more, keys, times, how=how, deleted=table.deleted), table.stream,
            row="as_of", keys=keys, how=how, by=by,
        )._parted("join", PORTS)  # fmt: skip

    def as_of(
        self,
        other: Joining,
        on: str | Sequence[str],
        *,
        direction: str = "backward",
        tolerance: str | None = None,
        strict: bool = False,
        how: str = "left",
    ) -> Self:
        """Each record with the one of another stream of the same keys that is nearest to it in time.

        >>> import headrace as hr
        >>> trades = hr.read.memory("symbol string, price double, at timestamp").event_time("at", "1 second")
        >>> quotes = hr.read.memory("symbol string, bid double, quoted timestamp").event_time("quoted", "1 second")
        >>> trades.as_of(quotes, on="symbol", tolerance="2 seconds")
        Stream[symbol: string, price: double, at: timestamp, bid: double, quoted: timestamp]

        direction  "backward": the last one at or before its time, and of equal times the last that arrived; "forward": the first one at or
                   after it; "nearest": the one of these two that is less far, and if both are equally far, the one before.
        tolerance  how far it may be, inclusive. Default: any distance.
        strict     true: not one of the record's own time.
        how        "left", where a record without one stays, with nulls; or "inner".

        Both streams need an `event_time`, and a record comes when the watermark of both has passed it: what came out never changes. Late
        records go out of the ports `late` and `late_other`. See `headrace.ops.joins.as_of` for the rules.

        State: of the other stream the last record of each key, for ever or until the tolerance has passed; looking forward, the records
        that wait for it; and those of the delay. Every mode has it; in real time rows come at the end of a batch.
        """
        keys, both = arguments.names("as_of: on", on), self._streams("as_of", other)
        far = None if tolerance is None else durations.delay(tolerance, "as_of: tolerance")
        exact = arguments.flag("as_of: strict", strict)
        return self._then(
            "as_of",
            lambda df, more: as_of.as_of(df, more, keys, both, direction=direction, strict=exact, tolerance=far, how=how), other,
            keys=keys, how=how, direction=direction, tolerance=tolerance, strict=strict,
        )._parted("as_of", PORTS)  # fmt: skip

    def _streams(self, operator: str, other: object) -> tuple[str, str]:
        """The times of this stream and of another, which must be one and have one."""
        if not isinstance(other, Joining):
            raise checks.refused(operator, f"{arguments.shown(other)} is no stream", "give one: hr.read.…; for a table there is join")
        return times_of(operator, self, other, instead="")


def _without(operator: str, what: str, **options: object) -> None:
    for name, option in options.items():
        if option is not None:
            raise checks.refused(operator, f"`{name}` is not for {what}", "leave it out")
