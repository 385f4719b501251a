"""Streams together with tables and with other streams: what of a `Stream` joins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headrace.definitions import arguments, durations
from headrace.fronts.tables import opener
from headrace.io.tables import Table
from headrace.ops.joins import as_of, checks, intervals, static
from headrace.ops.joins.sides import PORTS

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
        other: Joining | Table | DataFrame | str,
        on: str | Sequence[str],
        how: str = "inner",
        *,
        between: tuple[str, str] | None = None,
    ) -> Self:
        """Each record with the rows of the same keys of a table (`hr.table`, a DataFrame, or what `hr.table` takes) or of another stream.

        how      "inner"; "left", where records without a row stay, with nulls; "semi", the records with a row, and "anti", those without.
                 Of two streams also "right" and "full".
        between  of two streams, how much earlier and later the other's record may be: with `("-5 minutes", "10 minutes")` its time is from
                 5 minutes before to 10 minutes after this one's, both inclusive. The times are those of `event_time`, on both sides.

        The keys come first and once; another column that both have is refused. A null key equals nothing.

        A table is sent to every task, so it must fit into memory. It should not change while the job runs: whether a change is seen, and
        when, is up to where the table comes from.

        Of two streams, both keep their records until the other's time has passed the bound; without `between` (inner only) for ever. A
        pair comes when the second of its records does, in real time at once; a record without a partner when the watermark has passed its
        bound. A record that is late, or has no time, goes out of the port `late`, and one of the other stream out of `late_other`; in a
        batch none is late. See `headrace.ops.joins.intervals` for the rules.
        """
        keys = arguments.names("join: on", on)
        if not keys:
            raise checks.refused("join", "on names no column", "name those that both have: on='id'")
        if isinstance(other, Joining):
            checks.how("join", how, intervals.HOW, "two streams")
            bound = intervals.bound(self.step.preview.schema, other.step.preview.schema, keys, how, between)
            joined = self._then(
                "join", lambda df, more: intervals.join(df, more, keys, how, bound), other,
                row="join_streams", keys=keys, how=how, between=between,
            )  # fmt: skip
            return joined if bound is None else joined._parted("join", PORTS)
        checks.how("join", how, static.HOW, "a table")
        if between is not None:
            raise checks.refused("join", "`between` is for two streams", "leave it out; compare with .where afterwards")
        rows = opener(other)
        return self._then("join", lambda df: static.join(df, F.broadcast(rows()), keys, how), row="join_table")

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
        records go out of the ports `late` and `late_other`. See `headrace.ops.joins.as_of` for the rules, and for what is kept.
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
        times = [intervals.event_times(stream.step.preview.schema) for stream in (self, other)]
        for stream, columns in zip(("this", "the other"), times, strict=True):
            if not columns:
                what = f"it is not known which column of {stream} stream is the time"
                raise checks.refused(operator, what, f'.event_time("column", "10 minutes") before {operator}')
        return times[0][0], times[1][0]
