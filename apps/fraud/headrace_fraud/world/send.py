"""The world live: each record sent to Kafka when it is due, by the clock on the wall."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import sleep, time
from typing import Any, TextIO

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from headrace.errors import JobError
from headrace_fraud.world.stream import customers_for
from headrace_fraud.world.stream import events as stream
from headrace_fraud.world.world import LOCATIONS, TRANSACTIONS, Event, World

LABELS = "labels"
BEHIND_MS = 50.0
_LEAD_S = 0.05  # until the first record is due
_TICK_S = 0.002  # the shortest sleep: waking up for each record would cost most of a core at high rates
_SLICE_S = 0.1  # the longest that nobody looks whether to stop
_PATIENCE_S = 10.0  # for the broker to say which topics it has, and for its last answers


@dataclass
class Lateness:
    """By how much records were given to the client later than they were due."""

    count: int = 0
    total_s: float = 0.0
    max_s: float = 0.0

    def add(self, late_s: float) -> None:
        self.count += 1
        self.total_s += late_s
        self.max_s = max(self.max_s, late_s)

    def in_ms(self) -> dict[str, float]:
        return {"mean": round(self.total_s * 1000 / max(self.count, 1), 3), "max": round(self.max_s * 1000, 3)}


@dataclass
class Counts:
    """What was sent so far. `acknowledged` is what the broker has for certain; the rest failed, is under way or, at the end, unknown.

    `lateness_ms` is the mean and the greatest since the last report; in the last one, of the whole run. `behind` counts the records that
    were late by more than 50 ms: they went out faster than the rate, to catch up.
    """

    sent: dict[str, int] = field(default_factory=lambda: {TRANSACTIONS: 0, LOCATIONS: 0})
    acknowledged: dict[str, int] = field(default_factory=lambda: {TRANSACTIONS: 0, LOCATIONS: 0})
    failed: int = 0
    frauds: int = 0
    behind: int = 0
    lateness_ms: dict[str, float] = field(default_factory=lambda: Lateness().in_ms())
    seconds: float = 0.0
    done: bool = False

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


Report = Callable[[Counts], None]


def run(
    bootstrap: str,
    *,
    rate: float,
    seed: int = 1,
    seconds: float | None = None,
    events: int | None = None,
    truth_path: Path | None = None,
    stop: threading.Event | None = None,
    report: Report | None = None,
    config: dict[str, Any] | None = None,
    labels: bool = False,
) -> Counts:
    """Send until `seconds` are over, `events` are sent or `stop` is set; `report` is called once a second, and at the end with `done`.

    Keyed by customer, so that the records of one stay in order. A fraud is written to `truth_path`, which is begun anew, once the broker
    has its record. `config` overrides settings of the producer. With `labels` the topic of that name is told of each transaction whether
    it is fraud.
    """
    world = World(seed, customers_for(rate))
    with ExitStack() as files:
        truths = files.enter_context(truth_path.open("w")) if truth_path else None
        sender = _Sender(bootstrap, config or {}, truths, report, labels=labels)
        start = time() + _LEAD_S
        sender.begin(start)
        for event in stream(seed=seed, rate=rate, start=datetime.fromtimestamp(start, UTC), events=events, world=world):
            if seconds is not None and event.due >= start + seconds:
                break
            if not sender.wait(event.due, stop):
                break
            sender.send(event)
        return sender.finish()


class _Sender:
    def __init__(self, bootstrap: str, config: dict[str, Any], truths: TextIO | None, report: Report | None, *, labels: bool) -> None:
        self._producer = Producer({
            "bootstrap.servers": bootstrap,
            "linger.ms": 3,  # a request for each record costs the broker so much that the slowest decisions lose by it
            "enable.idempotence": True,  # a record that is sent again after a hiccup is neither doubled nor out of order
            "partitioner": "murmur2_random",  # as in Java: the same customer, the same partition, whoever sends
            "log_level": 0,
            **config,
        })  # fmt: skip
        self._labels = labels
        self._require_topics(bootstrap)
        self._truths, self._report = truths, report
        self._counts, self._recent, self._overall = Counts(), Lateness(), Lateness()
        self._start = self._next_report = 0.0

    def begin(self, start: float) -> None:
        self._start, self._next_report = start, start + 1

    def wait(self, due: float, stop: threading.Event | None) -> bool:
        """Until the record is due, taking in the broker's answers meanwhile; False if it is time to stop."""
        while True:
            if stop is not None and stop.is_set():
                return False
            now = time()
            if now >= self._next_report:
                self._next_report = now + 1 - (now - self._next_report) % 1  # a second that was missed is not made up for
                self._tell(self._recent, now)
                self._recent = Lateness()
            if now >= due:
                return True
            self._producer.poll(0)
            sleep(min(max(due - now, _TICK_S), _SLICE_S))

    def send(self, event: Event) -> None:
        line = event.truth.line() if event.truth else None
        answered = self._answered if line is None else lambda error, message: self._answered(error, message, line)
        self._produce(event.topic, event.value, event.key, answered)
        if self._labels:
            self._label(event)
        late = max(0.0, time() - event.due)
        self._recent.add(late)
        self._overall.add(late)
        self._counts.sent[event.topic] += 1
        self._counts.behind += late * 1000 > BEHIND_MS
        if self._overall.count % 100 == 0:  # who is behind never waits, but must hear the answers
            self._producer.poll(0)

    def _label(self, event: Event) -> None:
        """What a transaction is; of one that is refused, or was there before, nothing is asked."""
        note = event.note or ""
        if event.topic == TRANSACTIONS and note != "duplicate" and not note.startswith("broken"):
            record = json.loads(event.value)
            label = {name: record[name] for name in ("customer", "tx_id", "ts")} | {"fraud": event.truth is not None}
            self._produce(LABELS, json.dumps(label).encode(), event.key, self._labelled)

    def _produce(self, topic: str, value: bytes, key: str, answered: Callable[[KafkaError | None, Message], None]) -> None:
        while True:
            try:
                self._producer.produce(topic, value, key, on_delivery=answered)
                return
            except BufferError:  # the broker is slower than we are: wait for it, and be late
                self._producer.poll(_SLICE_S)

    def finish(self) -> Counts:
        self._producer.flush(_PATIENCE_S)
        self._counts.done = True
        self._tell(self._overall, time())
        return self._counts

    def _answered(self, error: KafkaError | None, message: Message, truth: str | None = None) -> None:
        if error is not None:
            self._counts.failed += 1
            return
        self._counts.acknowledged[message.topic() or ""] += 1
        if truth is not None:
            self._counts.frauds += 1
            if self._truths is not None:
                self._truths.write(truth)

    def _labelled(self, error: KafkaError | None, message: Message) -> None:  # noqa: ARG002 - as the client calls it
        self._counts.failed += error is not None

    def _tell(self, lateness: Lateness, now: float) -> None:
        self._counts.lateness_ms = lateness.in_ms()
        self._counts.seconds = round(now - self._start, 3)
        if self._truths is not None:
            self._truths.flush()
        if self._report is not None:
            self._report(self._counts)

    def _require_topics(self, bootstrap: str) -> None:
        try:
            known = self._producer.list_topics(timeout=_PATIENCE_S).topics
        except KafkaException as error:
            raise JobError(f"no Kafka broker answers at {bootstrap}", fix="start one with: headrace kafka up") from error
        missing = [topic for topic in (TRANSACTIONS, LOCATIONS, *([LABELS] if self._labels else [])) if topic not in known]
        if missing:
            raise JobError(f"topic '{missing[0]}' does not exist at {bootstrap}", fix="create it, or start the demo, which does")
