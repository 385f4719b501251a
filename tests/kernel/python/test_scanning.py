"""A scan in Python means what the scan means. (In real time it is tested by the laws, and with Kafka.)"""

from __future__ import annotations

import functools
import re
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.errors import DefinitionError
from headrace.kernel.python.scanning import scan_python
from headrace.kernel.scan import scan
from headrace.testing.microbatches import configured
from headrace.testing.shapes import BATCH, MICRO_BATCH, Shape
from headrace.testing.tables import assert_table, table

pytestmark = pytest.mark.usefixtures("spark")
each_shape = pytest.mark.parametrize("shape", [BATCH, *MICRO_BATCH], ids=str)

EVENTS = """
    k | v:bigint
    a | 1
    b | 9
    a | 3
    - | 4
    a | 0
    a | 2
    - | 5
"""


def count(state: dict[str, Any], record: dict[str, Any]) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
    n = state["n"] + 1
    rows = [{"k": record["k"], "v": record["v"], "n": n}] if record["v"] != 9 else []
    return None if record["v"] == 0 else {"n": n}, rows


def in_python(df: DataFrame, initial: DataFrame | None = None) -> DataFrame:
    output = "k string, v bigint, n int"
    return scan_python(df, keys="k", state="n int", start={"n": 0}, function=count, output=output, initial=initial)


def natively(df: DataFrame, initial: DataFrame | None = None) -> DataFrame:
    n = F.col("state.n") + 1
    return scan(
        df, keys="k", state={"n": F.lit(0)}, update={"n": n}, output=["k", "v", n.alias("n")], when=F.col("v") != 9,
        forget=F.col("v") == 0, initial=initial,
    )  # fmt: skip


@each_shape
def test_the_twin_gives_what_the_scan_gives(shape: Shape) -> None:
    expected = """
        k | v | n
        a | 1 | 1
        a | 3 | 2
        - | 4 | 1
        a | 0 | 3
        a | 2 | 1
        - | 5 | 2
    """
    assert_table(shape.run(in_python, EVENTS), expected)
    assert_table(shape.run(natively, EVENTS), expected)


@each_shape
def test_the_twin_begins_with_the_table_that_is_given(shape: Shape, spark: SparkSession) -> None:
    first = table(
        spark,
        """
        k | n:int
        a | 100
    """,
    )
    expected = """
        k | v | n
        a | 1 | 101
        b | 2 | 1
    """
    rows = """
        k | v:bigint
        a | 1
        b | 2
    """
    assert_table(shape.run(lambda df: in_python(df, first), rows), expected)
    assert_table(shape.run(lambda df: natively(df, first), rows), expected)


def test_the_twin_keeps_the_order_of_arrival_through_a_shuffle(spark: SparkSession) -> None:
    numbers = spark.range(20_000, numPartitions=1).select((F.col("id") % 2).cast("string").alias("k"), (F.col("id") + 10).alias("v"))
    assert in_python(numbers).where("n <> floor((v - 10) / 2) + 1").count() == 0


