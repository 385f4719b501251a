"""The harness itself: what it expects, what it sees, and that nothing wrong passes it. Without Spark and Kafka."""

from __future__ import annotations

import json
import random
from collections import Counter
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from bench.faults import oracle, results, sinks
from bench.faults.injections import Injection
from bench.faults.oracle import Difference
from bench.faults.records import PASSING, STEP, Payments
from bench.faults.results import Round


def line(offset: int, text: str, partition: int = 0) -> str:
    return json.dumps([partition, offset, text])


def payment(number: int, second: int, customer: str = "a", amount: int = 10) -> str:
    at = f"2026-01-01T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}+00:00"
    return json.dumps({"id": number, "customer": customer, "amount": amount, "at": at})


# what was acknowledged -> decided, again, late, how many dead letters
ANSWERS = [
    ("each with what came before", [payment(1, 0), payment(2, 1)], [(1, "a", 10, 0, 0), (2, "a", 10, 1, 10)], [], [], 0),
    ("by time, not by arrival", [payment(2, 1), payment(1, 0)], [(1, "a", 10, 0, 0), (2, "a", 10, 1, 10)], [], [], 0),
    ("by customer", [payment(1, 0), payment(2, 1, "b")], [(1, "a", 10, 0, 0), (2, "b", 10, 0, 0)], [], [], 0),
    ("the second one is put aside", [payment(1, 0)] * 2, [(1, "a", 10, 0, 0)], [(1, "a", 10, 1, 10)], [], 0),
    ("an hour late", [payment(1, 7200), payment(2, 3600)], [(1, "a", 10, 0, 0)], [], [2], 0),
    ("not to be read", [payment(1, 0), "{", '{"id": 3}', payment(4, 1, amount="much")], [(1, "a", 10, 0, 0)], [], [], 3),  # type: ignore[arg-type]
]  # fmt: skip


@pytest.mark.parametrize(("texts", "decided", "again", "late", "dead"), [case[1:] for case in ANSWERS], ids=[case[0] for case in ANSWERS])
def test_the_oracle_says_where_each_payment_must_be(
    texts: list[str], decided: list[oracle.Decision], again: list[oracle.Decision], late: list[int], dead: int
) -> None:
    found = oracle.answer(line(offset, text) for offset, text in enumerate(texts))
    assert (found.decided, found.again, found.late) == (Counter(decided), Counter(again), Counter(late))
    assert found.dead.total() == dead
    assert found.total == len(texts)


# what must be there, what is -> missing, extra, twice
DIFFERENCES = [("aab", "aab", 0, 0, 0), ("aab", "ab", 1, 0, 0), ("ab", "abb", 0, 0, 1), ("ab", "abc", 0, 1, 0), ("ab", "cc", 2, 2, 0)]


@pytest.mark.parametrize(("expected", "there", "missing", "extra", "twice"), DIFFERENCES)
def test_rows_are_compared_as_multisets(expected: str, there: str, missing: int, extra: int, twice: int) -> None:
    found = oracle.compare(Counter(expected), Counter(there), "rows")
    assert (found.missing, found.extra, found.twice) == (missing, extra, twice)
    assert found.none == (expected == there)


def test_a_seed_gives_the_same_payments() -> None:
    first, second = (list(islice(Payments(random.Random(3), 3, late=True), 500)) for _ in range(2))
    assert first == second
    assert {partition for partition, _ in first} == {0, 1}  # the last one is idle


def test_no_payment_is_late_by_accident() -> None:
    newest = datetime.min.replace(tzinfo=None)
    for _, text in islice(Payments(random.Random(5), 3), 2000):
        read = oracle._read(text)
        if read is not None:
            at = read["at"].replace(tzinfo=None)
            newest = max(newest, at)
            assert newest - at <= 2 * PASSING * STEP < timedelta(seconds=15)


def test_only_files_of_the_log_are_read(tmp_path: Path) -> None:
    for name, number in (("a", 1), ("b", 2), ("c", 3), ("left-by-a-crash", 99)):
        pyarrow.parquet.write_table(pyarrow.table({"id": [number]}), tmp_path / f"{name}.parquet")
    log = tmp_path / "_spark_metadata"
    log.mkdir()
    named = {name: json.dumps({"path": f"file:///{name}.parquet"}) for name in "abc"}
    for file, names in {"0": "a", "1": "b", "1.compact": "ab", "2": "c"}.items():
        (log / file).write_text("\n".join(["v1", *(named[name] for name in names)]))
    assert [row["id"] for row in sinks.files(tmp_path)] == [1, 2, 3]


GOOD = Round(1, "2026-01-01", injections=[Injection("kills", "kill", "between two batches", 3.0)], acknowledged=3, sums={"decided": 3})
BAD = {
    "nothing was sent": Round(1, "2026-01-01"),
    "not conserved": Round(1, "2026-01-01", acknowledged=3, sums={"decided": 2}),
    "a row is missing": Round(1, "2026-01-01", acknowledged=3, sums={"decided": 3}, differences={"kafka": Difference(missing=1)}),
    "it did not come to its end": Round(1, "2026-01-01", acknowledged=3, sums={"decided": 3}, error="stuck"),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_a_round_is_good_if_nothing_is_wrong_and_everything_is_somewhere(bad: Round) -> None:
    assert GOOD.good
    assert not bad.good


def test_what_is_written_down_is_read_again_and_tabled(tmp_path: Path) -> None:
    wrong = Round(2, "2026-01-02", injections=[Injection("kills", "kill", "x", 5.0)], differences={"files": Difference(1, 2, 3, ("x",))})
    (tmp_path / "rounds").write_text(f"{GOOD.json()}\n{wrong.json()}\n")
    rounds = results.read(tmp_path / "rounds")
    assert rounds == [GOOD, wrong]
    (told,) = results.table(rounds)
    assert (told.times, told.missing, told.extra, told.twice, told.median_seconds, told.worst_seconds) == (2, 1, 2, 3, 4.0, 5.0)
    assert [each["good"] for each in results.document(rounds)["rounds"]] == [True, False]


def test_rounds_are_added_to_those_that_were_kept_once() -> None:
    later = Round(3, "2026-01-03", injections=[Injection("kills", "kill", "y", 9.0)], acknowledged=1, sums={"decided": 1})
    kept = results.added(results.document([GOOD]), [GOOD, later])
    assert kept == results.document([GOOD, later]) == results.added(kept, [later])
