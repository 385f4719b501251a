"""Reading what was stored: one statement, no writing, decisions from Parquet each once."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.fraud.stored import ALERT, store

from headrace.errors import DefinitionError, HeadraceError, SetupError
from headrace_fraud.asking.query import query


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "sqlite":
        address = str(tmp_path / "fraud.db")
    else:
        monkeypatch.setenv("TEST_DATABASE", request.getfixturevalue("postgres_server").create())
        address = "env:TEST_DATABASE"
    store(address)
    return address


@pytest.fixture
def decisions(tmp_path: Path) -> Path:
    """Three decisions as Spark leaves them: one came again in another file, one file has no end yet, and there is what is no data."""
    home = tmp_path / "decisions"
    rows = [
        {**ALERT, "id": f"transactions/0/{i}", "flagged": i == 1, "rules": ["velocity"] if i == 1 else [], "tx_id": f"t{i}"}
        for i in range(3)
    ]
    _write(home / "part-0.parquet", rows[:2])
    _write(home / "day=2" / "part-1.parquet", rows[1:])
    _write(home / "_temporary" / "part-2.parquet", [{**rows[0], "id": "never committed"}])
    (home / "part-3.parquet").write_bytes(b"PAR1 and no more than that")
    return home


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [{**row, "ts": datetime(2026, 2, 2, 2, 40, 0, 5000, tzinfo=UTC), "sent": 1} for row in rows]
    pq.write_table(pa.Table.from_pylist(rows), path)


def files(home: Path) -> set[str]:
    return {path.name for path in home.iterdir() if not path.name.endswith(("-wal", "-shm"))}  # SQLite's own: readers make them too


def test_names_and_rows_come_back(url: str) -> None:
    found = query(url, "SELECT merchant, sum(transactions) AS n, max(minute) AS last FROM windows GROUP BY merchant;")
    assert found == (["merchant", "n", "last"], [("m7", 5, "2026-02-02T02:40:00.000000Z")], None)


def test_decisions_are_read_from_parquet_each_once(url: str, decisions: Path) -> None:
    found = query(url, "SELECT id, ts, rules, flagged FROM Decisions ORDER BY id", decisions=decisions)
    ts = "2026-02-02T02:40:00.005000Z"
    assert found.rows == [("transactions/0/0", ts, "", 0), ("transactions/0/1", ts, "velocity", 1), ("transactions/0/2", ts, "", 0)]
    assert found.notice == "1 file(s) of decisions are still being written and were left out"


def test_decisions_join_alerts(url: str, decisions: Path) -> None:
    sql = "SELECT d.tx_id FROM decisions d JOIN alerts a ON a.id = d.id WHERE d.flagged"
    assert query(url, sql, decisions=str(decisions)).rows == [("t1",)]


def test_a_long_answer_is_cut_off_with_a_notice(url: str) -> None:
    sql = "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 50) SELECT n FROM numbers"
    assert query(url, sql, limit=50).notice is None
    found = query(url, sql, limit=49)
    assert found.rows == [(n,) for n in range(1, 50)]
    assert found.notice == "only the first 49 rows are shown: count(*) or LIMIT say more"


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM alerts",
        "DROP TABLE alerts",
        "UPDATE alerts SET amount = 0",
        "INSERT INTO alerts (id) VALUES ('x')",
        "SELECT 1; DROP TABLE alerts",
        "SELECT 1; COMMIT; DROP TABLE alerts",
        "COMMIT",
        "CREATE TABLE mine (x TEXT)",
        "CREATE TEMPORARY TABLE mine (x TEXT)",
        "WITH gone AS (DELETE FROM alerts RETURNING *) SELECT * FROM gone",
        "ATTACH DATABASE 'other.db' AS other",
        "PRAGMA journal_mode = DELETE",
        "SET TRANSACTION READ WRITE",
        "VACUUM INTO 'copy.db'",
        "COPY alerts TO PROGRAM 'touch copy.db'",
        "SELEC 1",
        "SELECT no_such_column FROM alerts",
        "SELECT * FROM no_such_table",
        "",
        ";",
        "SELECT 'a\0b'",
    ],
)
def test_what_is_no_query_is_refused_and_changes_nothing(url: str, sql: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = files(tmp_path)
    with pytest.raises(DefinitionError) as refused:
        query(url, sql)
    assert refused.value.what.startswith("the query was refused: ")
    assert refused.value.fix == "give one SELECT over alerts, windows or decisions"
    assert files(tmp_path) == before
    assert query(url, "SELECT id, amount FROM alerts").rows == [(ALERT["id"], ALERT["amount"])]


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("SELECT NULL", None),
        ("SELECT 1.5", 1.5),
        ("SELECT 'x'", "x"),
        ("SELECT sum(transactions) FROM windows", 5),
        ("SELECT '%s ? {}'", "%s ? {}"),
    ],
)
def test_values_are_such_as_json_has(url: str, sql: str, value: object) -> None:
    ((found,),) = query(url, sql).rows
    assert (found, type(found)) == (value, type(value))


def test_values_of_postgresql_alone_become_plain_too(postgres_server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_DATABASE", postgres_server.create())
    sql = "SELECT DATE '2026-02-02', INTERVAL '1 h', ARRAY[1.0, 2.5], '\\xff'::bytea, TIMESTAMP '2026-02-02 02:40', true"
    assert query("env:TEST_DATABASE", sql).rows == [("2026-02-02", "1:00:00", [1, 2.5], "ff", "2026-02-02T02:40:00", True)]


def test_decisions_without_a_place_are_told(url: str, tmp_path: Path) -> None:
    for place, kind, what in [
        (None, DefinitionError, "their directory is not known"),
        (tmp_path / "none", SetupError, f"there is no directory {tmp_path / 'none'} with decisions"),
    ]:
        with pytest.raises(HeadraceError) as refused:
            query(url, "SELECT * FROM decisions", decisions=place)
        assert isinstance(refused.value, kind)
        assert what in refused.value.what


def test_a_directory_without_any_file_has_no_decisions(url: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert query(url, "SELECT count(*) FROM decisions", decisions=tmp_path / "empty").rows == [(0,)]


def test_parquet_that_holds_no_decisions_is_told(url: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": ["x"]}), tmp_path / "other.parquet")
    with pytest.raises(SetupError) as refused:
        query(url, "SELECT * FROM decisions", decisions=tmp_path)
    assert "has no column tx_id: it holds no decisions" in refused.value.what


def test_a_database_that_is_not_there_is_told_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(SetupError) as refused:
        query(str(tmp_path / "none.db"), "SELECT 1")
    assert refused.value.what == f"there is no database {tmp_path / 'none.db'}"
    assert files(tmp_path) == set()
