"""A database of each kind, new and empty for each test, and what is in it as a person would ask."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.fraud import postgres
from tests.io.database import mariadb
from tests.io.database.places import Place

from headrace.io.database import transactions


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[postgres.Server]:
    with postgres.running() as server:
        yield server


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[mariadb.Server]:
    with mariadb.running() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql", "mysql"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    place = _place(request, tmp_path, monkeypatch)
    yield place
    place.close()


def _place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    if request.param == "sqlite":
        return Place(f"sqlite:///{tmp_path / 'rows.db'}")
    server: Any = request.getfixturevalue("postgres_server" if request.param == "postgresql" else "mariadb_server")
    monkeypatch.setenv("TEST_DATABASE", server.create())
    return Place("env:TEST_DATABASE", server)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attempts in quick succession."""
    from headrace.io.database import databases, mysql, sqlite
    from headrace.io.database import postgres as ours

    for module in (databases, mysql, ours, sqlite):
        monkeypatch.setattr(module, "LOCKED_SECONDS", 1.0 if module is mysql else 0.1)  # MySQL knows whole seconds
    monkeypatch.setattr(transactions, "LONGEST_PAUSE", 0.2)
