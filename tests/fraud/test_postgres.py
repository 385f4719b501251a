"""A real PostgreSQL server: what it refuses, in words that hold no secret; and what a lost connection does."""

from __future__ import annotations

import socket
import traceback
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from tests.fraud.postgres import PASSWORD, Server
from tests.fraud.test_database import ALERT, WINDOW

from headrace.errors import HeadraceError, JobError, SetupError
from headrace_fraud.database import connect
from headrace_fraud.query import query

SECRET = "hunter2-is-wrong"


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """A reference to an address, as users give it."""

    def refer(url: str) -> str:
        monkeypatch.setenv("HEADRACE_DATABASE", url)
        return "env:HEADRACE_DATABASE"

    return refer


def no_server(_: Server) -> str:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        return f"postgresql://ada:{SECRET}@127.0.0.1:{closed.getsockname()[1]}/db"


@pytest.mark.parametrize(
    ("address", "what"),
    [
        (no_server, "no PostgreSQL server answers there"),
        (lambda _: f"postgresql://ada:{SECRET}@nowhere.invalid/db", "no PostgreSQL server answers there"),
        (lambda _: f"postgresql://ada:{SECRET}@%2Fno%2Fsuch%2Fdirectory/db", "no PostgreSQL server answers there"),
        (lambda server: server.url(password=SECRET), "the server refused the password"),
        (lambda server: server.url(user="nobody-here", password=SECRET), "the server refused the password"),
        (lambda server: server.url(password=None), "the server wants a password"),
        (lambda server: server.url("no-such-database"), "there is no such database"),
        (lambda server: server.url() + "?sslmode=require", "no connection: "),
        (lambda server: server.url() + "?sslmode=sometimes", "no connection: "),
        (lambda server: server.create("ENCODING 'LATIN1' TEMPLATE template0"), "holds text as LATIN1"),
    ],
    ids=["port", "host", "socket", "password", "user", "no password", "database", "tls", "option", "encoding"],
)
def test_no_connection_is_told_without_the_password(
    at: Callable[[str], str],
    postgres_server: Server,
    address: Callable[[Server], str],
    what: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "none"))
    place = at(address(postgres_server))
    for attempt in (connect, lambda place: query(place, "SELECT 1")):
        with pytest.raises(SetupError) as refused:
            attempt(place)
        assert what in refused.value.what
        assert refused.value.what.startswith(("postgresql://", "the database postgresql://"))
        assert refused.value.fix
        shown = "".join(traceback.format_exception(refused.value))
        assert SECRET not in shown
        assert PASSWORD not in shown
        assert "psycopg" not in shown.replace("psycopg[binary]", "").split("headrace.errors.SetupError")[-1]


def test_the_place_is_shown_without_the_password(at: Callable[[str], str], postgres_server: Server) -> None:
    with connect(at(postgres_server.create())) as database:
        assert database.place.startswith(f"postgresql://headrace@127.0.0.1:{postgres_server.port}/test_")


def test_locked_for_too_long_is_told_and_the_batch_may_come_again(at: Callable[[str], str], postgres_server: Server) -> None:
    url = postgres_server.create()
    with connect(at(url), patience_s=0.05) as database:
        with psycopg.connect(url) as other:
            other.execute('LOCK TABLE "alerts" IN ACCESS EXCLUSIVE MODE')
            with pytest.raises(JobError) as refused:
                database.upsert_alerts([ALERT])
        assert "a table was locked by another for more than 0.05 s" in refused.value.what
        assert database.upsert_alerts([ALERT]) == 1


def test_a_server_that_takes_no_writes_is_told(at: Callable[[str], str], postgres_server: Server) -> None:
    url = postgres_server.create()
    with connect(at(url)) as database, psycopg.connect(url, autocommit=True) as other:
        other.execute(f'ALTER DATABASE "{other.info.dbname}" SET default_transaction_read_only = on'.encode())
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
        )
        with pytest.raises(SetupError) as refused:
            database.upsert_alerts([ALERT])
    assert "the server takes no writes" in refused.value.what


def test_a_user_may_write_with_no_more_rights_than_that(at: Callable[[str], str], postgres_server: Server) -> None:
    url = postgres_server.create()
    connect(at(url)).close()
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute(f"CREATE USER clerk PASSWORD '{SECRET}'".encode())
        place = at(postgres_server.url(owner.info.dbname, user="clerk", password=SECRET))
        with pytest.raises(SetupError) as refused:
            connect(place)
        assert "permission denied for table alerts" in refused.value.what
        assert "GRANT" in refused.value.fix
        owner.execute("GRANT SELECT, INSERT, UPDATE ON alerts, windows TO clerk")
        with connect(place) as database:
            assert database.upsert_alerts([ALERT]) == 1
            assert database.upsert_windows([WINDOW]) == 1


def test_a_lost_connection_is_made_anew(at: Callable[[str], str], postgres_server: Server) -> None:
    url = postgres_server.create()
    with connect(at(url)) as database:
        database.upsert_windows([WINDOW])
        with psycopg.connect(url, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
            )
        assert database.upsert_windows([WINDOW, {**WINDOW, "merchant": "m8"}]) == 2


def test_a_server_that_is_down_is_told_and_the_next_batch_finds_it_again(at: Callable[[str], str], postgres_server: Server) -> None:
    with connect(at(postgres_server.create())) as database:
        database.upsert_alerts([ALERT])
        postgres_server.stop()
        try:
            for _ in range(2):
                with pytest.raises(HeadraceError) as refused:
                    database.upsert_alerts([{**ALERT, "id": "transactions/0/2"}])
                assert "no PostgreSQL server answers there" in refused.value.what
        finally:
            postgres_server.start()
        assert database.upsert_alerts([ALERT, {**ALERT, "id": "transactions/0/2"}]) == 1
