"""Records of a key that come in one batch are sent to Python together: nobody can tell. A `limit` for each call keeps them apart."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from headrace.kernel.ports import port
from headrace.kernel.python.scanning import Function, scan_python

RECORDS = [(key, n) for n in range(150) for key in "abc"[: 1 + n % 3]]
"""More of a key than are sent together, and less."""

Answer = tuple[dict[str, Any] | None, list[dict[str, Any]]]


def a_whole_number_in_a_double(state: dict[str, Any], record: dict[str, Any]) -> Answer:
    return {"x": record["n"]}, [{"n": record["n"], "seen": f"{state['x']!r}"}]


def doubles_in_a_list(state: dict[str, Any], record: dict[str, Any]) -> Answer:
    return {"xs": (record["n"], None, 0.5)}, [{"n": record["n"], "seen": f"{state['xs']!r}"}]


def a_list_that_grows_in_its_place(state: dict[str, Any], record: dict[str, Any]) -> Answer:
    state["items"].append(record["n"])
    return {"items": state["items"][-4:]}, [{"n": record["n"], "items": state["items"]}]


def a_list_that_is_kept_outside(state: dict[str, Any], record: dict[str, Any], kept: list[int] = []) -> Answer:  # noqa: B006
    row = {"n": record["n"], "items": list(state["items"])}
    kept[:] = [*state["items"][-2:], record["n"]]
    return {"items": kept}, [row]


def a_key_that_is_forgotten(state: dict[str, Any], record: dict[str, Any]) -> Answer:
    n = state["count"] + 1
    return None if record["n"] % 7 == 0 else {"count": n}, [{"n": record["n"], "count": n}] * (record["n"] % 3)


def times_and_text(state: dict[str, Any], record: dict[str, Any]) -> Answer:
    at = (state["at"] or datetime(2026, 1, 1)) + timedelta(days=400, microseconds=record["n"])
    return {"at": at, "text": (state["text"] or "é") + "☃", "raw": b"\0" * record["n"]}, [{"n": record["n"], "seen": f"{state!r}"}]


def one_that_fails_now_and_then(state: dict[str, Any], record: dict[str, Any]) -> Answer:
    state["items"].append(record["n"])
    if record["n"] % 5 == 0:
        raise ValueError(f"no {record['n']}")
    return {"items": state["items"] if record["n"] % 4 else "no list"}, [{"n": record["n"], "items": state["items"]}]


FUNCTIONS: list[tuple[Function, str, Mapping[str, Any], str]] = [
    (a_whole_number_in_a_double, "x double", {"x": 1}, "n int, seen string"),
    (doubles_in_a_list, "xs array<double>", {"xs": []}, "n int, seen string"),
    (a_list_that_grows_in_its_place, "items array<int>", {"items": []}, "n int, items array<int>"),
    (a_list_that_is_kept_outside, "items array<int>", {"items": []}, "n int, items array<int>"),
    (a_key_that_is_forgotten, "count int", {"count": 0}, "n int, count int"),
    (times_and_text, "at timestamp, text string, raw binary", {}, "n int, seen string"),
]


@pytest.fixture
def records(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(RECORDS, "k string, n int").repartition(1)


@pytest.mark.parametrize(("function", "state", "start", "output"), FUNCTIONS, ids=[each[0].__name__ for each in FUNCTIONS])
def test_what_is_sent_together_is_answered_as_one_after_the_other(
    records: DataFrame, function: Function, state: str, start: Mapping[str, Any], output: str
) -> None:
    def rows(limit: float | None) -> list[Row]:
        return scan_python(records, keys="k", function=function, state=state, start=start, output=output, limit=limit).collect()

    assert len(rows(None)) > 100
    assert rows(None) == rows(60)


def test_a_record_that_is_refused_leaves_the_state_as_it_was_also_a_list_that_the_function_has_changed(records: DataFrame) -> None:
    def of(name: str, limit: float | None) -> list[Row]:
        scanned = scan_python(
            records.where("n % 4 != 0"), keys="k", function=one_that_fails_now_and_then, state="items array<int>", start={"items": []},
            output="n int, items array<int>", errors="dead_letters", limit=limit,
        )  # fmt: skip
        return port(scanned, name).collect()

    taken = [row.items for row in of("main", None) if row.items]
    assert not [n for items in taken for n in items if n % 5 == 0]
    for name in ("main", "dead_letters"):
        assert of(name, None) == of(name, 60)
        assert len(of(name, None)) > 20


def test_a_state_that_is_not_of_its_type_fails_the_job_with_the_same_words_at_any_record(records: DataFrame) -> None:
    def words(limit: float | None) -> str:
        scanned = scan_python(
            records, keys="k", function=one_that_fails_now_and_then, state="items array<int>", start={"items": []},
            output="n int, items array<int>", errors="dead_letters", limit=limit,
        )  # fmt: skip
        with pytest.raises(Exception, match=r"the answer\.state\.items is a str, but ARRAY<INT> is needed") as failure:
            port(scanned, "main").collect()
        return type(failure.value).__name__

    assert words(None) == words(60)


def test_who_takes_only_some_of_the_rows_leaves_no_answers_behind_for_the_next(records: DataFrame) -> None:
    def first(n: int) -> list[Row]:
        function, state, start, output = FUNCTIONS[0]
        return scan_python(records, keys="k", function=function, state=state, start=start, output=output).limit(n).collect()

    assert [first(n) for n in (1, 3, 70)] == [first(200)[:n] for n in (1, 3, 70)]
