"""The collector at a real broker: everything from the beginning, and what comes later at once."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest
from confluent_kafka import Producer
from tests.fraud.test_board import DECISION, TRANSACTION

from headrace_fraud.page import TOPICS, Board, Collector


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


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
                until(lambda board=board: board.totals(0)["decided"] == 500)  # type: ignore[misc]
                send(kafka, names, 500, 600)
            until(lambda board=board, collector=collector: board.totals(0)["sent"] == 600 and collector.caught_up())  # type: ignore[misc]
            totals.append(board.totals(0) | {"oldest_ms": 0})
            assert collector.failure is None
            assert board.latency()["max"] < 20_000  # of history too: by the log's own time
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
        until(lambda: board.totals(0)["decided"] == 2)
        until(collector.caught_up)
        assert "is not as it should be" in (collector.failure or "")
    finally:
        collector.close()


def test_a_collector_waits_for_topics_and_closes_while_it_waits(kafka: str) -> None:
    collector = Collector(Board(), kafka, dict.fromkeys(TOPICS, "no-such-topic"))
    collector.start()
    until(lambda: collector.failure == "no topic no-such-topic yet")
    before = time.monotonic()
    collector.close()
    assert time.monotonic() - before < 5
