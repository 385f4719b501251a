"""What the job `store` leaves in a database: alerts and windows, each once, the newest windows; and how a database is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from tests.fraud.stored import ALERT, WINDOW

from headrace.errors import DefinitionError, HeadraceError, JobError
from headrace_fraud.asking.database import find
from headrace_fraud.asking.query import query
from headrace_fraud.deciding import jobs


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "fraud.db")
    monkeypatch.setenv("TEST_DATABASE", request.getfixturevalue("postgres_server").create())
    return "env:TEST_DATABASE"


# (transactions, closed) of one minute and merchant as they came, and the one that holds
CAME: list[tuple[list[tuple[int, bool]], tuple[int, bool]]] = [
    ([(5, False), (6, False)], (6, False)),
    ([(6, False), (5, False)], (6, False)),
    ([(6, True), (7, False)], (6, True)),
    ([(7, False), (6, True)], (6, True)),
    ([(7, True), (6, True)], (7, True)),
]


@pytest.mark.usefixtures("spark")
def test_alerts_are_stored_once_and_of_windows_the_newest(url: str, kafka: str, topic: Callable[..., str], tmp_path: Path) -> None:
    prefix = f"{topic()}-"
    import headrace as hr

    hr.topics.create(*(f"{prefix}{name}" for name in ("decisions", "alerts", "windows")))
    producer = Producer({"bootstrap.servers": kafka, "log_level": 0})

    def send(name: str, row: dict[str, Any], id: str | None = None) -> None:
        producer.produce(f"{prefix}{name}", json.dumps(row), headers=[("id", id)] if id else [])

    job = jobs.store(tmp_path, url, prefix=prefix, checkpoint=tmp_path / "checkpoint")
    for half in (0, 1):
        for number in (1, 2):
            send("alerts", {**ALERT, "tx_id": f"t{number}"}, f"transactions/0/{number}")  # the second time, again
        for merchant, (came, _) in enumerate(CAME):
            for transactions, closed in came[half::2]:
                send("windows", {**WINDOW, "merchant": f"m{merchant}", "transactions": transactions, "closed": closed})
        send("windows", {**WINDOW, "merchant": None, "transactions": 8 + half})
        producer.flush()
        job.run(trigger="once")
    ids = query(url, "SELECT id, tx_id, rules, ts FROM alerts ORDER BY id").rows
    assert ids == [(f"transactions/0/{n}", f"t{n}", "velocity,location", "2026-02-02T02:40:00.005000Z") for n in (1, 2)]
    kept = query(url, "SELECT merchant, transactions, closed FROM windows WHERE merchant IS NOT NULL ORDER BY merchant").rows
    assert [(merchant, n, bool(closed)) for merchant, n, closed in kept] == [(f"m{i}", *held) for i, (_, held) in enumerate(CAME)]
    assert query(url, "SELECT transactions FROM windows WHERE merchant IS NULL").rows == [(9,)]


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
        ("env:NO_SUCH_DATABASE", JobError, "environment variable NO_SUCH_DATABASE, which is not set"),
        ("file:/no/such/file", JobError, "file /no/such/file: No such file"),
    ],
)
def test_an_address_that_is_none_is_told_without_its_secrets(address: str, kind: type[HeadraceError], what: str) -> None:
    with pytest.raises(kind) as refused:
        find(address)
    assert what in refused.value.what
    assert ":hunter2@" not in str(refused.value)
    assert "password=hunter2" not in str(refused.value)
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


def test_the_address_may_be_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "address").write_text(f"{tmp_path / 'fraud.db'}\n")
    assert find(f"file:{tmp_path / 'address'}") == ("sqlite", str(tmp_path / "fraud.db"))
