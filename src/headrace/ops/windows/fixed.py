"""Windows that are known before their records: each window of a key is a key of a scan, whose state are the panes.

An alarm rings when the watermark (or, by the clock, the clock) has reached the end, and once more when the allowed lateness is over.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.kernel.ports import REFUSED, Port
from headrace.kernel.scan import ScanOptions, Timer, scan
from headrace.ops import merging
from headrace.ops.windows import assigning
from headrace.ops.windows.aggregates import OwnFold, Totals, fields_of
from headrace.ops.windows.assigning import later
from headrace.ops.windows.flags import Fields, Flag, Known, Moment, both, chosen, column, negated, never
from headrace.ops.windows.kinds import Fixed
from headrace.ops.windows.panes import PASSED, Panes
from headrace.ops.windows.refused import late_as_they_came, refused_records
from headrace.ops.windows.triggers import Trigger
from headrace.ops.windows.windowing import Windowing


def aggregate(df: DataFrame, windowing: Windowing, aggregates: Mapping[str, Column | OwnFold]) -> DataFrame:
    """One row for each pane. With event time the columns are the ports, `main` and `late`."""
    return _Fixed(df, windowing, aggregates).plan()


class _Fixed:
    def __init__(self, df: DataFrame, windowing: Windowing, aggregates: Mapping[str, Column | OwnFold]) -> None:
        self.own, self.spec = df, windowing
        keys = [merging.named(key, of="record") for key in windowing.by]
        timed, time = windowing.with_time(df)
        self.has_end = isinstance(windowing.window, Fixed)
        self.last: str | None = None
        if isinstance(windowing.window, Fixed):
            at = assigning.assign(timed, windowing.window, time)
            self.df, self.last, self.end = at.df, at.last, F.col(at.end)
            self.keys, self.head = [*windowing.by, at.start, at.end], [*windowing.borders(df, F.col(at.start), self.end), *keys]
        else:
            everything = merging.unused("_all", timed)
            self.df, self.end = timed.withColumn(everything, F.lit(True)), F.lit(assigning.LAST)
            self.keys, self.head = list(windowing.by) or [everything], keys
        self.totals = Totals(self.df, aggregates)

    def plan(self) -> DataFrame:
        options = self._as_the_job_says() if self.spec.trigger is None else self._in_panes(self.spec.trigger)
        options["forget"] = refused = self._no_window()
        if self.spec.timed:
            options |= {"event_time": self.spec.on, "delay": self.spec.delay, "wait": False, "late_after": self._late_after()}
            if self.has_end and "clock" not in options:
                options |= {"time_out": "end", "time_out_exclusive": True}
        elif refused is not None:
            options["ports"] = {REFUSED: refused_records(self.own, refused)}
        return late_as_they_came(scan(self.df, keys=self.keys, **options), self.own, self.spec)

    def _as_the_job_says(self) -> ScanOptions:
        """One row when the window ends, or one whenever it has changed."""
        fields = {**self.totals.initial, **self._end_field()}
        known = fields_of("state", list(fields))
        row = Port(output=[*self.head, *self.totals.results(known)])
        changes = self.spec.updates and self.has_end
        options: ScanOptions = {"state": fields, "update": self._taken(True, self.totals.added(known), known)}
        if changes:
            options["settled"] = row
        if self.spec.timed or self.spec.by_clock or not (changes or self.df.isStreaming):
            options["timer"] = Timer(at=self._state_end(), output=() if changes else row.output, forget=True)
        return options

    def _in_panes(self, trigger: Trigger) -> ScanOptions:
        panes = Panes(self.totals, trigger, self.spec.accumulation, lambda _: self.head)
        fields = {**panes.initial, **self._end_field()}
        known = fields_of("state", list(fields))
        passed = F.col("scan.watermark") >= self.end if self.spec.timed and self.has_end else False
        taken, closed = panes.record(known, Moment(passed, F.col("scan.now"))), panes.finished(known)
        refused = self._no_window()
        takes = both(negated(closed), True if refused is None else ~refused)
        options: ScanOptions = {
            "state": fields, "update": self._taken(takes, taken.fields, known), "output": taken.output, "when": column(both(takes,
            taken.when))
        }  # fmt: skip
        if self.spec.timed and closed is not False:
            options["ports"] = {REFUSED: refused_records(self.own, both(closed, True if refused is None else ~refused))}
        return options | (self._alarms(panes, known) if self.spec.timed else self._alarm(panes, known))

    def _alarms(self, panes: Panes, known: Known) -> ScanOptions:
        """By event time at the end, and when the allowed lateness is over; and by the clock if the trigger asks for it."""
        over: Flag = known[PASSED] if self.spec.lateness else True
        ends = panes.ends(known, expired=known[PASSED] if self.spec.lateness else False, last=over)
        end = self._state_end()
        due = F.when(known[PASSED], later(end, self.spec.lateness)).otherwise(end) if self.spec.lateness else end
        options: ScanOptions = {"timer": Timer(at=due, update=ends.fields, output=ends.output, when=column(ends.when), forget=column(over))}
        if (alarm := panes.alarm(known)) is not None:
            rings = panes.rings(known, F.col("timer.time"))
            options["clock"] = Timer(at=alarm, update=rings.fields, output=rings.output, when=column(rings.when))
        return options

    def _alarm(self, panes: Panes, known: Known) -> ScanOptions:
        """Without a watermark there is one alarm for both. The end comes by the clock, or as that of a batch."""
        end = [self._state_end()] if self.spec.by_clock or not self.df.isStreaming else []
        alarm = panes.alarm(known)
        times = [*end, *([] if alarm is None else [alarm])]
        if not times:
            return {}
        over = F.col("timer.time") >= end[0] if end else F.lit(False)
        ends, rings = panes.ends(known, expired=False, last=True), panes.rings(known, F.col("timer.time"))
        rows = F.when(over, F.when(column(ends.when), ends.rows)).otherwise(F.when(column(rings.when), rings.rows))
        at = times[0] if len(times) == 1 else F.least(*times)
        return {"timer": Timer(at=at, update=chosen(over, ends.fields, rings.fields), output=rows, forget=over)}

    def _end_field(self) -> Fields:
        return {"end": never()} if self.has_end else {}

    def _state_end(self) -> Column:
        return F.col("state.end") if self.has_end else self.end

    def _taken(self, takes: Flag, after: Fields, known: Known) -> Fields:
        end = {"end": self.end} if self.has_end else {}
        return chosen(takes, {**after, **end}, known)

    def _no_window(self) -> Column | None:
        """A record is in several windows. One of them that is gone already does not make it late, as long as another one takes it. And one
        that has no time is in none."""
        if self.spec.timed:
            return None if self.last is None else later(self.end, self.spec.lateness) <= F.col("scan.watermark")
        return None if self.spec.on is None else merging.named(self.spec.on, of="record").isNull()

    def _late_after(self) -> Column:
        if not self.has_end:
            return F.lit(assigning.LAST)
        after = later(self.end, self.spec.lateness)
        return after if self.last is None else F.when(F.col(self.last), after).otherwise(F.lit(assigning.LAST))
