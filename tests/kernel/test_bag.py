"""A bag: many rows of a key, in the order of their time, of which a record visits some."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tests.kernel.bagged import assert_same, main, seconds
from tests.kernel.counting import each_shape

import headrace as hr
from headrace.errors import DefinitionError, JobError
from headrace.kernel.bags import Bag, Each, Expire
from headrace.kernel.scan import Timer, scan
from headrace.planning.table import Mode
from headrace.testing.clocks import START
from headrace.testing.microbatches import MicroBatches
from headrace.testing.results import Result
from headrace.testing.shapes import BATCH, Shape, random_cuts
from headrace.testing.states import kept_rows
from headrace.testing.tables import assert_table, table

pytestmark = pytest.mark.usefixtures("spark")


def numbered(df: DataFrame, **parts: Any) -> DataFrame:
    """Each record without `low` adds a row; one with it visits those from `low` to `high`, and gives their numbers in order."""
    each = {"between": ("low", "high"), "update": {"seen": F.concat_ws(" ", "state.seen", F.col("bag.v").cast("string"))}}
    bag = Bag(add=["v", "at"], when=F.col("v").isNotNull(), time="at", each=Each(**{**each, **parts}))  # type: ignore[arg-type]
    return scan(
        df, keys="k", state={"seen": F.lit("")}, update={"seen": F.lit("")}, output=["n", F.trim("state.seen").alias("seen")],
        when=F.col("v").isNull(), bags={"rows": bag},
    )  # fmt: skip


TIMES = """
    k | n:int | v:int | at:timestamp    | low:timestamp | high:timestamp
    a |       | 1     | 10:00:03        |               |
    a |       | 2     | 10:00:01        |               |
    a |       | 3     | 10:00:02        |               |
    a |       | 4     | 10:00:01        |               |
    b |       | 9     | 10:00:02        |               |
    a |       | 5     |                 |               |
    a |       | 6     | 1969-12-31 23:59:59 |           |
    a | 1     |       |                 | 10:00:01      | 10:00:02
    a | 2     |       |                 | 10:00:01.000001 | 10:00:01.999999
    a | 3     |       |                 | 1900-01-01 00:00:00 | 10:00:00
    a | 4     |       |                 | 10:00:03      | 10:00:02
    a | 5     |       |                 |               | 10:00:02
    b | 6     |       |                 | 10:00:00      | 10:00:09
"""


@each_shape
def test_a_record_visits_the_rows_between_two_times_both_included_in_their_order(shape: Shape) -> None:
    assert_table(
        shape.run(numbered, TIMES),
        """
        n | seen
        1 | 2 4 3
        2 | ""
        3 | 6
        4 | ""
        5 | ""
        6 | 9
    """,
    )


VISITS = """
    k | n:int | v:int | at:timestamp | low:timestamp | high:timestamp
    a |       | 1     | 10:00:01     |               |
    a |       | 2     | 10:00:02     |               |
    a |       | 3     | 10:00:02     |               |
    a |       | 4     | 10:00:03     |               |
    a | 1     |       | 10:00:09     | 10:00:02      | 10:00:03
    a | 2     |       | 10:00:09     | 10:00:01      | 10:00:09
"""


@pytest.mark.parametrize(
    ("parts", "first", "second"),
    [
        ({}, "2 3 4", "1 2 3 4"),
        ({"limit": 2}, "2 3", "1 2"),
        ({"between": (None, "high")}, "1 2 3 4", "1 2 3 4"),
        ({"between": ("low", None)}, "2 3 4", "1 2 3 4"),
        ({"remove": "bag.v % 2 = 1"}, "2 3 4", "1 2 4"),
        ({"remove": "bag.v = 3", "limit": 2}, "2 3", "1 2"),
        ({"change": ["v"]}, "2 3 4", "1 12 13 14"),
        ({"change": ["at"]}, "2 3 4", "1 2 3 4"),
    ],
    ids=["all", "limit", "no lower bound", "no upper bound", "remove", "remove one of a time", "change", "change of the time"],
)
@pytest.mark.parametrize("shape", [BATCH, random_cuts(8)], ids=str)
def test_what_a_visit_leaves_the_next_one_sees(shape: Shape, parts: dict[str, Any], first: str, second: str) -> None:
    changes = {"v": F.col("bag.v") + 10, "at": F.col("bag.at") + seconds(3)}
    visit = {**parts, "change": {name: changes[name] for name in parts.get("change", [])}}
    assert_table(
        shape.run(lambda df: numbered(df, **visit), VISITS),
        f"""
        n | seen
        1 | {first}
        2 | {second}
    """,
    )


def left_over(df: DataFrame, **more: Any) -> DataFrame:
    """Every record is kept for five seconds. It says how many there are as it comes and leaves. A negative one forgets its key."""
    n = F.col("state.n")
    bag = Bag(
        add=["v", "ts"],
        time="ts",
        expire=Expire(
            after="5 seconds", update={"n": n - 1}, output=["k", F.lit("left").alias("what"), F.col("bag.v").alias("v"), n.alias("n")]
        ),
    )
    alarm = Timer(
        at=F.col("state.last") + seconds(5), output=["k", F.lit("rang").alias("what"), F.lit(None).cast("int").alias("v"), n.alias("n")]
    )
    options: dict[str, Any] = {"timer": alarm, "event_time": "ts", "delay": "10 seconds", **more}
    return scan(
        df, keys="k", state={"n": 0, "last": "timestamp"}, update={"n": n + 1, "last": F.col("ts")}, forget=F.col("v") < 0,
        output=["k", F.lit("came").alias("what"), "v", (n + 1).alias("n")], bags={"last": bag}, **options,
    )  # fmt: skip


KEPT = """
    k | v:int | ts:timestamp
    a | 1     | 10:00:01
    a | 2     | 10:00:01
    a | 3     | 10:00:05
    a | 4     | 10:00:06
    a | 5     | 10:00:06.000001
