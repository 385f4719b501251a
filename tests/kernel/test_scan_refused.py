"""Definitions that cannot run are refused where they stand, in words."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tests.kernel.counting import count, n

import headrace as hr
from headrace.errors import DefinitionError
from headrace.kernel.bags import Bag, Expire
from headrace.kernel.scan import Timer, scan
from headrace.testing.microbatches import configured
from headrace.testing.tables import table

pytestmark = pytest.mark.usefixtures("spark")


def other_state(schema: str) -> DataFrame:
    return table(SparkSession.active(), [], schema)


REFUSED = [
    (lambda: {"state": {}, "update": {}}, "state", "has no field"),
    (lambda: {"update": {"n": F.col("state.m") + 1}}, "update.n", "there is no column 'state.m'"),
    (lambda: {"update": {"n": F.col("k")}}, "update.n", "is of type STRING, but INT is needed"),
    (
        lambda: {"state": {"n": "timestamp"}, "update": {"n": F.lit(1).cast("bigint")}},
        "update.n",
        "is of type BIGINT, but TIMESTAMP is needed",
    ),
    (lambda: {"state": {"n": "string"}, "update": {"n": F.col("v")}}, "update.n", "is of type INT, but STRING is needed"),
    (lambda: {"state": {"n": "double"}, "update": {"n": F.col("v").cast("bigint")}}, "update.n", "is of type BIGINT, but DOUBLE is needed"),
    (lambda: {"state": {"n": "float"}, "update": {"n": F.col("v")}}, "update.n", "is of type INT, but FLOAT is needed"),
    (lambda: {"state": {"n": "struct<x:int,y:int>"}, "update": {"n": F.struct("v", "v")}}, "update.n", "is of type STRUCT<v: INT"),
    (lambda: {"update": {"m": F.lit(1)}}, "update.m", "is not a field of the state (n)"),
    (lambda: {"update": {"n": F.max("v")}}, "update.n", "looks at more than one record"),
    (lambda: {"update": {"n": F.rand().cast("int")}}, "update.n", "gives another value each time"),
    (lambda: {"update": {"n": F.unix_timestamp(F.current_timestamp()).cast("int")}}, "update.n", "reads the clock"),
    (lambda: {"update": {"n": F.hour(F.expr("localtimestamp()"))}}, "update.n", "reads the clock"),
    (lambda: {"update": {"n": F.udf(lambda v: v, "int")("v")}}, "update.n", "calls a Python function"),
    (lambda: {"update": {"n": F.col("n") + 1}}, "update.n", "there is no column 'n'"),
    (lambda: {"output": ["k", "amount"]}, "output", "there is no column 'amount'"),
    (lambda: {"output": ["k", "k"]}, "output", "has two columns named 'k'"),
    (lambda: {"output": [F.explode(F.array("v"))]}, "output", "looks at more than one record"),
    (lambda: {"output": F.col("v")}, "output", "must be one array of structs"),
    (lambda: {"when": "v >"}, "when", "Syntax error"),
    (lambda: {"update": {"n": F.expr("v >")}}, "update.n", "Syntax error"),
    (lambda: {"forget": 3}, "forget", "3 is no condition"),
    (lambda: {"update": {"n": "v + 1"}}, "update.n", "'v + 1' is text"),
    (lambda: {"update": {"n": object}}, "update.n", "is neither a column nor a value"),
    (lambda: {"update": [F.lit(1)]}, "update", "is no dict"),
    (lambda: {"state": "n int"}, "state", "is no dict"),
    (lambda: {"state": {"n": "dubble"}}, "state.n", "'dubble' is no type"),
    (lambda: {"output": ["k", 5]}, "output", "5 is neither a column nor the name of one"),
    (lambda: {"output": None}, "output", "None is neither a column nor the name of one"),
    (lambda: {"keys": F.col("k")}, "key", "is a column, and not the name of one"),
    (lambda: {"keys": ["k", F.col("v")]}, "key", "is a column, and not the name of one"),
    (lambda: {"order": F.col("v")}, "order", "is a column, and not the name of one"),
    (lambda: {"event_time": F.col("v")}, "event_time", "is a column, and not the name of one"),
    (lambda: {"event_time": "t", "delay": 5}, "delay", "5 is not a duration"),
    (lambda: {"timer": F.col("v")}, "timer", "is no Timer"),
    (lambda: {"timer": Timer(at=3)}, "timer.at", "3 is neither a column nor an expression"),
    (lambda: {"idle": 60}, "idle", "60 is not a duration"),
    (lambda: {"initial": [("a", 1)]}, "initial", "is no DataFrame"),
    (lambda: {"when": F.col("v")}, "when", "is of type INT, but BOOLEAN is needed"),
    (lambda: {"initial": other_state("k string, m int, n int, o int")}, "initial", "neither keys (k) nor fields of the state (n): m, o"),
    (lambda: {"initial": other_state("k string, n int, N int")}, "initial", "two columns named 'n'"),
    (lambda: {"keys": []}, "key", "there is none"),
    (lambda: {"keys": "customer"}, "key", "there is no column 'customer'; there are k, v, m"),
    (lambda: {"keys": "m"}, "key", "cannot be grouped"),
    (lambda: {"order": "place"}, "order", "there is no column 'place'"),
    (lambda: {"order": "m"}, "order", "which has no order"),
    (lambda: {"event_time": "v"}, "event_time", "a timestamp is needed"),
    (lambda: {"timer": Timer(at=F.col("v"), output=["k"])}, "timer.at", "there is no column 'v'"),
    (lambda: {"timer": Timer(at=F.col("state.n"), output=["k"])}, "timer.at", "a timestamp is needed"),
    (lambda: {"timer": Timer(at=F.lit(None).cast("timestamp"), output=[F.lit(1).alias("k")])}, "timer.output", "the records' output is"),
]


@pytest.mark.parametrize(("wrong", "part", "reason"), REFUSED, ids=[f"{part}: {reason}" for _, part, reason in REFUSED])
def test_a_wrong_definition_is_refused_where_it_stands(
    spark: SparkSession, wrong: Callable[[], dict[str, object]], part: str, reason: str
) -> None:
    df = table(spark, [], "k string, v int, m map<string,int>")
    arguments = {"keys": "k", "state": {"n": F.lit(0)}, "update": {"n": n() + 1}, "output": ["k"]} | wrong()
    with pytest.raises(DefinitionError) as caught:
        scan(df, **arguments)  # type: ignore[arg-type]
    assert caught.value.what.startswith(f"scan: {part}: ")
    assert reason in caught.value.what
    assert str(caught.value.where).startswith(__file__)


@pytest.mark.parametrize("clock", ["current_time()", "localtimestamp(9)"])
def test_the_clock_is_refused_also_in_types_that_spark_has_to_be_asked_for(spark: SparkSession, clock: str) -> None:
    asked = {"spark.sql.timeType.enabled": "true", "spark.sql.timestampNanosTypes.enabled": "true"}
    with configured(spark, asked), pytest.raises(DefinitionError, match=r"update\.n: reads the clock"):
        count(table(spark, [], "k string, v int"), update={"n": F.expr(f"length(string({clock}))")})


NOT_STORED = [
    ({"state": {"n": "map<binary,int>"}}, "state.n", "is of type MAP<BINARY, INT>", "the keys of a map must be text"),
    ({"state": {"n": "array<struct<m:map<int,int>>>"}}, "state.n", "is of type ARRAY<STRUCT<m: MAP<INT, INT>>>", "an array of structs"),
    ({"event_time": "ts"}, "event_time", "records wait in the state, and column 'm' is of type MAP<BINARY, INT>", "wait=False"),
    (
        {"bags": {"old": Bag(add=["m", "ts"], time="ts", expire=Expire(after="1 second", output=["k"]))}},
        "bags.old.add", "column 'm' is of type MAP<BINARY, INT>", "the keys of a map must be text",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("options", "part", "reason", "fix"), NOT_STORED, ids=[f"{part}: {reason}" for _, part, reason, _ in NOT_STORED])
def test_what_the_state_of_a_stream_cannot_hold_is_refused_where_it_stands(
    options: dict[str, object], part: str, reason: str, fix: str
) -> None:
    records = hr.read.memory("k string, ts timestamp").with_columns(m=F.create_map(F.col("k").cast("binary"), F.lit(1)))
    stream = records.key_by("k")
    with pytest.raises(DefinitionError) as caught:
        stream.scan(**{"state": {"n": F.lit(0)}, "update": {}, "output": ["k"]} | options)  # type: ignore[arg-type]
    assert caught.value.what == f"scan: {part}: {reason}, which the state of a stream cannot hold"
    assert fix in caught.value.fix
    assert str(caught.value.where).startswith(__file__)


def test_a_batch_holds_any_state(spark: SparkSession) -> None:
    rows = table(spark, [("a", 1)], "k string, v int")
    assert scan(rows, keys="k", state={"m": "map<binary,int>"}, update={}, output=["k", "state.m"]).collect() == [("a", None)]
