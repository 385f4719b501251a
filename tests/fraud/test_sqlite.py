"""The embedded database as it is asked: its readers, and its errors in words."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.fraud.stored import store

from headrace.errors import SetupError
from headrace_fraud.asking.query import query


def test_a_path_below_the_working_directory_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for address in ("a b?c#d%20.db", "sqlite:///x.db"):
        store(address)
        assert query(address, "SELECT count(*) FROM alerts").rows == [(1,)]
    assert {path.name for path in tmp_path.glob("*.db")} == {"a b?c#d%20.db", "x.db"}


def test_a_reader_does_not_wait_for_a_writer(tmp_path: Path) -> None:
    place = str(tmp_path / "fraud.db")
    store(place)
    with closing(sqlite3.connect(place, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("DELETE FROM alerts")
        assert query(place, "SELECT count(*) FROM alerts", patience_s=0).rows == [(1,)]


def test_a_file_that_is_no_database_is_told_and_left_as_it_is(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("these are my notes, and no database " * 100)
    before = notes.read_bytes()
    with pytest.raises(SetupError) as refused:
        query(str(notes), "SELECT 1")
    assert "is not a SQLite database" in refused.value.what
    assert notes.read_bytes() == before


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """A directory of a user whom file modes hold back: nobody, where the tests run as root."""
    root = os.geteuid() == 0
    with tempfile.TemporaryDirectory(prefix="headrace-") as home:
        if root:
            os.chown(home, 65534, 65534)
            os.seteuid(65534)
        try:
            yield Path(home)
        finally:
            if root:
                os.seteuid(0)
            Path(home).chmod(0o700)


def test_a_database_that_may_only_be_read_can_be_asked(unprivileged: Path) -> None:
    place = unprivileged / "fraud.db"
    store(str(place))
    place.chmod(0o400)
    unprivileged.chmod(0o500)
    assert query(str(place), "SELECT count(*) FROM alerts").rows == [(1,)]


def test_a_database_that_may_not_be_read_is_told(unprivileged: Path) -> None:
    place = unprivileged / "fraud.db"
    store(str(place))
    place.chmod(0)
    with pytest.raises(SetupError) as refused:
        query(str(place), "SELECT 1")
    assert refused.value.what == f"the database {place} cannot be read by this user"
