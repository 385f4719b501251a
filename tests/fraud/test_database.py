"""What holds in every database: repeats, order, all or nothing, and text as it was given."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyspark.sql import Row

from headrace.errors import DefinitionError, HeadraceError, JobError, SetupError
from headrace_fraud.database import Database, connect
from headrace_fraud.query import query

ALERT = {
    "id": "transactions/0/1", "tx_id": "t1", "customer": "c1", "ts": "2026-02-02T02:40:00.005000Z", "amount": 12.34, "merchant": "m7",
    "card": "411111******1111", "rules": ["velocity", "location"], "flagged": True, "gap_s": 3.2, "previous_max": None,
    "distance_km": 512.25,
}  # fmt: skip
WINDOW = {
    "minute": "2026-02-02T02:40:00.000000Z", "merchant": "m7", "transactions": 5, "amount": 61.7, "flagged": 2, "velocity": 1,
    "amount_rule": 1, "location": 0, "customers": 4, "closed": False,
}  # fmt: skip


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'fraud.db'}"
    monkeypatch.setenv("TEST_DATABASE", request.getfixturevalue("postgres_server").create())
    return "env:TEST_DATABASE"


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    with connect(url) as opened:
        yield opened


def rows(url: str, sql: str) -> list[tuple[Any, ...]]:
    return query(url, sql).rows


def behind_its_back(url: str, statement: str) -> None:
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as file:
            file.execute(statement)
    else:
        with psycopg.connect(os.environ["TEST_DATABASE"]) as server:
            server.execute(statement.encode())


def windows(url: str) -> list[tuple[Any, ...]]:
    return [
        (merchant, n, bool(closed)) for merchant, n, closed in rows(url, "SELECT merchant, transactions, closed FROM windows ORDER BY 2")
    ]


def test_an_alert_is_kept_as_it_came(url: str, database: Database) -> None:
    assert database.upsert_alerts([ALERT]) == 1
    expected = {**ALERT, "rules": "velocity,location"}
    del expected["flagged"]
    found = query(url, "SELECT * FROM alerts")
    assert [dict(zip(found.columns, row, strict=True)) for row in found.rows] == [expected]


def test_an_alert_that_comes_again_changes_nothing(url: str, database: Database) -> None:
    assert database.upsert_alerts([ALERT, {**ALERT, "amount": 99.0}, {**ALERT, "id": "transactions/0/2"}]) == 2
    assert database.upsert_alerts([{**ALERT, "amount": 77.0}]) == 0
    assert rows(url, "SELECT id, amount FROM alerts ORDER BY id") == [("transactions/0/1", 12.34), ("transactions/0/2", 12.34)]


@pytest.mark.parametrize("together", [True, False], ids=["in one batch", "a batch each"])
@pytest.mark.parametrize(
    ("came", "held"),
    [  # (transactions, closed) as they came, and the one that holds
        ([(5, False), (6, False)], (6, False)),
        ([(6, False), (5, False)], (6, False)),
        ([(5, False), (6, True)], (6, True)),
        ([(6, True), (5, False)], (6, True)),
        ([(6, True), (7, False)], (6, True)),
        ([(6, True), (6, False)], (6, True)),
        ([(6, False), (6, True)], (6, True)),
        ([(6, True), (7, True)], (7, True)),
        ([(7, True), (6, True)], (7, True)),
        ([(7, False), (6, True)], (6, True)),
    ],
)
def test_a_window_is_replaced_by_a_newer_one_only(
    url: str, database: Database, came: list[tuple[int, bool]], held: tuple[int, bool], together: bool
) -> None:
    batch = [{**WINDOW, "transactions": n, "closed": closed} for n, closed in came]
    for part in [batch] if together else [[row] for row in batch]:
        database.upsert_windows(part)
    assert windows(url) == [("m7", *held)]


def test_of_equal_windows_the_later_holds(url: str, database: Database) -> None:
    database.upsert_windows([{**WINDOW, "customers": 3}, {**WINDOW, "customers": 4}])
    assert rows(url, "SELECT customers FROM windows") == [(4,)]


def test_the_row_over_all_is_one_row_and_no_merchants(url: str, database: Database) -> None:
    batch = [
        {**WINDOW, "merchant": None, "transactions": 8},
        {**WINDOW, "merchant": None, "transactions": 9},
        {**WINDOW, "merchant": ""},
        {**WINDOW, "merchant": "None", "transactions": 6},
    ]
    database.upsert_windows(batch)
    database.upsert_windows(batch)
    assert windows(url) == [("", 5, False), ("None", 6, False), (None, 9, False)]


def test_a_row_may_leave_out_what_may_be_null(url: str, database: Database) -> None:
    optional = ("merchant", "customers", "card", "gap_s", "previous_max", "distance_km")
    database.upsert_alerts([{name: value for name, value in ALERT.items() if name == "merchant" or name not in optional}])
    database.upsert_windows([{name: value for name, value in WINDOW.items() if name not in optional}])
    assert rows(url, "SELECT card, gap_s, previous_max, distance_km FROM alerts") == [(None, None, None, None)]
    assert rows(url, "SELECT merchant, customers FROM windows") == [(None, None)]


def test_rows_of_spark_and_tuples_are_taken_too(url: str, database: Database) -> None:
    database.upsert_windows([Row(**dict(reversed(WINDOW.items())))])
    database.upsert_windows([tuple({**WINDOW, "merchant": "m8", "transactions": 6}.values())])
    assert windows(url) == [("m7", 5, False), ("m8", 6, False)]


@pytest.mark.parametrize(
    "ts", ["2026-02-02T02:40:00.5Z", "2026-02-02 03:40:00.5+01:00", datetime(2026, 2, 1, 21, 40, 0, 500000, timezone(timedelta(hours=-5)))]
)
def test_times_are_utc(url: str, database: Database, ts: Any) -> None:
    database.upsert_alerts([{**ALERT, "ts": ts}])
    assert rows(url, "SELECT ts FROM alerts") == [("2026-02-02T02:40:00.500000Z",)]


@pytest.mark.parametrize(
    "value",
    [
        "o'Neil \"& Söhne\"", "'); DROP TABLE alerts; --", "<script>alert(1)</script>", "日本 🏦 \u202ex",
        "tab\tnew\nline\rback\\slash \\N \\.",
        "%s ? $1 {x}", "", "é" * 40_000,
    ],
    ids=["quotes", "sql", "html", "unicode", "copy's own characters", "marks", "empty", "long"],
)  # fmt: skip
def test_text_comes_back_as_it_was(url: str, database: Database, value: str) -> None:
    database.upsert_alerts([{**ALERT, "customer": value, "merchant": value, "tx_id": value, "card": value}])
    database.upsert_windows([{**WINDOW, "merchant": value}, {**WINDOW, "merchant": value + "x"}])
    assert rows(url, "SELECT customer, merchant, tx_id, card FROM alerts") == [(value,) * 4]
    assert sorted(rows(url, "SELECT merchant FROM windows")) == [(value,), (value + "x",)]


def test_what_no_database_takes_is_shown_as_a_sign(url: str, database: Database) -> None:
    database.upsert_alerts([{**ALERT, "customer": "nul\0", "merchant": "half \ud83d"}])
    assert rows(url, "SELECT customer, merchant FROM alerts") == [("nul\u2400", "half ?")]


def test_numbers_come_back_to_the_last_digit(url: str, database: Database) -> None:
    database.upsert_alerts([{**ALERT, "amount": 0.1 + 0.2, "gap_s": 5e-324, "previous_max": 1.7976931348623157e308, "distance_km": 1 / 3}])
    assert rows(url, "SELECT amount, gap_s, previous_max, distance_km FROM alerts") == [
        (0.1 + 0.2, 5e-324, 1.7976931348623157e308, 1 / 3),
    ]


class CrashError(Exception):
    pass


def test_a_batch_that_breaks_off_leaves_nothing(url: str, database: Database) -> None:
    def broken() -> Iterator[dict[str, Any]]:
        yield ALERT
        raise CrashError

    with pytest.raises(CrashError):
        database.upsert_alerts(broken())
    assert rows(url, "SELECT * FROM alerts") == []
    assert database.upsert_alerts([ALERT]) == 1


def test_a_batch_that_the_database_refuses_in_the_middle_leaves_nothing(url: str, database: Database) -> None:
    behind_its_back(url, "CREATE UNIQUE INDEX each_once ON windows (customers)")
    with pytest.raises(JobError):
        database.upsert_windows([WINDOW, {**WINDOW, "merchant": "m8"}])
    assert windows(url) == []
    assert database.upsert_windows([WINDOW]) == 1


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ({name: value for name, value in ALERT.items() if name != "id"}, "has no id"),
        ({**ALERT, "merchant": None}, "has no merchant"),
        ({**ALERT, "ts": "yesterday"}, "value for ts that does not fit: a str"),
        ({**ALERT, "ts": "2026-02-02T02:40:00"}, "value for ts that does not fit: a str"),
        ({**ALERT, "ts": datetime(2026, 2, 2, tzinfo=UTC).replace(tzinfo=None)}, "value for ts that does not fit: a datetime"),
        ({**ALERT, "amount": "much"}, "value for amount that does not fit: a str"),
        ({**ALERT, "customer": 7}, "value for customer that does not fit: a int"),
        (("transactions/0/1", "t1"), "has 2 values instead of 11"),
    ],
)
def test_a_row_that_is_no_alert_is_told(url: str, database: Database, row: Any, what: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        database.upsert_alerts([ALERT, row])
    assert what in refused.value.what
    assert rows(url, "SELECT * FROM alerts") == []


def test_an_empty_batch_is_no_work(database: Database) -> None:
    assert database.upsert_alerts([]) == 0
    assert database.upsert_windows(iter(())) == 0


def test_two_writers_at_once_agree(url: str) -> None:
    """Both make the tables, and both write all rows in opposite orders: each alert counts once, and the newest windows hold."""
    alerts = [{**ALERT, "id": f"transactions/0/{i}"} for i in range(300)]
    filling = [[{**WINDOW, "merchant": f"m{m}", "transactions": n, "closed": n == 10} for m in range(30)] for n in range(1, 11)]
    added: list[int] = []
    failures: list[BaseException] = []
    together = threading.Barrier(2)

    def write(backwards: bool) -> None:
        step = -1 if backwards else 1
        try:
            together.wait(60)
            with connect(url) as opened:
                together.wait(60)
                for i in range(0, 300, 30):
                    added.append(opened.upsert_alerts((alerts[::step])[i : i + 60][::step]))
                    opened.upsert_windows(filling[::step][i // 30][::step])
        except BaseException as error:
            failures.append(error)

    writers = [threading.Thread(target=write, args=[backwards]) for backwards in (False, True)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert failures == []
    assert sum(added) == 300
    assert rows(url, "SELECT count(*), count(DISTINCT id) FROM alerts") == [(300, 300)]
    assert rows(url, "SELECT count(*), min(transactions) FROM windows WHERE closed") == [(30, 10)]


def test_tables_of_someone_else_are_left_alone(url: str) -> None:
    behind_its_back(url, "CREATE TABLE alerts (id TEXT PRIMARY KEY, level TEXT)")
    with pytest.raises(SetupError) as refused:
        connect(url)
    assert "a table alerts of someone else: it has no column tx_id" in refused.value.what


@pytest.mark.parametrize(
    ("address", "kind", "what"),
    [
        ("", DefinitionError, "address of the database is empty"),
        ("sqlite:///", DefinitionError, "names no file"),
        ("sqlite://fraud.db", DefinitionError, "names no file"),
        ("mysql://ada:hunter2@host/db", DefinitionError, "no database is known by mysql://"),
        ("postgresql://ada:hunter2@host/db", DefinitionError, "has a password in it"),
        ("postgres://host/db?password=hunter2", DefinitionError, "has a password in it"),
        ("postgresql://ada:hunter2%zz@host/db", DefinitionError, "no PostgreSQL URL"),
        ("postgresql://ada@host:hunter2/db", HeadraceError, ""),
        ("env:NO_SUCH_DATABASE", JobError, "environment variable NO_SUCH_DATABASE, which is not set"),
        ("file:/no/such/file", JobError, "file /no/such/file: No such file"),
    ],
)
def test_an_address_that_is_none_is_told_without_its_secrets(address: str, kind: type[HeadraceError], what: str) -> None:
    with pytest.raises(kind) as refused:
        connect(address)
    assert what in refused.value.what
    assert ":hunter2@" not in str(refused.value)
    assert "password=hunter2" not in str(refused.value)
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


def test_the_address_may_be_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "address").write_text(f"{tmp_path / 'fraud.db'}\n")
    with connect(f"file:{tmp_path / 'address'}") as opened:
        assert opened.place == str(tmp_path / "fraud.db")
