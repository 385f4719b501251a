"""The collector at a real broker: everything from the beginning, and what comes later at once."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from tests.fraud.test_board import DECISION, TRANSACTION
from tests.waiting import eventually

from headrace_fraud.deciding import topics
from headrace_fraud.page import TOPICS, Board, Collector


def reading(board: Board) -> dict[str, str | None]:
    return board.reading.shown(time.time() * 1000)


@pytest.fixture
def names(topic: Callable[..., str]) -> dict[str, str]:
    return {name: topic(partitions=2) for name in TOPICS}


def send(kafka: str, names: dict[str, str], first: int, last: int) -> None:
    """Transactions of both partitions, and a decision on each."""
    producer = Producer({"bootstrap.servers": kafka, "linger.ms": 0})
    for n in range(first, last):
        sent = str(int(time.time() * 1000)).encode()
        producer.produce(names["transactions"], json.dumps({**TRANSACTION, "tx_id": f"t{n}"}).encode(), partition=n % 2)
        headers: list[tuple[str, str | bytes | None]] = [("id", f"transactions/{n % 2}/{n // 2}".encode()), ("sent", sent)]
        producer.produce(names["decisions"], json.dumps(DECISION).encode(), partition=n % 2, headers=headers)
    assert producer.flush(30) == 0


def test_it_reads_from_the_beginning_goes_on_and_knows_the_same_after_a_restart(kafka: str, names: dict[str, str]) -> None:
    send(kafka, names, 0, 500)
    totals = []
    for again in range(2):
        board = Board()
        collector = Collector(board, kafka, names)
        collector.start()
        try:
            if not again:
                assert eventually(lambda board=board: board.totals(0)["decided"] == 500)  # type: ignore[misc]
                send(kafka, names, 500, 600)
            assert eventually(lambda board=board, collector=collector: board.totals(0)["sent"] == 600 and collector.caught_up())  # type: ignore[misc]
            totals.append(board.totals(0) | {"oldest_ms": 0})
            assert reading(board) == {"away": None, "odd": None}
            assert board.latency()["overall"]["max"] < 20_000  # of history too: by the log's own time
        finally:
            collector.close()
    assert totals[0] == totals[1]
    assert (totals[0]["decided"], totals[0]["conserved"]) == (600, True)


def test_a_message_that_is_not_as_agreed_is_told_and_the_next_is_read(kafka: str, names: dict[str, str]) -> None:
    producer = Producer({"bootstrap.servers": kafka})
    producer.produce(names["decisions"], b"{oops", partition=0, headers=[("id", b"transactions/0/0")])
    producer.produce(names["decisions"], json.dumps(DECISION).encode(), partition=0, headers=[("id", b"nowhere")])
    producer.flush(30)
    send(kafka, names, 2, 3)
    board = Board()
    collector = Collector(board, kafka, names)
    collector.start()
    try:
        assert eventually(lambda: board.totals(0)["decided"] == 2)
        assert eventually(collector.caught_up)
        assert f"{names['decisions']}/0/1 is not as it should be" in (reading(board)["odd"] or "")
    finally:
        collector.close()


def test_a_collector_waits_for_topics_and_reads_when_they_come(kafka: str, names: dict[str, str]) -> None:
    missing = f"late-{names['windows']}"
    board = Board()
    collector = Collector(board, kafka, names | {"windows": missing})
    collector.start()
    try:
        assert eventually(lambda: reading(board)["away"] == f"no topic {missing} yet")
        topics.create(kafka, [missing], partitions=1)
        assert eventually(collector.caught_up)
        assert reading(board)["away"] is None
    finally:
        collector.close()
        topics.remove(kafka, {missing})


def test_a_client_whose_leader_is_out_of_date_is_replaced(kafka: str, names: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[AdminClient] = []

    class Admin(AdminClient):
        def __init__(self, config: Any) -> None:
            super().__init__(config)
            made.append(self)

        def list_offsets(self, *args: Any, **options: Any) -> Any:
            if self is made[0]:
                raise KafkaException(KafkaError(KafkaError.FENCED_LEADER_EPOCH))
            return super().list_offsets(*args, **options)

    monkeypatch.setattr("headrace_fraud.page.collector.AdminClient", Admin)
    send(kafka, names, 0, 10)
    board = Board()
    collector = Collector(board, kafka, names)
    collector.start()
    try:
        assert eventually(lambda: board.totals(0)["decided"] == 10)
        assert reading(board)["away"] is None
    finally:
        collector.close()


def test_a_collector_closes_while_it_waits(kafka: str) -> None:
    board = Board()
    collector = Collector(board, kafka, dict.fromkeys(TOPICS, "no-such-topic"))
    collector.start()
    assert eventually(lambda: reading(board)["away"] == "no topic no-such-topic yet")
    before = time.monotonic()
    collector.close()
    assert time.monotonic() - before < 15
    assert not any(thread.is_alive() for thread in collector._threads)


def test_a_broker_that_does_not_answer_is_told_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace_fraud.page.collector._PATIENCE", 1)
    board = Board()
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        collector = Collector(board, f"127.0.0.1:{nobody.getsockname()[1]}")
        collector.start()
        assert eventually(lambda: reading(board)["away"] is not None)
        collector.close()
    assert "Broker transport failure" in (reading(board)["away"] or "")
    assert "KafkaError{" not in (reading(board)["away"] or "")