"""
LAST = """
    k | v:int | ts:timestamp
    z | 0     | 23:00:00
"""


def test_a_row_leaves_after_the_records_of_its_last_moment_and_before_a_later_one_and_an_alarm(spark: SparkSession) -> None:
    assert_table(
        main(left_over(table(spark, KEPT))),
        """
        k | what | v | n
        a | came | 1 | 1
        a | came | 2 | 2
        a | came | 3 | 3
        a | came | 4 | 4
        a | left | 1 | 4
        a | left | 2 | 3
        a | came | 5 | 3
        a | left | 3 | 3
        a | left | 4 | 2
        a | left | 5 | 1
        a | rang | - | 0
    """,
        ordered=True,
    )


@each_shape
def test_rows_leave_alike_however_the_stream_is_cut(spark: SparkSession, shape: Shape) -> None:
    assert_same(shape.run(lambda df: main(left_over(df)), KEPT, closing=LAST), main(left_over(table(spark, KEPT))))


def test_where_records_do_not_wait_rows_leave_when_the_watermark_has_come_to_their_end(spark: SparkSession) -> None:
    def operator(df: DataFrame) -> DataFrame:
        return main(left_over(df, wait=False, timer=None)).where("what = 'left'").select("v")

    def values(result: Result) -> list[int]:
        return [row.v for row in result.rows]

    with MicroBatches(operator, "k string, v int, ts timestamp", spark=spark) as stream:
        stream.feed([("a", 1, START), ("a", 2, START + timedelta(seconds=14.999))])
        assert values(stream.tick()) == []  # the watermark is at 4.999
        stream.feed([("a", 3, START + timedelta(seconds=15))])
        stream.restart()
        assert values(stream.tick()) == [1]
        assert values(stream.feed([("b", 0, START + timedelta(hours=1))]) + stream.tick()) == [2, 3]


def test_by_the_clock_rows_leave_when_it_has_come_to_their_end(spark: SparkSession) -> None:
    def operator(df: DataFrame) -> DataFrame:
        return left_over(df, timer=None, event_time=None).where("what = 'left'").select("v")

    with MicroBatches(operator, "k string, v int, ts timestamp", spark=spark) as stream:
        now = stream.clock.now
        stream.feed([("a", 1, now), ("a", 2, now + timedelta(seconds=2))])
        for left in ([], [1], [2]):
            stream.clock.advance("3 seconds")
            assert [row.v for row in stream.tick().rows] == left


@each_shape
def test_to_forget_a_key_empties_its_bags(shape: Shape) -> None:
    records = """
        k | v:int | ts:timestamp
        a | 1     | 10:00:01
        a | -2    | 10:00:02
        a | 3     | 10:00:03
    """
    assert_table(
        shape.run(lambda df: main(left_over(df, timer=None)), records, closing=LAST),
        """
        k | what | v  | n
        a | came | 1  | 1
        a | came | -2 | 2
        a | came | 3  | 1
        a | left | 3  | 1
    """,
    )


def test_what_was_removed_is_gone_from_the_state(spark: SparkSession) -> None:
    with MicroBatches(lambda df: main(left_over(df)), "k string, v int, ts timestamp", spark=spark) as stream:
        stream.feed([("a", i, START + timedelta(seconds=i)) for i in range(20)])
        stream.feed([("z", 0, START + timedelta(hours=1))])
        stream.tick()
        assert kept_rows(stream) == 2 + 2  # the state and the clock of a; the record of z, which waits, and its clock


@pytest.mark.parametrize("mode", ["batch", "micro-batch"])
def test_one_row_more_than_the_most_fails_in_words(mode: Mode) -> None:
    def kept(most: int) -> hr.Job:
        bag = Bag(add=["v", "at"], time="at", each=Each(output=["k", "v"]), most=most)
        records = hr.read.memory("k string, v int, at timestamp", [("a", 1, START), ("a", 2, START), ("b", 3, START), ("a", 4, START)])
        return hr.Job(f"kept-{most}-{mode}", records.key_by("k").scan(bags={"rows": bag}).to.memory(), trigger=hr.finish)

    kept(3).run(mode)
    with pytest.raises(JobError) as failed:
        kept(2).run(mode)
    assert "the bag 'rows' of a key would have more than 2 rows, the most that it may have" in failed.value.what
    assert failed.value.fix.startswith("let rows leave sooner (expire), remove those that are done with (each), or allow more: Bag(most=…)")


def test_what_waits_is_not_written_again_when_other_records_are_due(spark: SparkSession) -> None:
    def operator(df: DataFrame) -> DataFrame:
        return scan(df, keys="k", state={"n": 0}, update={"n": F.col("state.n") + 1}, output=["k"], event_time="ts", delay="50 seconds")

    def written(stream: MicroBatches) -> int:
        return int(stream.progress[-1]["stateOperators"][0]["customMetrics"]["rocksdbTotalBytesWritten"])

    far = [("a", "x" * 1000, START + timedelta(seconds=100 + i % 10)) for i in range(200)]
    with MicroBatches(operator, "k string, v string, ts timestamp", spark=spark) as stream:
        stream.feed([("a", "", START), *far])
        assert written(stream) > 200_000
        assert len(stream.tick().rows) == 1
        assert written(stream) < 2_000


REFUSED = [
    (lambda: Each(), "bags.rows", "is no Bag"),
    (lambda: Bag(add=["v", "at"], time="at"), "bags.rows", "nothing is done with its rows"),
    (lambda: Bag(add=["v", "at"], time="at", each=Expire(after="1 second")), "bags.rows.each", "is no Each"),  # type: ignore[arg-type]
    (lambda: Bag(add=["v", "at"], time="at", expire="1 second"), "bags.rows.expire", "is no Expire"),  # type: ignore[arg-type]
    (lambda: Bag(add=["v", "at"], time="at", each=Each(), most=0), "bags.rows.most", "0 is not a number of rows"),
    (lambda: Bag(add=["v", "at"], time="at", each=Each(limit=0)), "bags.rows.each.limit", "0 is not a number of rows"),
    (lambda: Bag(add=["v", "at"], time="at", each=Each(between="at")), "bags.rows.each.between", "are not two times"),  # type: ignore[arg-type]
    (lambda: Bag(add=["v", "at"], time="at", each=Each(between=("v", None))), "bags.rows.each.between", "TIMESTAMP is needed"),
    (lambda: Bag(add=["v", "at"], time="at", each=Each(between=("bag.at", None))), "bags.rows.each.between", "there is no column 'bag.at'"),
    (
        lambda: Bag(add=["v", "at"], time="when", each=Each()),
        "bags.rows.time",
        "there is no column 'when' among those that are added: v, at",
    ),
    (lambda: Bag(add=["v", "at"], time="v", each=Each()), "bags.rows.time", "a timestamp is needed"),
    (lambda: Bag(add=["w", "at"], time="at", each=Each()), "bags.rows.add", "there is no column 'w'"),
    (lambda: Bag(add=["v", "at"], when="v", time="at", each=Each()), "bags.rows.when", "BOOLEAN is needed"),
    (lambda: Bag(add=["v", "at"], time="at", each=Each(remove="bag.w > 1")), "bags.rows.each.remove", "there is no column 'bag.w'"),
    (lambda: Bag(add=["v", "at"], time="at", each=Each(change={"w": 1})), "bags.rows.each.change.w", "is not a column of the bag (v, at)"),
    (lambda: Bag(add=["v", "at"], time="at", each=Each(change={"v": "1"})), "bags.rows.each.change.v", "'1' is text"),
    (lambda: Bag(add=["v", "at"], time="at", each=Each(change={"v": 1.5})), "bags.rows.each.change.v", "INT is needed"),
    (lambda: Bag(add=["v", "at"], time="at", each=Each(update={"m": 1})), "bags.rows.each.update.m", "is not a field of the state"),
    (lambda: Bag(add=["v", "at"], time="at", each=Each(output=["v"])), "bags.rows.each.output", "but the records' output is"),
    (lambda: Bag(add=["v", "at"], time="at", expire=Expire(after="soon")), "bags.rows.expire.after", "'soon' is not a duration"),
    (lambda: Bag(add=["v", "at"], time="at", expire=Expire(after="1 second", output=["v"])), "bags.rows.expire.output", "no column 'v'"),
]


@pytest.mark.parametrize(("bag", "at", "why"), REFUSED, ids=[f"{at}: {why}" for _, at, why in REFUSED])
def test_a_bag_that_cannot_run_is_refused_where_it_stands(spark: SparkSession, bag: Any, at: str, why: str) -> None:
    df = table(spark, [], "k string, v int, at timestamp")
    with pytest.raises(DefinitionError) as refused:
        scan(df, keys="k", state={"n": 0}, update={}, output=["k"], bags={"rows": bag()})
    assert refused.value.what.startswith(f"scan: {at}: ")
    assert why in refused.value.what
    assert refused.value.fix
    assert str(refused.value.where).startswith(__file__)
