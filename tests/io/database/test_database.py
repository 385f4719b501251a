"""A table of a real database as the end of a stream: every type, every output mode, and what a restart does."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F
from tests.io.database.places import Place
from tests.waiting import eventually

import headrace as hr
from headrace.errors import DefinitionError, FencedError, JobError, ModeError
from headrace.io.database import transactions

pytestmark = pytest.mark.usefixtures("spark")

TYPES = (
    "id int, flag boolean, tiny tinyint, small smallint, big bigint, real float, number double, exact decimal(20,4), word string,"
    " raw binary, day date, at timestamp, local timestamp_ntz, list array<string>"
)
HARD = "o'Neil \"& Söhne\"\t\n\r\\ \\N \\. %s ? $1 日本 🏦 '); DROP TABLE rows; --"
FULL = (
    1, True, -7, 300, 2**62, 0.5, 0.1 + 0.2, Decimal("1234567890123456.7891"), HARD, b"\x00\xff\\", date(2026, 2, 28),
    datetime(2026, 2, 2, 2, 40, 0, 5000, UTC), datetime(2026, 2, 2, 2, 40, 0, 5000), ["a", 'b"'],
)  # fmt: skip


def plain(kind: str, value: Any) -> Any:
    """A value as this kind of database gives it to a person."""
    match value:
        case bool():
            return value if kind == "postgresql" else int(value)
        case datetime():
            if kind == "mysql":
                return value.replace(tzinfo=None)
            return value if kind == "postgresql" else value.isoformat(timespec="microseconds").replace("+00:00", "Z")
        case date():
            return value.isoformat() if kind == "sqlite" else value
        case Decimal():
            return str(value) if kind == "sqlite" else value
        case list():
            return value if kind == "postgresql" else '["a","b\\""]'
    return value


def test_every_type_comes_back_as_it_was(place: Place, tmp_path: Path) -> None:
    rows = hr.read.memory(TYPES, [FULL, (2, *[None] * (len(FULL) - 1))])
    hr.Job("types", rows.to.database(place.url, "rows", key="id"), trigger=hr.once, checkpoint=tmp_path / "c").run()
    kept = place.ask(f"SELECT * FROM {place.database.name('rows')} ORDER BY id")
    assert kept[0] == tuple(plain(place.kind, value) for value in FULL)
    assert kept[1] == (2, *[None] * (len(FULL) - 1))


ODD = [(1, "nul \0", float("nan"), ["\0"]), (2, "", float("-inf"), [])]


def test_what_a_database_does_not_have_does_not_stop_the_job(place: Place, tmp_path: Path) -> None:
    rows = hr.read.memory("id int, word string, number double, list array<string>", ODD)
    hr.Job("odd", rows.to.database(place.url, "rows", key="id"), trigger=hr.once, checkpoint=tmp_path / "c").run()
    (first, second) = place.ask(f"SELECT word, number, list FROM {place.database.name('rows')} ORDER BY id")
    assert first[0] == ("nul \u2400" if place.kind == "postgresql" else "nul \0")
    assert first[1] is None or math.isnan(first[1])
    assert second[:2] == ("", None if place.kind == "mysql" else float("-inf"))


def counts(place: Place) -> list[Any]:
    return sorted(place.ask(f"SELECT word, n FROM {place.database.name('counts')}"))


def test_an_aggregate_is_kept_up_to_date_by_key(place: Place, tmp_path: Path) -> None:
    words = hr.read.memory("word string", [("a",), ("b",)], [("a",), ("c",)])
    totals = words.key_by("word").agg(F.count("*").alias("n"))
    job = hr.Job("counts", totals.to.database(place.url, "counts", key="word"), trigger=hr.once, checkpoint=tmp_path / "c")
    job.run()
    assert counts(place) == [("a", 2), ("b", 1), ("c", 1)]
    words.add([("b",)])
    job.run()
    assert counts(place) == [("a", 2), ("b", 2), ("c", 1)]


def test_a_whole_result_needs_no_key(place: Place, tmp_path: Path) -> None:
    words = hr.read.memory("word string", [("a",), ("b",)], [("a",)])
    totals = words.key_by("word").agg(F.count("*").alias("n"))
    output = totals.to.database(place.url, "counts")
    hr.Job("counts", output, trigger=hr.once, checkpoint=tmp_path / "c", output_mode="complete").run()
    assert counts(place) == [("a", 2), ("b", 1)]


def test_what_changes_needs_a_key(tmp_path: Path) -> None:
    totals = hr.read.memory("word string").key_by("word").agg(F.count("*").alias("n"))
    with pytest.raises(ModeError) as refused:
        hr.Job("counts", totals.to.database(str(tmp_path / "x.db"), "counts"), output_mode="update").start()
    assert "without key= a row that changes would be in the table twice" in refused.value.what


def test_a_batch_run_is_all_or_nothing(place: Place) -> None:
    numbers = hr.read.memory("id int, n int", [(1, 10), (2, 0)])
    broken = numbers.select("id", F.expr("100 / n").alias("n")).to.database(place.url, "rows")
    with pytest.raises(JobError):
        hr.Job("broken", broken).run("batch")
    assert place.ask(f"SELECT count(*) FROM {place.database.name('rows')}") == [(0,)]
    hr.Job("whole", numbers.select("id", F.col("n").cast("double").alias("n")).to.database(place.url, "rows")).run("batch")
    assert sorted(place.ask(f"SELECT id FROM {place.database.name('rows')}")) == [(1,), (2,)]


def test_a_batch_that_was_written_before_a_crash_is_not_written_again(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It fails after the transaction and before Spark takes note. The state goes on all the same."""
    words = hr.read.memory("word string", [("a",), ("a",)], [("a",)])
    before = words.key_by("word").with_features(n=hr.running(F.count("*")))
    job = hr.Job("again", before.to.database(place.url, "counts"), trigger=hr.once, checkpoint=tmp_path / "c", guarantee="exactly-once")
    with monkeypatch.context() as patched:
        commit = transactions.Output.commit

        def crash(self: transactions.Output, batch: int, batches: Any) -> None:
            commit(self, batch, batches)
            raise OSError("the power failed")

        patched.setattr(transactions.Output, "commit", crash)
        with pytest.raises(JobError):
            job.run()
    job.run()
    assert [n for _, n in counts(place)] == [0, 1, 2]


