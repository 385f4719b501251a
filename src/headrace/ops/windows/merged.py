"""Sessions: windows that are not known before their records, and that become one when they touch.

Each session of a key that has not ended is a row of a bag, in the order of their ends. A record is a session of its own, from its time to
its gap later. It visits those that it touches, takes them out, and is put back with them as one. A session leaves the bag when the
watermark has reached its end; with an allowed lateness it goes over into a second one, where records find it until that is over.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headrace.definitions import durations
from headrace.errors import DefinitionError, user_line
from headrace.kernel.bags import Bag, Each, Expire
from headrace.kernel.ports import REFUSED
from headrace.kernel.scan import ScanOptions, scan
from headrace.ops import merging
from headrace.ops.windows import assigning
from headrace.ops.windows.aggregates import OwnFold, Totals, fields_of
from headrace.ops.windows.assigning import later
from headrace.ops.windows.flags import Fields, Flag, Known, Moment, both, chosen, column, either, negated
from headrace.ops.windows.kinds import Sessions
from headrace.ops.windows.panes import Change, Panes
from headrace.ops.windows.refused import late_as_they_came, refused_records
from headrace.ops.windows.triggers import after_watermark
from headrace.ops.windows.windowing import Windowing

START, END = "start", "end"
OPEN, ENDED = "open", "ended"


def aggregate(df: DataFrame, windowing: Windowing, aggregates: Mapping[str, Column | OwnFold]) -> DataFrame:
    """One row for each pane of a session."""
    assert isinstance(windowing.window, Sessions)
    return _Sessions(df, windowing, windowing.window, aggregates).plan()


class _Sessions:
    def __init__(self, df: DataFrame, windowing: Windowing, window: Sessions, aggregates: Mapping[str, Column | OwnFold]) -> None:
        self.own, self.spec, self.window = df, windowing, window
        timed, time = windowing.with_time(df)
        begin, until, everything = (merging.unused(name, timed) for name in ("_begin", "_until", "_all"))
        begun = timed.withColumn(begin, F.timestamp_micros(time))
        ended = F.timestamp_micros(time + _gap(begun, begin, window.gap))
        self.df = begun.withColumns({until: F.when(ended > F.col(begin), ended), everything: F.lit(True)})
        self.begin, self.until, self.keys = F.col(begin), F.col(until), list(windowing.by) or [everything]
        self.watermark = F.col("scan.watermark") if windowing.timed else None
        self.panes = Panes(
            Totals(self.df, aggregates), windowing.trigger or after_watermark(), windowing.accumulation, self._head, (START, END)
        )
        if self.panes.alarm(fields_of("state", list(self.panes.initial))) is not None:
            raise DefinitionError(
                "window: panes of sessions come by their records, not by the clock: those of a key share one alarm, of event time",
                fix="give a number of records: early=100", where=user_line(),
            )  # fmt: skip

    def plan(self) -> DataFrame:
        fields = self.panes.initial
        known = fields_of("state", list(fields))  # what the record has touched, as one
        alone = known[START].isNull()
        start, end = F.least(known[START], self.begin), F.greatest(known[END], self.until)
        passed = self._passed(end)
        whole = chosen(passed, known, self.panes.reopened(known))
        taken = self.panes.record({**whole, START: start, END: end}, Moment(passed, F.col("scan.now")))
        closed = both(~alone, self.panes.finished(known))
        refused = either(closed, self.until.isNull(), self._too_late(alone))
        kept = chosen(negated(refused), taken.fields, known)
        put_back = either(negated(refused), ~alone)
        bags = {OPEN: self._bag(kept, both(put_back, negated(passed)), 0)}
        if self.spec.lateness:
            bags[ENDED] = self._bag(kept, both(put_back, passed), self.spec.lateness)
        options: ScanOptions = {
            "state": fields, "update": fields, "output": self._rows(taken), "when": column(both(negated(refused), taken.when)), "bags":
            bags,
        }  # fmt: skip
        if self.spec.on is not None:
            options["ports"] = {REFUSED: refused_records(self.own, refused)}
        if self.spec.timed:
            options |= {
                "event_time": self.spec.on, "delay": self.spec.delay, "wait": False, "late_after": F.lit(assigning.LAST),
                "time_out": END, "time_out_exclusive": True,
            }  # fmt: skip
        return late_as_they_came(scan(self.df, keys=self.keys, **options), self.own, self.spec)

    def _bag(self, kept: Fields, when: Flag, lateness: int) -> Bag:
        row = fields_of("bag", list(kept))
        touches = row[START] <= self.until
        known = fields_of("state", list(kept))
        end = F.greatest(known[END], row[END])
        whole = {**self.panes.merged(known, row), START: F.least(known[START], row[START]), END: end}
        first = chosen(known[START].isNull(), row, whole)
        goes_on = bool(self.spec.lateness) and not lateness
        ends = self.panes.ends(row, expired=bool(lateness), last=not goes_on)
        return Bag(
            add=[value.alias(name) for name, value in kept.items()],
            when=column(when),
            time=END,
            each=Each(
                between=(self.begin, None),
                # Sessions of one gap lie further apart than that: no record touches more than two.
                limit=None if isinstance(self.window.gap, Column) else 2,
                update=chosen(touches, first, known),
                remove=touches,
            ),
            expire=Expire(
                after=f"{lateness} microseconds",
                output=self._rows(ends),
                when=column(ends.when),
                into=ENDED if goes_on else None,
                change=ends.fields if goes_on else {},
            ),
        )

    def _rows(self, change: Change) -> Column | list[Column]:
        """Without a trigger of its own a session has one pane, which need not say so."""
        if self.spec.trigger is not None or isinstance(change.output, Column):
            return change.output
        return change.output[:-1]

    def _head(self, known: Known) -> list[Column]:
        return [*self.spec.borders(self.own, known[START], known[END]), *(merging.named(key, of="record") for key in self.spec.by)]

    def _passed(self, end: Column) -> Flag:
        return False if self.watermark is None else end <= self.watermark

    def _too_late(self, alone: Column) -> Flag:
        """Judged by the session that the record makes with those that it touches, which are there only if they are not over."""
        return False if self.watermark is None else alone & (later(self.until, self.spec.lateness) <= self.watermark)


def _gap(df: DataFrame, begin: str, gap: str | Column) -> Column:
    """In microseconds."""
    if not isinstance(gap, Column):
        return F.lit(durations.micros(gap))
    kind = df.select(gap).schema[0].dataType
    if isinstance(kind, T.NumericType):
        return (gap * 1_000_000).cast("bigint")
    if isinstance(kind, T.DayTimeIntervalType | T.CalendarIntervalType | T.StringType):
        interval = gap.cast("interval") if isinstance(kind, T.StringType) else gap
        return F.unix_micros(F.col(begin) + interval) - F.unix_micros(begin)
    raise DefinitionError(
        f"sessions: the gap is of type {kind.simpleString()}", fix="give an interval, or a number of seconds", where=user_line()
    )
