"""The embedded database: its file, its readers, and its errors in words."""

from __future__ import annotations

import os
import sqlite3
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.fraud.test_database import ALERT, WINDOW

from headrace.errors import HeadraceError, JobError, SetupError
from headrace_fraud.database import connect
from headrace_fraud.query import query


def test_its_files_are_its_owners_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with connect(str(tmp_path / "fraud.db")) as database:
            database.upsert_alerts([ALERT])
            files = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert files == {"fraud.db": 0o600, "fraud.db-wal": 0o600, "fraud.db-shm": 0o600}


def test_it_is_there_after_it_was_opened_again(tmp_path: Path) -> None:
    for closed in (True, False):
        with connect(str(tmp_path / "fraud.db")) as database:
            database.upsert_windows([{**WINDOW, "closed": closed}])
    assert query(str(tmp_path / "fraud.db"), "SELECT closed FROM windows").rows == [(1,)]


def test_a_path_below_the_working_directory_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for address in ("a b?c#d%20.db", "sqlite:///x.db"):
        with connect(address) as database:
            database.upsert_alerts([ALERT])
        assert query(address, "SELECT count(*) FROM alerts").rows == [(1,)]
    assert {path.name for path in tmp_path.glob("*.db")} == {"a b?c#d%20.db", "x.db"}


def test_a_reader_does_not_wait_for_a_writer(tmp_path: Path) -> None:
    place = str(tmp_path / "fraud.db")
    with connect(place) as database:
        database.upsert_alerts([ALERT])
        with closing(sqlite3.connect(place, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            other.execute("DELETE FROM alerts")
            assert query(place, "SELECT count(*) FROM alerts", patience_s=0).rows == [(1,)]


def test_locked_for_too_long_is_told_and_the_batch_may_come_again(tmp_path: Path) -> None:
    place = str(tmp_path / "fraud.db")
    with connect(place, patience_s=0.05) as database:
        with closing(sqlite3.connect(place, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(JobError) as refused:
                database.upsert_alerts([ALERT])
        assert refused.value.what == f"the database {place} was locked by another process for more than 0.05 s"
        assert database.upsert_alerts([ALERT]) == 1


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """Another, in the middle of a transaction on a file that has no WAL yet."""
    with closing(sqlite3.connect(tmp_path / "fraud.db", isolation_level=None, check_same_thread=False)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield connection


def test_a_new_file_to_which_another_writes_is_waited_for(tmp_path: Path, writer: sqlite3.Connection) -> None:
    soon = threading.Timer(0.2, writer.execute, ["COMMIT"])
    soon.start()
    with connect(str(tmp_path / "fraud.db"), patience_s=60) as database:
        assert database.upsert_alerts([ALERT]) == 1
    soon.join()


@pytest.mark.usefixtures("writer")
def test_a_new_file_that_is_locked_for_too_long_is_told(tmp_path: Path) -> None:
    with pytest.raises(JobError) as refused:
        connect(str(tmp_path / "fraud.db"), patience_s=0.05)
    assert refused.value.what == f"the database {tmp_path / 'fraud.db'} was locked by another process for more than 0.05 s"


def a_missing_directory(home: Path) -> Path:
    return home / "no" / "fraud.db"


def a_directory(home: Path) -> Path:
    return home


def below_a_file(home: Path) -> Path:
    (home / "file").touch()
    return home / "file" / "fraud.db"


def no_database(home: Path) -> Path:
    (home / "notes.txt").write_text("these are my notes, and no database " * 100)
    return home / "notes.txt"


@pytest.mark.parametrize(
    ("place", "what"),
    [
        (a_missing_directory, "is in a directory that does not exist"),
        (a_directory, "is a directory"),
        (below_a_file, "is below a file"),
        (no_database, "is not a SQLite database"),
    ],
)
def test_a_place_that_is_none_is_told(tmp_path: Path, place: object, what: str) -> None:
    path = place(tmp_path)  # type: ignore[operator]
    with pytest.raises(SetupError) as refused:
        connect(str(path))
    assert str(path) in refused.value.what
    assert what in refused.value.what
    assert refused.value.fix
    assert refused.value.__suppress_context__


def test_a_file_that_is_no_database_is_left_as_it_is(tmp_path: Path) -> None:
    notes = no_database(tmp_path)
    before = notes.read_bytes()
    for attempt in (connect, lambda place: query(place, "SELECT 1")):
        with pytest.raises(SetupError):
            attempt(str(notes))
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


@pytest.mark.parametrize(("file", "directory"), [(0o400, 0o700), (0o600, 0o500), (None, 0o500)], ids=["file", "directory", "no file"])
def test_read_only_is_told(unprivileged: Path, file: int | None, directory: int) -> None:
    place = unprivileged / "fraud.db"
    if file is not None:
        connect(str(place)).close()
        place.chmod(file)
    unprivileged.chmod(directory)
    with pytest.raises(HeadraceError) as refused:
        connect(str(place))
    assert isinstance(refused.value, SetupError)
    assert f"the database {place} cannot be written" in refused.value.what
    assert refused.value.fix == "give a place that this user may write to"


def test_a_database_that_may_only_be_read_can_be_asked(unprivileged: Path) -> None:
    place = unprivileged / "fraud.db"
    with connect(str(place)) as database:
        database.upsert_alerts([ALERT])
    place.chmod(0o400)
    unprivileged.chmod(0o500)
    assert query(str(place), "SELECT count(*) FROM alerts").rows == [(1,)]


def test_a_database_that_may_not_be_read_is_told(unprivileged: Path) -> None:
    place = unprivileged / "fraud.db"
    connect(str(place)).close()
    place.chmod(0)
    with pytest.raises(SetupError) as refused:
        query(str(place), "SELECT 1")
    assert refused.value.what == f"the database {place} cannot be read by this user"