def test_a_job_that_was_replaced_is_fenced(place: Place, tmp_path: Path) -> None:
    numbers = hr.read.memory("id int", [(1,)])
    job = hr.Job("old", numbers.to.database(place.url, "rows"), checkpoint=tmp_path / "c")
    with pytest.raises(FencedError) as fenced, job.start() as running:  # noqa: PT012
        running.process_all()
        place.ask("UPDATE headrace_progress SET epoch = epoch + 1")  # as another run of it does when it begins
        numbers.add([(2,)])
        running.process_all()
    assert fenced.value.what.startswith("job 'old' stopped at database-rows: FENCED: another run of job 'old' has taken over")
    assert place.ask(f"SELECT id FROM {place.database.name('rows')}") == [(1,)]


@pytest.mark.usefixtures("impatient")
def test_an_outage_is_told_and_nothing_is_lost(place: Place, tmp_path: Path) -> None:
    if place.server is None:
        return
    numbers = hr.read.memory("id int", [(1,)])
    job = hr.Job("outage", numbers.to.database(place.url, "rows"), checkpoint=tmp_path / "c")
    with job.start() as running:
        running.process_all()
        place.server.stop()
        numbers.add([(2,)])
        assert eventually(lambda: [notice.event for notice in running.notices] == ["unreachable"])
        place.server.start()
        running.process_all()
        assert eventually(lambda: [notice.event for notice in running.notices] == ["unreachable", "reachable"])
    assert sorted(place.ask(f"SELECT id FROM {place.database.name('rows')}")) == [(1,), (2,)]
    assert running.notices[0].what == place.database.title


# what is written -> what is said of it
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"key": "nobody"}, "to.database: key: there is no column 'nobody'"),
    ({"delete": "gone"}, "to.database: delete= is about the row of a key, and there is no key"),
    ({"key": "id", "delete": "id"}, "to.database: delete: id is int, and not true or false"),
    ({"table": ""}, "to.database: '' cannot be the name of a table"),
    ({"table": "headrace_progress"}, "to.database: 'headrace_progress' cannot be the name of a table"),
    ({"url": ""}, "to.database: the address is empty"),
    ({"url": "oracle://ada@host/db"}, "to.database: no database is known by oracle://"),
    ({"url": "postgresql://ada:hunter2@host/db"}, "to.database: the address has a password in it"),
    ({"url": "mysql://host/db?password=hunter2"}, "to.database: the address has a password in it"),
    ({"options": {"password": "hunter2"}}, "option password is a secret, and its value is in the program"),
]


@pytest.mark.parametrize(("how", "what"), REFUSED, ids=lambda each: each if isinstance(each, str) else "")
def test_what_cannot_be_is_told_where_it_is_written(how: dict[str, Any], what: str) -> None:
    numbers = hr.read.memory("id int, gone boolean")
    with pytest.raises(DefinitionError) as refused:
        numbers.to.database(**{"url": "rows.db", "table": "rows", **how})
    assert refused.value.what.startswith(what)
    assert "hunter2" not in str(refused.value)
    assert str(refused.value.where).startswith(__file__)


def test_a_type_that_no_database_has_is_told() -> None:
    intervals = hr.read.memory("id int").select("id", F.expr("INTERVAL 1 DAY").alias("span"))
    with pytest.raises(DefinitionError) as refused:
        intervals.to.database("rows.db", "rows")
    assert "span is interval day, which no database has" in refused.value.what
