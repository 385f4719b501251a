"""No connection, told in words that hold no secret, before a job starts."""

from __future__ import annotations

import socket
import subprocess
import sys
import traceback
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.fraud import postgres
from tests.fraud.postgres import PASSWORD
from tests.io.database.places import Place, rows_table

from headrace.definitions import secrets
from headrace.errors import JobError, SetupError
from headrace.io.database import addresses, transactions
from headrace.io.database.connector import database
from headrace.io.database.databases import Database
from headrace.io.database.postgres import Postgres

SECRET = "hunter2-is-wrong"


def closed_port() -> int:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        return int(closed.getsockname()[1])


# what is made of a good URL -> what is said, by kind of database
REFUSALS: list[tuple[Callable[[str], str], dict[str, str]]] = [
    (
        lambda url: url.rpartition(":")[0] + f":{closed_port()}/db",
        {"postgresql": "no PostgreSQL server answers there", "mysql": "no MySQL server answers there"},
    ),
    (
        lambda url: url.replace("s3cret%25%2F%40%3Aword", SECRET),
        {"postgresql": "the server refused the password", "mysql": "the server refused user or password"},
    ),
    (lambda url: url.rpartition("/")[0] + "/nowhere", {"postgresql": "does not exist", "mysql": "there is no such database"}),
]


@pytest.mark.parametrize(("changed", "words"), REFUSALS, ids=["port", "password", "database"])
def test_no_connection_is_told_without_the_password(
    place: Place, changed: Callable[[str], str], words: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if place.server is None:
        return
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "none"))
    monkeypatch.setenv("TEST_DATABASE", changed(place.server.create()))
    with pytest.raises(SetupError) as refused:
        transactions.prepare(place.database, rows_table(), make=False)
    assert words[place.kind] in refused.value.what
    assert refused.value.what.startswith(f"the database {place.kind}://headrace@127.0.0.1:")
    shown = "".join(traceback.format_exception_only(refused.value))
    assert SECRET not in shown
    assert PASSWORD not in shown


def test_a_server_without_tls_is_refused_if_tls_is_asked_for(place: Place) -> None:
    option = {"postgresql": {"sslmode": "require"}, "mysql": {"ssl_verify_identity": "true"}}.get(place.kind)
    if option is None:
        return
    with pytest.raises(SetupError) as refused:
        database(place.url, option).connect()
    assert "SSL" in refused.value.what or "certificate" in refused.value.what


def test_tls_is_had_with_the_certificate_and_the_name_that_are_asked_for_or_not_at_all(
    postgres_server: postgres.Server, tmp_path: Path
) -> None:
    url = postgres_server.create()
    postgres.signed(tmp_path / "others.crt", tmp_path / "others.key")
    with postgres_server.tls() as certificate:

        def database(host: str, authority: Path) -> Database:
            tls = {"sslmode": "verify-full", "sslrootcert": str(authority)}
            return Postgres(addresses.find(url.replace("127.0.0.1", host), tls))

        there = database("127.0.0.1", certificate)
        transactions.prepare(there, rows_table(), make=True)
        with closing(there.connect()) as connection:
            assert connection.execute("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").fetchone() == (True,)
        for host, authority, words in (
            ("127.0.0.1", tmp_path / "others.crt", "certificate verify failed"),
            ("localhost", certificate, "does not match host name"),
        ):
            with pytest.raises(SetupError) as refused:
                database(host, authority).connect()
            assert words in refused.value.what
            assert PASSWORD not in refused.value.what


def test_a_password_may_be_an_option(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    if place.server is None:
        return
    whole = place.server.create()
    monkeypatch.setenv("TEST_PASSWORD", PASSWORD)
    url = whole.replace(":s3cret%25%2F%40%3Aword", "")
    addresses.check(url, {"password": "env:TEST_PASSWORD"})
    by_option = database(url, {"password": "env:TEST_PASSWORD"})
    transactions.prepare(by_option, rows_table(), make=True)
    assert PASSWORD not in repr(by_option.address) + str(by_option.address)


@pytest.mark.parametrize("written", ["ada:canary%2F1@host/db", "host/db?user=ada&password=canary%2F1"])
def test_the_password_of_an_address_is_hidden_as_it_is_written_and_as_it_is(written: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_DATABASE", f"postgresql://{written}")
    addresses.find("env:TEST_DATABASE", {})
    assert secrets.hide("canary%2F1 and canary/1") == "*** and ***"


# a file that is none -> what is said of it
FILES: list[tuple[str, str]] = [
    ("no/rows.db", "is in a directory that does not exist"),
    (".", "is a directory"),
    ("notes.txt/rows.db", "is below a file"),
    ("notes.txt", "is a file that is no SQLite database"),
]


@pytest.mark.parametrize(("path", "what"), FILES)
def test_a_file_that_is_none_is_told_and_left_as_it_is(tmp_path: Path, path: str, what: str) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("these are my notes, and no database " * 100)
    before = notes.read_bytes()
    with pytest.raises(SetupError) as refused:
        transactions.prepare(Place(str(tmp_path / path)).database, rows_table(), make=True)
    assert what in refused.value.what
    assert notes.read_bytes() == before


def test_the_files_of_sqlite_are_its_owners_only(tmp_path: Path) -> None:
    place = Place(str(tmp_path / "rows.db"))
    place.output(rows_table()).commit(0, place.batches([(1, 1, "a")]))
    modes = {file.name: oct(file.stat().st_mode & 0o777) for file in tmp_path.iterdir()}
    place.close()
    assert modes == {"rows.db": "0o600", "rows.db-wal": "0o600", "rows.db-shm": "0o600"}


def test_who_looks_into_the_file_takes_nothing_away(tmp_path: Path) -> None:
    """He closes it, and SQLite's last one to close removes the WAL: he is not the last as long as any output is open."""
    place = Place(file := str(tmp_path / "rows.db"))
    outputs = [place.output(rows_table(), output=name) for name in ("o", "p")]
    look = "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute('SELECT id FROM rows ORDER BY id').fetchall())"
    for batch, output in enumerate(outputs):
        assert subprocess.check_output([sys.executable, "-c", look, file], text=True).strip() == str([(n,) for n in range(batch)])
        output.commit(batch, place.batches([(batch, 1, "a")]))
    assert subprocess.check_output([sys.executable, "-c", look, file], text=True).strip() == "[(0,), (1,)]"
    place.close()


@pytest.mark.parametrize(("url", "package", "extra"), [("postgresql://h/d", "psycopg", "postgresql"), ("mysql://h/d", "pymysql", "mysql")])
def test_a_client_that_is_not_installed_is_told(url: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    place: Any = Place(url)
    with pytest.raises(SetupError) as refused:
        place.database.connect()
    assert refused.value.fix == f"pip install 'headrace[{extra}]'"


def test_a_reference_that_leads_nowhere_is_told() -> None:
    with pytest.raises(JobError) as refused:
        addresses.find("env:NO_SUCH_DATABASE", {})
    assert refused.value.what == "to.database: the address refers to the environment variable NO_SUCH_DATABASE, which is not set"
