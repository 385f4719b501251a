"""A job on records that are nobody's, before the first one that counts.

A cold JVM takes seconds for what later takes a millisecond: it loads classes, generates code and compiles it, opens connections and files,
each when it is first needed. So every job of the demo first does all of its work on made-up records, in its own process. A rehearsal has
topics, checkpoints, files and a database of its own: nothing of it is in the sums or the latencies of the demo.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka import Producer

import headrace as hr
from headrace_fraud import world
from headrace_fraud.deciding import jobs, topics
from headrace_fraud.deciding.rules import DECISION
from headrace_fraud.deciding.settings import Rules
from headrace_fraud.world.truth import RULES
from headrace_fraud.world.world import TRANSACTIONS

PREFIX = "fraud-rehearsal-"

_TOPICS = {
    "decide": (*jobs.INPUTS, *jobs.DECIDED),
    "windows": ("decisions", "windows", "late"),
    "store": ("decisions", "alerts", "windows"),
}
_RECORDS = 20_000  # for the decision job, whose methods Java compiles for good when they were called that often: decision 0017
_ENDS = 25  # of its batches, which the live job then has no need to rehearse: decision 0050
_SHORT_BATCHES = "spark.headrace.realTime.rehearsals"
_ROWS = 1_000  # for the others, of which it compiles nothing for good
_PATIENCE = 60.0  # seconds: on a slow machine a visitor shall rather see slow decisions than none


class Message(NamedTuple):
    topic: str
    value: bytes
    key: str
    id: str | None = None  # of a decision: the place of its transaction


def run(job: str, settings: Rules, directory: Path, stop: threading.Event) -> None:
    """Rehearse in the session of this process. The topics are gone afterwards; `directory` is the caller's to remove."""
    servers, prefix = hr.topics.servers(), f"{PREFIX}{job}-"
    own = [prefix + topic for topic in _TOPICS[job]]
    places: dict[str, Any] = {"prefix": prefix, "checkpoint": directory / "checkpoint", "servers": servers}
    topics.create(servers, own, partitions=jobs.PARTITIONS)
    try:
        _send(servers, prefix, feed(job))
        match job:
            case "decide":
                _decide(jobs.decide(settings, **places), stop)
            case "windows":
                jobs.totals(**places).run("micro-batch", trigger=hr.once)
            case "store":
                jobs.store(directory, str(directory / "fraud.db"), **places).run("micro-batch", trigger=hr.once)
    finally:
        topics.remove(servers, own)


def feed(job: str) -> list[Message]:
    """The records that a job rehearses with."""
    match job:
        case "decide":
            return [*_records()]
        case "windows":
            return [*_decisions("decisions")]
    return [*_decisions("decisions"), *_decisions("alerts"), *_minutes()]


def _decide(job: hr.Job, stop: threading.Event) -> None:
    """In real time, until all is read and many batches have saved their state."""
    conf, deadline, read, ends = hr.session().conf, time.monotonic() + _PATIENCE, 0, 0
    wanted = min(_ENDS, int(conf.get(_SHORT_BATCHES, "0") or 0))
    with job.start("real-time", trigger=hr.every("5 seconds")) as running:
        while (read < _RECORDS or ends < wanted) and time.monotonic() < deadline and not stop.is_set():
            running.wait(0.1)
            batches = running.news()
            read, ends = read + sum(batch.rows_in for batch in batches), ends + len(batches)
    conf.set(_SHORT_BATCHES, "0")
    print(f"rehearsed with {read:,} of {_RECORDS:,} records, and {ends} ends of batches", file=sys.stderr)  # for the log


def _records() -> Iterator[Message]:
    for event in world.events(rate=1_000, events=_RECORDS):
        yield Message(event.topic, event.value, event.key)


def _decisions(topic: str) -> Iterator[Message]:
    """Transactions as if they were decided. Some break a rule, and none has a card."""
    events = (event for event in world.events() if event.topic == TRANSACTIONS and "broken" not in (event.note or ""))
    for number, event in enumerate(islice(events, _ROWS)):
        transaction = json.loads(event.value)
        broken = [RULES[number % len(RULES)]] if number % 20 == 0 else []
        decision = {name: transaction.get(name) for name in DECISION} | {"card": None, "rules": broken, "flagged": bool(broken)}
        yield Message(topic, json.dumps(decision).encode(), event.key, f"transactions/0/{number}")


def _minutes() -> Iterator[Message]:
    counts = dict.fromkeys(("transactions", "flagged", "velocity", "amount_rule", "location"), 1)
    for merchant in world.merchants():
        row = {"minute": "2026-02-02T08:00:00.000000Z", "merchant": merchant, "amount": 1.0, "customers": None, "closed": False, **counts}
        yield Message("windows", json.dumps(row).encode(), merchant)


def _send(servers: str, prefix: str, messages: Iterable[Message]) -> None:
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 20, "log_level": 3})
    for topic, value, key, id in messages:
        producer.produce(prefix + topic, value, key, headers=[] if id is None else [("id", id)])
    producer.flush(_PATIENCE)
