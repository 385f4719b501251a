"""A real PostgreSQL server that is asked: what it refuses, in words that hold no secret."""

from __future__ import annotations

import socket
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.fraud.postgres import PASSWORD, Server

from headrace.errors import SetupError
from headrace_fraud.asking.query import query

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
    with pytest.raises(SetupError) as refused:
        query(place, "SELECT 1")
    assert what in refused.value.what
    assert refused.value.what.startswith(("postgresql://", "the database postgresql://"))
    assert refused.value.fix
    shown = "".join(traceback.format_exception(refused.value))
    assert SECRET not in shown
    assert PASSWORD not in shown
    assert "psycopg" not in shown.replace("psycopg[binary]", "").split("headrace.errors.SetupError")[-1]
