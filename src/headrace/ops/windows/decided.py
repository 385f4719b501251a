"""Windows that the records of a key decide on, as a scan: see `policies`."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.definitions import arguments
from headrace.kernel.scan import ScanOptions, Timer, scan
from headrace.ops import merging
from headrace.ops.windows import assigning
from headrace.ops.windows.aggregates import OwnFold, Totals, fields_of
from headrace.ops.windows.flags import Fields, Flag, Known, chosen, column, either, never
from headrace.ops.windows.policies import Keeping, Policy, Until
from headrace.ops.windows.refused import late_as_they_came
from headrace.ops.windows.windowing import Windowing

N, FIRST, FROM, ROWS, BORDER, FRESH = "n", "first", "from", "rows", "border", "fresh"


def aggregate(df: DataFrame, windowing: Windowing, aggregates: Mapping[str, Column | OwnFold]) -> DataFrame:
    """One row for each window that has been closed, or has fired."""
    kind = _Until if isinstance(windowing.window, Until) else _Keeping
    return kind(df, windowing, aggregates).plan()


class _Decided:
    def __init__(self, df: DataFrame, windowing: Windowing, aggregates: Mapping[str, Column | OwnFold]) -> None:
        self.own, self.spec = df, windowing
        everything = merging.unused("_all", df)
        self.df = df.withColumn(everything, F.lit(True))
        self.keys = list(windowing.by) or [everything]
        self.head = [merging.named(key, of="record") for key in windowing.by]
        self.totals = Totals(self.df, aggregates)
        self.time = F.col("scan.now") if windowing.on is None else F.timestamp_micros(assigning.micros(df, windowing.on))

    def options(self) -> ScanOptions:
        raise NotImplementedError

    def plan(self) -> DataFrame:
        options = self.options()
        if self.spec.on is not None:
            options |= {"event_time": self.spec.on, "delay": self.spec.delay}
        return late_as_they_came(scan(self.df, keys=self.keys, **options), self.own, self.spec)

    @property
    def has_end(self) -> bool:
        """Whether the end of the input is noticed, as that of a batch or by event time."""
        return self.spec.on is not None or not self.df.isStreaming

    def moved(self, policy: Policy, mark: Column) -> tuple[Fields, Flag]:
        """The value that the next are compared with, if there are any, and whether this record is too far from it."""
        if policy.delta is None:
            return {}, False
        value = arguments.column("delta", policy.delta[0]).cast("double")
        return {FROM: value}, F.coalesce(F.abs(value - mark) > policy.delta[1], F.lit(False))

    def marked(self, policy: Policy) -> Flag:
        mark = arguments.condition("mark", policy.mark)
        return False if mark is None else F.coalesce(mark, F.lit(False))


class _Until(_Decided):
    def options(self) -> ScanOptions:
        assert isinstance(self.spec.window, Until)
        policy = self.spec.window.policy
        moving = {FROM: F.lit(None).cast("double")} if policy.delta else {}
        timing = {FIRST: never()} if policy.time else {}
        fields = {**self.totals.initial, N: F.lit(0).cast("bigint"), **timing, **moving}
        known = fields_of("state", list(fields))
        start, far = self.moved(policy, known.get(FROM, F.lit(None)))
        over = F.coalesce(self.time >= self._due(known, policy), F.lit(False)) if policy.time else False
        ends = either(over, far, self.marked(policy))
        ends = ends if ends is False else (known[N] > 0) & column(ends)
        begun = chosen(ends, fields, known)
        first = begun[N] == 0
        noted = {**({FIRST: self.time} if policy.time else {}), **start}
        after = {
            **self.totals.added(begun),
            N: begun[N] + 1,
            **{name: F.when(first, new).otherwise(begun[name]) for name, new in noted.items()},
        }
        full: Flag = False if policy.records is None else after[N] >= policy.records
        rows = [row for row in (self._row(ends, known), self._row(full, after)) if row is not None]
        options: ScanOptions = {"state": fields, "update": chosen(full, fields, after)}
        if rows:
            options["output"] = F.array_compact(F.array(*rows))
        last = F.when(known[N] > 0, F.lit(assigning.LAST))
        due = self._due(known, policy) if policy.time else None
        at = F.coalesce(due, last) if due is not None and self.has_end else last if self.has_end else due
        if at is not None:
            options["timer"] = Timer(at=at, output=[*self.head, *self.totals.results(known)], forget=True)
        return options

    def _due(self, known: Known, policy: Policy) -> Column:
        return F.when(known[N] > 0, assigning.later(known[FIRST], policy.time or 0))

    def _row(self, when: Flag, known: Known) -> Column | None:
        return None if when is False else F.when(column(when), F.struct(*self.head, *self.totals.results(known)))


class _Keeping(_Decided):
    def options(self) -> ScanOptions:
        assert isinstance(self.spec.window, Keeping)
        policy, often = self.spec.window.kept, self.spec.window.often
        self.inputs = {f"i{i}": each for i, each in enumerate(self.totals.inputs)}
        compared = {} if policy.delta is None else {"d": arguments.column("delta", policy.delta[0]).cast("double")}
        values = [value.alias(name) for name, value in {**compared, **self.inputs}.items()]
        row = F.struct(self.time.alias("t"), *values)
        kind = self.df.select(F.struct(never().alias("t"), *values)).schema[0].dataType
        nothing = F.array().cast(f"array<{kind.simpleString()}>")
        fields: Fields = {ROWS: nothing, N: F.lit(0).cast("bigint")}
        fields |= {BORDER: never(), FRESH: F.lit(False)} if often.time else {}
        fields |= {FROM: F.lit(None).cast("double")} if often.delta else {}
        known = fields_of("state", list(fields))
        rows = self._kept(policy, F.concat(known[ROWS], F.array(row)), self.time)
        counted = known[N] + 1
        start, far = self.moved(often, known.get(FROM, F.lit(None)))
        enough: Flag = False if often.records is None else counted >= often.records
        fires = either(enough, far, self.marked(often))
        update: Fields = {ROWS: rows, N: F.when(column(enough), F.lit(0).cast("bigint")).otherwise(counted)}
        if often.delta:
            update[FROM] = F.when(column(either(far, known[FROM].isNull())), start[FROM]).otherwise(known[FROM])
        if often.time:
            update |= {BORDER: F.coalesce(known[BORDER], _border(self.time, often.time)), FRESH: F.lit(True)}
        options: ScanOptions = {"state": fields, "update": update}
        if fires is not False:
            options |= {"output": [*self.head, *self._results(rows)], "when": column(fires)}
        if often.time:
            options["timer"] = self._timer(policy, often.time, known)
        return options

    def _timer(self, policy: Policy, every: int, known: Known) -> Timer:
        rows = self._kept(policy, known[ROWS], F.col("timer.time"))
        something = F.size(rows) > 0 if policy.time else known[FRESH]  # what is kept by number only does not change without a record
        after = {ROWS: rows, FRESH: F.lit(False), BORDER: F.when(something, assigning.later(F.col("timer.time"), every))}
        return Timer(at=F.col(f"state.{BORDER}"), update=after, output=[*self.head, *self._results(rows)], when=something)

    def _kept(self, policy: Policy, rows: Column, now: Column) -> Column:
        if policy.time:
            rows = F.filter(rows, lambda row: F.coalesce(row["t"] > assigning.later(now, -(policy.time or 0)), F.lit(True)))
        if policy.records:
            rows = F.when(F.size(rows) > policy.records, F.slice(rows, -policy.records, policy.records)).otherwise(rows)
        if policy.delta:
            limit, every = policy.delta[1], rows
            rows = F.filter(every, lambda row: F.coalesce(F.abs(F.try_element_at(every, F.lit(-1))["d"] - row["d"]) < limit, F.lit(True)))
        return rows

    def _results(self, rows: Column) -> list[Column]:
        """The aggregates over the rows, in their order."""
        names = list(self.totals.initial)

        def struct(fields: Fields) -> Column:
            return F.struct(*[fields[name].alias(name) for name in names])

        def step(total: Column, row: Column) -> Column:
            return struct(self.totals.added({name: total[name] for name in names}, [row[name] for name in self.inputs]))

        def result(name: str) -> Column:
            return F.aggregate(
                rows, struct(self.totals.initial), step, lambda total: self.totals.result(name, {n: total[n] for n in names})
            )

        return [result(name).alias(name) for name in self.totals.folds]


def _border(time: Column, every: int) -> Column:
    """The first multiple that is not before a time."""
    micros = F.unix_micros(time)
    return F.timestamp_micros(micros + F.pmod(-micros, F.lit(every)))
