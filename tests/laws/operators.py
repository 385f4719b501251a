"""Every operator of headrace, with what is claimed of it. A new operator is a new line here; the laws do the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from tests.kernel.bagged import sessions

from headrace.decoding.records import dead_letters, decode, valid
from headrace.kernel.python.scanning import PythonTimer, scan_python
from headrace.kernel.scan import Timer, port, scan
from headrace.ops import windows
from headrace.ops.changes import changes, rate_limit, sample
from headrace.ops.distinct import distinct
from headrace.ops.features import Feature, last_n, latest, previous, recent, running, seen_before, since, with_features, within
from headrace.ops.features.deviations import median_deviation, zscore
from headrace.ops.joins import foreign, rules, tables, windowed
from headrace.ops.joins.as_of import nearest
from headrace.ops.joins.intervals import matched
from headrace.ops.joins.sides import Side, Sides
from headrace.ops.patterns.matching import match
from headrace.ops.patterns.pattern import step
from headrace.ops.patterns.preferred import Repeated, Rows, Sequel, Variable, recognize
from headrace.ops.ranking import Top, top
from headrace.testing.clocks import START
from headrace.testing.laws import Bound
from headrace.testing.microbatches import Operator
from headrace.testing.shapes import Options
from headrace.testing.tables import table

SCHEMA = "customer string, amount double, ts timestamp"
END = [("closing", amount, START + timedelta(days=1)) for amount in (0.0, -1.0)]  # for both streams of `located`

DELAY = "15 seconds"
NOT_CLOSING = "main.customer IS NULL OR main.customer <> 'closing'"

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


def n() -> Column:
    return F.col("state.n")


def counted(df: DataFrame, **more: object) -> DataFrame:
    count = (n() + 1).alias("count")
    options = {"output": ["customer", "amount", "ts", count], **more}
    return scan(df, keys="customer", state={"n": F.lit(0)}, update={"n": n() + 1}, **options)  # type: ignore[arg-type]


def repeated(df: DataFrame) -> DataFrame:
    copies = F.transform(F.sequence(F.lit(1), n() % 3), lambda i: F.struct("customer", "ts", i.alias("copy")))
    return counted(df, output=F.when(n() % 3 > 0, copies))


def quiet(df: DataFrame, **more: Any) -> DataFrame:
    """A row for each record, and one when a customer has been quiet for three seconds."""
    alarm = Timer(
        at=F.col("state.last") + F.expr("interval 3 seconds"),
        update={"n": F.lit(0)},
        output=["customer", F.lit("quiet").alias("what"), F.col("timer.time").alias("at"), n().alias("n")],
    )
    return scan(
        df, keys="customer", state={"n": F.lit(0), "last": "timestamp"}, update={"n": n() + 1, "last": F.col("ts")}, timer=alarm,
        output=["customer", F.lit("record").alias("what"), F.col("ts").alias("at"), n().alias("n")], event_time="ts", delay=DELAY,
        **more,
    )  # fmt: skip


def at_once(df: DataFrame) -> DataFrame:
    """The same without waiting, and a customer is forgotten two seconds after the alarm. (Closing rows would come at once, too.)"""
    return quiet(df, wait=False, idle="5 seconds").where(NOT_CLOSING)


def taken_or_late(df: DataFrame) -> DataFrame:
    """Records that come later than the delay: which of them are late depends on the cuts, that each comes out once does not."""
    result = counted(df, event_time="ts", delay="1 second")
    return result.select(
        *[F.when(F.col("late").isNull(), F.col(f"main.{name}")).otherwise(F.col(f"late.{name}")).alias(name) for name in df.columns]
    )


def counted_by_sign(df: DataFrame) -> DataFrame:
    """By customer and a number inside a struct, 0.0 or -0.0: one key."""
    zero = F.when(F.col("amount") < 0, F.lit(-0.0)).otherwise(F.lit(0.0))
    key = df.withColumn("zero", F.struct(zero.alias("x")))
    return scan(key, keys=["customer", "zero"], state={"n": F.lit(0)}, update={"n": n() + 1}, output=["customer", "amount", n().alias("n")])


def with_clock(df: DataFrame) -> DataFrame:
    """An alarm by the clock, that a restart must not lose and a replay not move."""
    alarm = Timer(at=F.col("state.at"), output=["customer", F.lit("rang").alias("what")], forget=F.lit(True))
    output: list[Column | str] = ["customer", F.lit("set").alias("what")]
    return scan(df, keys="customer", state={"at": "timestamp"}, update={"at": F.col("ts")}, timer=alarm, output=output)


def sides(df: DataFrame, delay: str = DELAY) -> Sides:
    """Amounts, and the places of the customer, which are the negative amounts: two streams out of one, and in one."""
    other = F.col("amount") < 0
    ts = F.col("ts").alias("ts", metadata={})
    records = df.withWatermark("ts", delay).select(
        F.col("customer").alias("key_0"), F.col("ts").alias("at"),
        F.when(F.coalesce(~other, F.lit(True)), F.struct("amount", ts)).alias("own"),
        F.when(other, F.struct(F.col("amount").alias("place"), ts.alias("seen"))).alias("other"),
    )  # fmt: skip
    there = df.withColumnsRenamed({"amount": "place", "ts": "seen"})
    return Sides(records, Side("own", df.schema, ("customer",), "ts"), Side("other", there.schema, ("customer",), "seen"))


def paired(how: str) -> Operator:
    """Amounts with the places of the customer within some seconds, and what is alone."""
    return lambda df: matched(sides(df), how, -3_000_000, 2_000_000).where(NOT_CLOSING)  # those of both sides would be a pair


def nearest_place(df: DataFrame) -> DataFrame:
    return nearest(sides(df), "nearest", tolerance=2_000_000).where(NOT_CLOSING)


def in_the_same_window(df: DataFrame) -> DataFrame:
    return windowed.join(sides(df), windows.sliding("4 seconds", "2 seconds"), "full").where(NOT_CLOSING)


def in_the_same_session(df: DataFrame) -> DataFrame:
    return windowed.cogroup(sides(df), windows.sessions("2 seconds"), ("amounts", "places")).where(NOT_CLOSING)


def of_tables(df: DataFrame, *, by_time: bool) -> Sides:
    """The same two, as tables: an amount of more than four, and a place below minus two, delete their rows."""
    both = sides(df)
    gone = F.coalesce(F.col("own.amount") > 4, F.col("other.place") < -2)
    if by_time:
        return replace(both, df=both.df.withColumn("gone", gone))
    arrived = both.df.withColumn("gone", gone).select("key_0", "own", "other", "gone")
    return replace(both, df=arrived, own=replace(both.own, time=None), other=replace(both.other, time=None))


def ruled(df: DataFrame) -> DataFrame:
    """Amounts with all places, whose keys are the places themselves."""
    both = sides(df)
    places = F.when(both.is_own, F.array(F.pmod(F.xxhash64("key_0"), F.lit(3)).cast("int"))).otherwise(F.array(*map(F.lit, range(3))))
    spread = both.df.withColumn("key_0", F.explode(places))
    return rules.seen(replace(both, df=spread), ["place"], "places").where("main IS NULL OR main.ts < timestamp'2026-01-02'")


def named_by(df: DataFrame) -> DataFrame:
    """Amounts, by their time, with the newest negative amount of the customer that they name."""
    spent = df.where("amount >= 0 OR amount IS NULL").where("ts IS NOT NULL")
    places = df.where("amount < 0").select("customer", F.col("amount").alias("place"))
    return foreign.changes(spent, places, keys=["ts"], on=["customer"], how="left", deleted=(F.col("amount") > 4, None))


def last_of_spans(df: DataFrame) -> DataFrame:
    return distinct(df, keys=["customer"], keep="last", within="3 seconds", event_time="ts", delay=DELAY, order="amount")


def in_any_order(df: DataFrame) -> DataFrame:
    return sessions(df.withColumnRenamed("customer", "k"), F.count("amount"), delay=DELAY)


def known_before(df: DataFrame) -> DataFrame:
    first = table(df.sparkSession, [("ann", 100), (None, 7), ("never comes", 1)], "customer string, n int")
    return counted(df, initial=first)


def stateless(df: DataFrame) -> DataFrame:
    many = F.explode(F.array("amount", F.lit(None), F.lit(1.0))).alias("one")
    return df.where("amount IS NULL OR amount <> 5").select("customer", (F.col("amount") * 2).alias("twice"), many)


def joined(df: DataFrame) -> DataFrame:
    names = table(df.sparkSession, [("ann", "Ann"), ("ann", "Anna"), ("bob", "Bob")], "customer string, name string")
    return df.join(F.broadcast(names), "customer", "left")


def featured(features: Callable[[], dict[str, Feature]]) -> Operator:
    return lambda df: with_features(df, keys="customer", time="ts", features=features())


def everything() -> dict[str, Feature]:
    """All features at once, in one scan."""
    return {
        "count": running(F.count("*")),
        "total": running(F.sum("amount"), inclusive=True),
        "low": running(F.min("amount")),
        "high": running(F.max("amount")),
        "mean": running(F.avg("amount")),
        "first": running(F.first("amount")),
        "last": running(F.last("amount")),
        "spread": running(F.stddev("amount")),
        "kinds": running(F.approx_count_distinct("amount")),
        "frequent": running(F.expr("approx_top_k(amount, 2, 4)")),
        "middle": running(F.percentile_approx("amount", 0.5, 10)),
        "some": running(F.count("*")).only(F.col("amount") > 0),
        "before": previous("amount"),
        "third": previous("amount", 3),
        "recent": within("3 seconds", F.count("*")),
        "top": within("3 seconds", F.max("amount"), inclusive=True),
        "low_top": within("3 seconds", F.max("amount"), inclusive=True).only(F.col("amount") < 2),
        "few": last_n(3, F.max("amount")),
        "lag": since("ts"),
        "grown": since("amount"),
        "again": seen_before("amount", "4 seconds"),
        "around": within("2 seconds", F.count("*"), ahead="2 seconds"),
        "new": running(F.count("*")).only(~F.col("again")),
        "amounts": recent("3 seconds", "amount").only("size(amounts) < 3"),
        "odd": zscore("amount"),
        "odd_of_three": zscore("amount", last=3),
        "usual": median_deviation("amount", last=3),
    }


def fallen(df: DataFrame) -> DataFrame:
    """An amount, and the first of the customer within six seconds that is lower than all since; and what was not followed by one."""
    pattern = step("high", "amount > -2").one_or_more().followed_by("low", "amount < min(high.amount)").within("6 seconds")
    told = ["count(high.*) AS n", "sum(match.amount) AS total", "collect_list(high.ts) AS at"]
    return match(df, pattern, keys="customer", event_time="ts", delay=DELAY, order="amount", output=told)


def preferred(df: DataFrame) -> DataFrame:
    """An amount and those that follow it and are not lower than the lowest so far: as many as there are within six seconds."""
    rows = Rows(
        pattern=Sequel((Variable("A"), Repeated(Variable("B"), 1, None))), define={"B": F.expr("amount >= min(A.amount)")},
        measures=[F.expr("count(B.*) AS n"), F.expr("sum(match.amount) AS total")], within="6 seconds",
    )  # fmt: skip
    return recognize(df, rows, keys=["customer"], event_time="ts", delay=DELAY, order=["amount"])


def unsurpassed(df: DataFrame) -> DataFrame:
    """Amounts that none follows within four seconds that is higher; of those that began within one, the first."""
    pattern = step("amounts").not_followed_by("higher", "amount > amounts.amount").within("4 seconds")
    return match(df, pattern, keys="customer", event_time="ts", delay=DELAY, skip="to next")


def arrived(df: DataFrame) -> DataFrame:
    """As long as they come one after the other within five seconds, and rise, as records arrive."""
    pattern = step("first").next("more", "amount >= match.amount").one_or_more().consecutive().within("5 seconds", after="previous")
    return match(df, pattern, keys="customer", time="ts", skip="to last more", most=50)


def located(df: DataFrame) -> DataFrame:
    """Amounts with the last place of the customer, where places are the negative amounts: two streams out of one."""
    places = df.where("amount < 0")
    spent = df.where("amount >= 0 OR amount IS NULL")
    features = {"place": latest(places, "amount")}
    return with_features(spent, keys="customer", features=features, event_time="ts", delay=DELAY).select("main.*")


def counted_in_python(df: DataFrame) -> DataFrame:
    def count(state: dict[str, Any], record: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        return {"n": state["n"] + 1}, [{**record, "count": state["n"] + 1}]

    return scan_python(df, keys="customer", state="n int", start={"n": 0}, function=count, output=f"{SCHEMA}, count int")


def quiet_in_python(df: DataFrame) -> DataFrame:
    """As `quiet`, with Python functions for the records and for the alarm."""

    def record(state: dict[str, Any], record: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        row = {"customer": record["customer"], "what": "record", "at": record["ts"], "n": state["n"]}
        return {"n": state["n"] + 1, "last": record["ts"]}, [row]

    def ring(state: dict[str, Any], key: dict[str, Any], timer: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        return {**state, "n": 0}, [{**key, "what": "quiet", "at": timer["time"], "n": state["n"]}]

    alarm = PythonTimer(at=F.col("state.last") + F.expr("interval 3 seconds"), function=ring)
    return scan_python(
        df, keys="customer", state="n int, last timestamp", start={"n": 0}, function=record, timer=alarm,
        output="customer string, what string, at timestamp, n int", event_time="ts", delay=DELAY,
    )  # fmt: skip


def decoded(df: DataFrame) -> DataFrame:
    """Some of the records as JSON, some broken; some lack what is required."""
    text = F.when(F.col("amount") < 0, F.lit("{")).otherwise(F.to_json(F.struct("customer", "amount")))
    return decode(df.select(text.alias("value")), schema="customer STRING NOT NULL, amount DOUBLE")


def best_of_windows(df: DataFrame) -> DataFrame:
    """The two highest amounts of each five seconds, with those that are as high, when time has passed their end."""
    cut = F.window("ts", "5 seconds").getField("end")
    ranking = Top(n=2, by="amount", rank=True, ties=True, at="end")
    return top(df.withColumn("end", cut), keys=["end"], ranking=ranking, event_time="ts", delay=DELAY)


def limited(df: DataFrame) -> DataFrame:
    return rate_limit(df, keys=["customer"], n=2, per="3 seconds", time="ts")


def sampled_changes(df: DataFrame) -> DataFrame:
    """Of two thirds of the customers, ann and null among them, the records whose amount has another sign."""
    some = sample(df.withColumn("sign", F.signum("amount")), keys=["customer"], fraction=0.67)
    return changes(some, keys=["customer"], columns=["sign"])


def in_windows(window: windows.Window, **options: Any) -> Operator:
    """The panes of a window, without the late records."""

    def operator(df: DataFrame) -> DataFrame:
        windowing = windows.Windowing(window, ("customer",), "ts", timed=True, **{"mode": "append", **options})
        total = {"n": F.count("*"), "top": F.max("amount"), "kinds": F.count_distinct("amount")}
        return port(windows.aggregate(df.withWatermark("ts", DELAY), windowing, total), "main")

    return operator


def by_the_clock(df: DataFrame) -> DataFrame:
    return windows.aggregate(df, windows.Windowing(windows.tumbling("1 second"), by_clock=True, mode="append"), {"n": F.count("*")})


def before_the_end(window: windows.Window, rows: str, **options: Any) -> Operator:
    """Without what only the end of the input brings, which some shapes do not have."""
    return lambda df: in_windows(window, **options)(df).where(rows)


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
