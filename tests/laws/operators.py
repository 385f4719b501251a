"""Every operator of headrace, with what is claimed of it. A new operator is a new line here; the laws do the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import functions as F
from tests.laws.joins import in_the_same_session, in_the_same_window, joined, located, named_by, nearest_place, of_tables, paired, ruled
from tests.laws.keyed import best_of_windows, everything, featured, last_of_spans, limited, sampled_changes
from tests.laws.patterns import arrived, fallen, preferred, unsurpassed
from tests.laws.plain import decoded, stateless
from tests.laws.records import DELAY, END
from tests.laws.scans import (
    at_once,
    counted,
    counted_by_sign,
    counted_in_python,
    in_any_order,
    known_before,
    quiet,
    quiet_in_python,
    repeated,
    taken_or_late,
    with_clock,
)
from tests.laws.windowed import before_the_end, by_the_clock, in_windows

from headrace.decoding.records import dead_letters, valid
from headrace.ops import windows
from headrace.ops.features import last_n, previous, recent, running, seen_before, since, within
from headrace.ops.features.deviations import median_deviation, zscore
from headrace.ops.joins import tables
from headrace.ops.ranking import Top, top
from headrace.testing.laws import Bound
from headrace.testing.microbatches import Operator
from headrace.testing.shapes import Options

NO_STATE = Bound(("customer",), rows_per_key=0)
WAITING = Bound(("customer",), rows_per_key=13, characters_per_key=180)  # a batch's records, those of the delay before it, state and clock
KEPT = Bound(("customer",), rows_per_key=15, characters_per_key=300)  # and what is in bags: a row or two of the last seconds
ONE_PAIR = Bound(("customer",), rows_per_key=1, characters_per_key=90)
ONE_ROW = Bound(("customer",), rows_per_key=1, characters_per_key=60)


@dataclass(frozen=True)
class Case:
    """An operator, how to read what it puts out, what it may keep, and where a law does not hold for it, with the reason."""

    name: str
    operator: Operator
    bound: Bound
    options: Options = field(default_factory=Options)
    exempt: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name


def windows_kept(number: int) -> Bound:
    """Those of a batch, which has a record of a key every five seconds, and of the delay before it. Each is a state and a clock."""
    return Bound(("customer",), 2 * number)


EVENT_TIME: Options = {"closing": END}
OPEN_WINDOWS: Options = {"latest_by": ("start", "customer")}
REAL_TIME = ("real-time", "restarted")
EARLY: dict[str, Any] = {
    "trigger": windows.after_watermark(early=3, late=1), "lateness": 5_000_000, "accumulation": "retracting",
}  # fmt: skip
READ_TWICE = dict.fromkeys(REAL_TIME, "this operator reads its source twice, which Spark refuses there; two topics it does read")
THREE_STATES = dict.fromkeys(REAL_TIME, "this operator has several states, and a query has one there")
BY_THE_CLOCK = dict.fromkeys(
    ("same_in_every_shape", "bears_nulls_and_nothing"),
    "it says what the clock says: a batch has no clock, and streams run at different times",
)

# What is seen of each reason where the law is tried all the same.
TOLD = {
    READ_TWICE["real-time"]: "[STREAMING_REAL_TIME_MODE.IDENTICAL_SOURCES_IN_UNION_NOT_SUPPORTED]",
    THREE_STATES["real-time"]: "[STREAMING_REAL_TIME_MODE.STATEFUL_OPERATORS_BEFORE_UNION_NOT_SUPPORTED]",
    BY_THE_CLOCK["same_in_every_shape"]: "the rows differ",
}

CASES = [
    Case("select, where, explode", stateless, NO_STATE),
    Case("union", lambda df: df.where("amount > 0").union(df), NO_STATE, exempt=READ_TWICE),
    Case("join with a table", joined, NO_STATE),
    Case("join of two streams, full", paired("full"), KEPT, EVENT_TIME),
    Case("join of two streams, anti", paired("anti"), KEPT, EVENT_TIME),
    Case("as_of, nearest", nearest_place, KEPT, EVENT_TIME),
    Case("join by window, full", in_the_same_window, Bound(("customer",), 40), EVENT_TIME),
    Case("cogroup by sessions", in_the_same_session, Bound(("customer",), 14), EVENT_TIME),
    Case("join with a table that changes", lambda df: tables.looked_up(of_tables(df, by_time=False), "left"), ONE_PAIR),
    Case("join of tables, full", lambda df: tables.changes(of_tables(df, by_time=True), "full"), KEPT, EVENT_TIME),
    Case("join of tables by a foreign key", named_by, Bound(("ts",), 6), {"latest_by": ("ts",)}, THREE_STATES),
    Case("with_rules", ruled, Bound(("customer",), 40), EVENT_TIME),
    Case("decode, valid", lambda df: valid(decoded(df)), NO_STATE),
    Case("decode, dead letters", lambda df: dead_letters(decoded(df)), NO_STATE),
    Case("drop duplicates", lambda df: df.dropDuplicates(["customer"]), ONE_ROW),
    Case("agg", lambda df: df.groupBy("customer").agg(F.sum("amount"), F.count("*")), ONE_ROW, {"latest_by": ("customer",)}),
    Case("tumbling, open", in_windows(windows.tumbling("5 seconds"), mode="update"), windows_kept(12), OPEN_WINDOWS),
    Case("sliding, closed", in_windows(windows.sliding("4 seconds", "2 seconds")), windows_kept(24), EVENT_TIME),
    Case("cumulating, closed", in_windows(windows.cumulating("2 seconds", "6 seconds")), windows_kept(24), EVENT_TIME),
    Case("sessions, closed", in_windows(windows.sessions("2 seconds")), Bound(("customer",), 14), EVENT_TIME),
    Case("tumbling, early and late", in_windows(windows.tumbling("5 seconds"), **EARLY), windows_kept(13), EVENT_TIME),
    Case("sessions, early and late", in_windows(windows.sessions("2 seconds"), **EARLY), Bound(("customer",), 16), EVENT_TIME),
    Case(
        "forever, early",
        before_the_end(windows.forever(), "pane.timing = 'early'", trigger=windows.repeatedly(3)),
        Bound(("customer",), 2),
        EVENT_TIME,
    ),
    Case("until, two records", before_the_end(windows.until(records=2), "n = 2"), WAITING, EVENT_TIME),
    Case("keeping, three of four seconds", in_windows(windows.keeping(records=3, time="4 seconds")), WAITING, EVENT_TIME),
    Case("tumbling by the clock", by_the_clock, Bound(("customer",), 3), exempt=BY_THE_CLOCK),
    Case("scan", counted, ONE_ROW),
    Case("scan when, forget", lambda df: counted(df, when=F.col("amount") > -2, forget=F.col("amount") > 4), ONE_ROW),
    Case("scan to many rows", repeated, ONE_ROW),
    Case("scan from a table", known_before, Bound(("customer",), rows_per_key=2, characters_per_key=60)),
    Case("scan by a number", counted_by_sign, ONE_ROW),
    Case("scan by event time", lambda df: counted(df, event_time="ts", delay=DELAY, order="amount"), WAITING, EVENT_TIME),
    Case("scan with late records", taken_or_late, WAITING, EVENT_TIME),
    Case("scan that forgets the idle", lambda df: counted(df, event_time="ts", delay=DELAY, idle="3 seconds"), WAITING, EVENT_TIME),
    Case("scan with an alarm", quiet, WAITING, EVENT_TIME),
    Case("scan without waiting", at_once, Bound(("customer",), 3, 180), EVENT_TIME),
    Case("scan with a clock", with_clock, Bound(("customer",), 3, 180), exempt=BY_THE_CLOCK),
    Case("scan with a bag, sessions in any order", in_any_order, KEPT, EVENT_TIME),
    Case("scan_python", counted_in_python, ONE_ROW),
    Case("scan_python by event time", quiet_in_python, WAITING, EVENT_TIME),
    Case("match", fallen, Bound(("customer",), 13, 1000), EVENT_TIME),
    Case("match of the preferred rows", preferred, Bound(("customer",), 13, 1000), EVENT_TIME),
    Case("match of an absence", unsurpassed, Bound(("customer",), 13, 600), EVENT_TIME),
    Case("match as records arrive", arrived, Bound(("customer",), 1, 400)),
    Case("features", featured(everything), Bound(("customer",), 1, 3000)),
    Case("top", lambda df: top(df, keys=["customer"], ranking=Top(n=2, by="amount", of="ts", rank=True)), Bound(("customer",), 1, 330)),
    Case("top at the end of a window", best_of_windows, Bound(("customer",), 28), EVENT_TIME),
    Case("changes of a sample", sampled_changes, Bound(("customer",), 1, 80)),
    Case("distinct, the last of a span", last_of_spans, KEPT, EVENT_TIME),
    Case("rate_limit", limited, Bound(("customer",), 1, 80)),
    Case("latest", located, Bound(("customer",), 15, 300), EVENT_TIME, READ_TWICE),
]

# Under the other laws they are all in "features". The bounds have room for longer numbers, and for less than one more record.
FEATURES = [
    Case("running", featured(lambda: {"value": running(F.stddev("amount"))}), Bound(("customer",), 1, 100)),
    Case(
        "running, heavy hitters", featured(lambda: {"value": running(F.expr("approx_top_k(amount, 2, 4)"))}), Bound(("customer",), 1, 260)
    ),
    Case("running, quantiles", featured(lambda: {"value": running(F.percentile_approx("amount", 0.5, 2))}), Bound(("customer",), 1, 300)),
    Case("previous", featured(lambda: {"value": previous("amount", 3)}), Bound(("customer",), 1, 70)),
    Case("within", featured(lambda: {"value": within("3 seconds", F.max("amount"))}), Bound(("customer",), 1, 140)),
    Case(
        "within, ahead", featured(lambda: {"value": within("2 seconds", F.max("amount"), ahead="1 second")}), Bound(("customer",), 1, 140)
    ),
    Case("recent", featured(lambda: {"value": recent("3 seconds", "amount")}), Bound(("customer",), 1, 140)),
    Case("last_n", featured(lambda: {"value": last_n(3, F.max("amount"))}), Bound(("customer",), 1, 110)),
    Case("since", featured(lambda: {"value": since("ts")}), Bound(("customer",), 1, 65)),
    Case("zscore", featured(lambda: {"value": zscore("amount")}), Bound(("customer",), 1, 140)),
    Case("zscore, of the last", featured(lambda: {"value": zscore("amount", last=3)}), Bound(("customer",), 1, 80)),
    Case("median_deviation", featured(lambda: {"value": median_deviation("amount", last=3)}), Bound(("customer",), 1, 80)),
    Case("seen_before", featured(lambda: {"value": seen_before("amount", "3 seconds")}), Bound(("customer",), 1, 140)),
]