def remember(state: dict[str, Any], record: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    state["seen"].append(record["v"])
    return state, [{"k": record["k"], "n": len(state["seen"]), "m": state["m"]}]


@each_shape
def test_a_first_value_that_the_function_changes_is_new_for_each_key(shape: Shape) -> None:
    def operator(df: DataFrame) -> DataFrame:
        start = {"seen": [], "m": 7}
        return scan_python(df, keys="k", state="seen array<bigint>, m int", start=start, function=remember, output="k string, n int, m int")

    assert_table(
        shape.run(operator, EVENTS),
        """
        k | n | m
        a | 1 | 7
        a | 2 | 7
        a | 3 | 7
        a | 4 | 7
        b | 1 | 7
        - | 1 | 7
        - | 2 | 7
    """,
    )


def test_fields_that_the_table_to_begin_with_does_not_have_begin_as_for_a_new_key(spark: SparkSession) -> None:
    first = table(spark, [([1, 2], "a")], "seen array<bigint>, k string")
    options: dict[str, Any] = {"start": {"seen": [], "m": 7}, "function": remember, "output": "k string, n int, m int", "initial": first}
    result = scan_python(table(spark, [("a", 3)], "k string, v bigint"), keys="k", state="seen array<bigint>, m int", **options)
    assert [tuple(row) for row in result.collect()] == [("a", 3, 7)]


def test_names_in_the_table_to_begin_with_are_compared_as_spark_does(spark: SparkSession) -> None:
    rows, first = table(spark, [("a", 1)], "k string, v bigint"), table(spark, [("a", 100)], "K string, N int")
    assert [row.n for row in in_python(rows, first).collect()] == [101]
    with configured(spark, {"spark.sql.caseSensitive": "true"}), pytest.raises(DefinitionError, match="neither keys"):
        in_python(rows, first)


def add_to(amount: int, state: dict[str, Any], record: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    return {"n": state["n"] + amount}, [{"k": record["k"], "n": state["n"] + amount}]


def test_a_partial_function_travels_with_its_own_module_and_leaves_the_standard_library_alone(spark: SparkSession) -> None:
    rows = table(spark, [("a", 1), ("a", 2)], "k string, v bigint")
    by_five: Any = functools.partial(functools.partial(add_to), 5)
    result = scan_python(rows, keys="k", state="n int", start={"n": 0}, function=by_five, output="k string, n int")
    assert [row.n for row in result.collect()] == [5, 10]
    sent = cloudpickle.list_registry_pickle_by_value()  # type: ignore[no-untyped-call]
    assert __name__ in sent
    assert not {"functools", "operator"} & sent


def test_zero_and_minus_zero_are_one_key_and_all_nan_are_one(spark: SparkSession) -> None:
    def number(state: dict[str, Any], record: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        return {"n": state["n"] + 1}, [{"n": state["n"], "sign": str(record["k"])}]

    def counted(rows: DataFrame, first: DataFrame | None = None) -> list[tuple[int, str]]:
        options: dict[str, Any] = {"start": {"n": 0}, "function": number, "output": "n int, sign string", "initial": first}
        return sorted((row.n, row.sign) for row in scan_python(rows, keys="k", state="n int", **options).collect())

    zeros = table(spark, [(0.0,), (-0.0,)], "k double")
    assert counted(zeros) == [(0, "0.0"), (1, "-0.0")]
    assert counted(zeros, table(spark, [(-0.0, 5)], "k double, n int")) == [(5, "0.0"), (6, "-0.0")]
    assert [n for n, _ in counted(table(spark, [(float("nan"),), (float("nan"),)], "k double"))] == [0, 1]


@pytest.mark.parametrize(("state", "row", "reason"), [
    ({"n": 1}, {"k": "a", "v": 1, "count": 1}, "a row that the function gave names 'count'; a row has k, v, n"),
    ({"n": 1, "m": 1}, {}, "a state that the function gave names 'm'; a state has n"),
    ({}, {}, "a state that the function gave lacks 'n'; a state has n"),
])  # fmt: skip
def test_what_the_function_gives_is_held_against_the_schemas(
    spark: SparkSession, state: dict[str, Any], row: dict[str, Any], reason: str
) -> None:
    df = table(spark, [("a", 1)], "k string, v bigint")
    result = scan_python(df, keys="k", state="n int", function=lambda _, __: (state, [row]), output="k string, v bigint, n int")
    with pytest.raises(PythonException, match=re.escape(reason)):
        result.collect()


@pytest.mark.parametrize(("wrong", "reason"), [
    ({"keys": "m"}, "cannot be grouped"),
    ({"initial": lambda df: df.select(F.lit(0).alias("n"))}, "initial: there is no column 'k'"),
    ({"initial": lambda df: df.select("k", "v", F.lit(0).alias("n"), "m")}, "neither keys (k) nor fields of the state (n): v, m"),
    ({"keys": []}, "there is no key"),
    ({"state": "int"}, "state: 'int' is a type and no record"),
    ({"state": {"n": "int"}}, "state: {'n': 'int'} is no schema"),
    ({"output": "k strin g"}, "output: 'k strin g' is no DDL"),
    ({"function": "count"}, "function: 'count' cannot be called"),
    ({"keys": "customer"}, "there is no column 'customer'"),
    ({"order": "place"}, "there is no column 'place'"),
    ({"start": {"m": 0}}, "start names 'm', which is not a field of the state (n)"),
])  # fmt: skip
def test_a_wrong_definition_is_refused_where_it_stands(spark: SparkSession, wrong: dict[str, Any], reason: str) -> None:
    df = table(spark, [], "k string, v bigint, m map<string,int>")
    made = {name: value(df) if callable(value) else value for name, value in wrong.items()}
    arguments: dict[str, Any] = {"keys": "k", "state": "n int", "function": count, "output": "k string"} | made
    with pytest.raises(DefinitionError) as caught:
        scan_python(df, **arguments)
    assert reason in caught.value.what
    assert str(caught.value.where).startswith(__file__)
