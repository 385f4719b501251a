"""Python functions in a scan and of single records: what they see, what they may give, and what becomes of what they raise."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PythonException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from tests.waiting import eventually

import headrace as hr
from headrace.errors import DefinitionError
from headrace.kernel.python.mapping import led_past, map_python, one_by_one
from headrace.kernel.python.scanning import PythonTimer, scan_python
from headrace.kernel.scan import port
from headrace.testing.tables import table

pytestmark = pytest.mark.usefixtures("spark")

VALUES = {
    "boolean": True, "tinyint": -128, "smallint": 32767, "int": -(2**31), "bigint": 2**63 - 1, "float": 0.5, "double": 1e300,
    "decimal(20,3)": Decimal("-12345678901234567.125"), "string": "Å∀ \U0001f30a", "binary": b"\x00\xff", "date": date(1969, 12, 31),
    "timestamp": datetime(2026, 1, 1, 10, 0, 0, 123456, tzinfo=UTC), "timestamp_ntz": datetime(1900, 1, 1, 0, 0, 0, 1),
    "array<date>": [date(2026, 1, 1), None], "map<string,decimal(5,2)>": {"a": Decimal("1.25"), "b": None},
    "struct<at:timestamp,xs:array<bigint>>": {"at": datetime(2026, 1, 1, tzinfo=UTC), "xs": [1, -(2**63)]},
}  # fmt: skip


@pytest.mark.parametrize("way", ["scan", "many at a time", "one by one"])
def test_a_function_gets_every_type_as_python_has_it_and_gives_it_back(spark: SparkSession, way: str) -> None:
    schema = ", ".join(f"c{i} {kind}" for i, kind in enumerate(VALUES))
    record = {f"c{i}": value for i, value in enumerate(VALUES.values())}
    records = spark.createDataFrame([record, {}], schema).withColumn("k", F.lit("a")).coalesce(1)

    def same(record: dict[str, Any]) -> dict[str, Any]:
        return record | {"seen": repr(record)}

    def carried(state: dict[str, Any], record: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        return record, [same(record) | {"k": repr(state)}]

    output = f"{schema}, k string, seen string"
    if way == "scan":
        result = scan_python(records, keys="k", state=f"{schema}, k string", start=record, function=carried, output=output)
        assert result.first()["k"] == repr(record | {"k": None})  # type: ignore[index]
    elif way == "one by one":
        with one_by_one():
            result = map_python(records, kind="map", function=same, output=output)
    else:
        result = map_python(records, kind="map", function=same, output=output)
    whole, empty = result.collect()
    assert whole.seen == repr(record | {"k": "a"})
    assert empty.seen == repr(dict.fromkeys(record) | {"k": "a"})
    columns = [F.col(f"c{i}").eqNullSafe(F.col(f"d{i}")) for i, kind in enumerate(VALUES) if not kind.startswith("map")]
    both = (
        result.select([F.col(f"c{i}") for i in range(len(VALUES))])
        .where("c0")
        .crossJoin(records.where("c0").select([F.col(f"c{i}").alias(f"d{i}") for i in range(len(VALUES))]))
    )
    assert [all(row) for row in both.select(columns).collect()] == [True]


def sign(record: dict[str, Any]) -> dict[str, Any]:
    return {"v": 10 // record["v"]}


@pytest.mark.parametrize("ahead", [False, True])
def test_a_record_for_which_a_function_raises_is_a_dead_letter_with_the_line(spark: SparkSession, ahead: bool) -> None:
    rows = table(spark, [("a", 5), ("b", 0)], "k string, v int")

    def letters() -> Any:
        return map_python(rows, kind="map", function=sign, output="v int", errors="dead_letters")

    if ahead:
        with one_by_one():
            result = letters()
    else:
        result = letters()
    (letter,) = port(result, "dead_letters").collect()
    assert [row.v for row in port(result, "main").collect()] == [2]
    assert (letter.reason, letter.record.k) == ("ZeroDivisionError: integer division or modulo by zero", "b")
    assert letter.line == f"{__file__}:{sign.__code__.co_firstlineno + 1}"


def divide(state: dict[str, Any], record: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    state["n"] += 1
    return state, [{"n": state["n"], "v": 10 // record["v"]}]


def test_in_a_scan_a_dead_letter_leaves_the_state_as_it_was(spark: SparkSession) -> None:
    rows = table(spark, [("a", 5), ("a", 0), ("a", 1)], "k string, v int")
    result = scan_python(rows, keys="k", state="n int", start={"n": 0}, function=divide, output="n int, v int", errors="dead_letters")
    assert [tuple(row) for row in port(result, "main").collect()] == [(1, 2), (2, 10)]
    (letter,) = port(result, "dead_letters").collect()
    assert (letter.reason.split(":")[0], letter.record.asDict()) == ("ZeroDivisionError", {"k": "a", "v": 0})
    assert letter.line == f"{__file__}:{divide.__code__.co_firstlineno + 2}"


def test_else_it_ends_the_job_with_what_was_raised(spark: SparkSession) -> None:
    rows = table(spark, [("a", 0)], "k string, v int")
    result = scan_python(rows, keys="k", state="n int", start={"n": 0}, function=divide, output="n int, v int")
    with pytest.raises(PythonException, match="ZeroDivisionError"):
        result.collect()


def test_rows_by_port_come_out_of_their_ports(spark: SparkSession) -> None:
    def parted(state: dict[str, Any], record: dict[str, Any]) -> Any:
        return state, {"main": [{"v": record["v"]}], "odd": [{"k": record["k"]}] if record["v"] % 2 else []}

    rows = table(spark, [("a", 1), ("a", 2)], "k string, v int")
    result = scan_python(rows, keys="k", state="n int", function=parted, output="v int", ports={"odd": "k string"})
    assert sorted(row.v for row in port(result, "main").collect()) == [1, 2]
    assert [row.k for row in port(result, "odd").collect()] == ["a"]


class Opened:
    """A function that remembers how many records it has seen since it was opened, and writes that down when it is closed."""

    def __init__(self, notes: Path) -> None:
        self.notes = notes

    def open(self) -> None:
        self.seen = 0

    def close(self) -> None:
        self.notes.write_text(f"{self.seen}")

    def __call__(self, state: dict[str, Any], _: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        self.seen += 1
        return state, [{"seen": self.seen, "process": os.getpid()}]


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_function_that_is_an_object_stays_in_its_worker_from_batch_to_batch_until_its_query_ends(tmp_path: Path) -> None:
    numbers = hr.read.memory("k string", [("a",)], [("a",)], [("a",)])
    stream = numbers.key_by("k").scan_python(state="n int", function=Opened(tmp_path / "notes"), output="seen int, process int")
    result = stream.to.memory()
    running = hr.Job("opened", result).start("micro-batch")
    running.process_all()
    (process,) = {row.process for row in result.sink.rows}
    assert [row.seen for row in result.sink.rows] == [1, 2, 3]
    assert is_alive(process)
    running.stop()
    assert eventually(lambda: not is_alive(process))
    assert (tmp_path / "notes").read_text() == "3"


def test_in_a_batch_a_function_that_is_an_object_is_closed_and_its_process_ends(spark: SparkSession, tmp_path: Path) -> None:
    rows = table(spark, [("a",), ("a",)], "k string")
    function = Opened(tmp_path / "notes")
    result = scan_python(rows, keys="k", state="n int", function=function, output="seen int, process int").collect()
    assert [row.seen for row in result] == [1, 2]
    assert eventually(lambda: not is_alive(result[0].process))
    assert (tmp_path / "notes").read_text() == "2"


@pytest.mark.parametrize(("answer", "reason"), [
    (5, "the function gave 5 (int), but (state, rows) is needed"),
    (({"n": "x"}, []), "n is a str, but INT is needed"),
    (({"n": 2**40}, []), "INT is needed"),
    (({"n": 1}, [{"v": 1.5}]), "v is a float, but INT is needed"),
    (({"n": 1}, [7]), "a row that the function gave is 7 (int), but a dict is needed"),
    (({"n": object()}, []), "unmarshallable object"),
])  # fmt: skip
def test_an_answer_of_the_wrong_shape_says_which(spark: SparkSession, answer: Any, reason: str) -> None:
    rows = table(spark, [("a", 1)], "k string, v int")
    wrong = "object" if "unmarshallable" in reason else None
    result = scan_python(rows, keys="k", state="n int", function=lambda _, __: ({"n": object()}, []) if wrong else answer, output="v int")
    with pytest.raises(Exception) as raised:
        result.collect()
    assert reason in str(raised.value)


def test_a_function_that_cannot_be_sent_is_refused_where_it_stands(spark: SparkSession) -> None:
    lock = threading.Lock()
    rows = table(spark, [], "k string, v int")
    for refused in (
        lambda: scan_python(rows, keys="k", state="n int", function=lambda s, _: (s, [lock]), output="v int"),
        lambda: map_python(rows, kind="map", function=lambda _: {"v": lock}, output="v int"),
    ):
        with pytest.raises(DefinitionError) as error:
            refused()
        assert "cannot be sent to Spark's workers" in error.value.what
        assert "inside the function" in error.value.fix
        assert str(error.value.where).startswith(__file__)


def test_a_worker_that_is_killed_ends_the_job_in_words(spark: SparkSession) -> None:
    rows = table(spark, [("a", 1)], "k string, v int")
    result = scan_python(rows, keys="k", state="n int", function=lambda _, __: os.kill(os.getpid(), 9), output="v int")  # type: ignore
    with pytest.raises(Exception, match="the Python process of a function ended in the middle of a record"):
        result.collect()


def test_a_call_that_takes_longer_than_its_limit_ends_the_job_in_words(spark: SparkSession) -> None:
    def hang(state: Any, record: Any) -> Any:  # noqa: ARG001
        threading.Event().wait()

    rows = table(spark, [("a", 1)], "k string, v int")
    result = scan_python(rows, keys="k", state="n int", function=hang, output="v int", limit=1)
    with pytest.raises(Exception, match="took longer than 1000 ms for one record"):
        result.collect()


def test_a_limit_of_single_records_counts_in_real_time_only(spark: SparkSession) -> None:
    def slow(record: Any) -> Any:
        threading.Event().wait(1)
        return record

    def rows(way: Callable[[], AbstractContextManager[None]]) -> list[int]:
        with way():
            made = map_python(table(spark, [(1,)], "v int"), kind="map", function=slow, output="v int", limit=0.2)
        return [row.v for row in made.collect()]

    assert rows(nullcontext) == rows(led_past) == [1]
    with pytest.raises(Exception, match="took longer than 200 ms for one record"):
        rows(one_by_one)


def test_what_a_function_prints_does_not_disturb_it(spark: SparkSession) -> None:
    def loud(state: Any, record: Any) -> Any:
        print("loud", flush=True)  # noqa: T201
        return state, [{"v": record["v"]}]

    rows = table(spark, [("a", 1)], "k string, v int")
    assert [row.v for row in scan_python(rows, keys="k", state="n int", function=loud, output="v int").collect()] == [1]


def test_a_timer_may_be_a_function(spark: SparkSession) -> None:
    def record(state: Any, record: Any) -> Any:
        return {"end": record["ts"], "n": state["n"] + 1}, []

    def ring(state: Any, key: Any, timer: Any) -> Any:
        return None, [{"k": key["k"], "at": timer["time"], "n": state["n"]}]

    rows = table(spark, [("a", datetime(2026, 1, 1, tzinfo=UTC)), ("a", datetime(2026, 1, 2, tzinfo=UTC))], "k string, ts timestamp")
    result = scan_python(
        rows, keys="k", state="end timestamp, n int", start={"n": 0}, function=record, output="k string, at timestamp, n int",
        event_time="ts", timer=PythonTimer(at="state.end + interval 1 hour", function=ring),
    )  # fmt: skip
    assert [(row.k, row.n, row["at"].hour) for row in port(result, "main").collect()] == [("a", 1, 1), ("a", 1, 1)]
