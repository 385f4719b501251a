"""What the page knows: everything that was read from the topics, in a size that does not grow with them.

One rule carries it: a transaction is its place in the log, `transactions/<partition>/<offset>`. Every answer names that place, so an
answer that comes again after a crash is known as a repeat, and a transaction without an answer is known too. Nothing is proven by
counting rows.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from headrace_fraud.page.counts.ledger import ALERTED, DEAD, DECIDED, DUPLICATE, LATE, SCORED, Ledger
from headrace_fraud.page.counts.minutes import Minutes
from headrace_fraud.page.counts.scores import Scores
from headrace_fraud.page.counts.seconds import WARM_UP, Seconds
from headrace_fraud.page.customers import Customers
from headrace_fraud.page.letters import NEWEST, Letters
from headrace_fraud.page.reading import Reading

TOPICS = ("transactions", "locations", "decisions", "alerts", "duplicates", "dead-letters", "windows", "late")
ALERTS = 200
_LONGEST = 8_192  # bytes of a value that are looked into

Headers = Iterable[tuple[str, bytes | str | None]] | None


class Board:
    """`take` tells it of one Kafka message; the other methods say what is known. Safe to use from several threads.

    Latencies of the first `warm_up_s` seconds of decisions are told apart. With a `model` it reads the topic `scores`, too.
    """

    def __init__(self, warm_up_s: float = WARM_UP, *, model: bool = False) -> None:
        self.reads = (*TOPICS, "scores") if model else TOPICS
        self._scores = Scores() if model else None
        self._lock = threading.Lock()
        self._ledgers: dict[int, Ledger] = {}  # by partition of `transactions`
        self._logs: dict[tuple[str, int], list[int]] = {}  # the first offset and the end of every partition of every topic
        self._ends: deque[tuple[float, dict[str, int]]] = deque(maxlen=12)  # what the logs held, for the rates
        self._seen: dict[tuple[str, int], int] = {}  # the next offset that this board expects
        self._alerts: deque[dict[str, Any]] = deque(maxlen=ALERTS)
        self._letters = Letters()
        self.alerts_seen = 0
        self.seconds = Seconds(warm_up_s)
        self.minutes = Minutes()
        self.customers = Customers()
        self.reading = Reading()
        self._takers: dict[str, Callable[[int, int, bytes, Headers, float], None]] = {
            "transactions": self._transaction,
            "locations": self._location,
            "decisions": self._decision,
            "alerts": self._alert,
            "duplicates": self._duplicate,
            "dead-letters": self._dead_letter,
            "windows": self._window,
            "late": self._late,
            "scores": self._score,
        }

    def take(
        self,
        topic: str,
        partition: int,
        offset: int,
        key: bytes | None,  # noqa: ARG002  what it says is in the value too
        value: bytes | None,
        headers: Headers,
        read_ms: float,
    ) -> None:
        """One message, read at `read_ms` (of a message that is history: when it was written)."""
        with self._lock:
            self._seen[topic, partition] = offset + 1
            self._takers[topic](partition, offset, value or b"", headers, read_ms)

    def log(self, topic: str, partition: int, low: int, end: int) -> None:
        """A partition holds the offsets from `low` up to, not including, `end`."""
        with self._lock:
            if topic == "transactions" and partition not in self._ledgers:
                self._ledgers[partition] = Ledger(low)
            known = self._logs.setdefault((topic, partition), [low, end])
            known[1] = max(known[1], end)  # of two looks at once the older may be told last

    def logs_read(self, at_ms: float) -> None:
        """All partitions have been told of: their ends are those of this moment."""
        with self._lock:
            held: dict[str, int] = {}
            for (topic, partition), (low, end) in self._logs.items():
                held[topic] = held.get(topic, 0) + end - low
                if topic == "transactions":
                    self._ledgers[partition].grown(end, at_ms)
            self._ends.append((at_ms, held))

    def totals(self, now_ms: float) -> dict[str, Any]:
        """The two sums and what belongs to them.

        sent = decided + duplicates + dead_letters + in_flight, each offset in exactly one; decided = in_windows + late + waiting.
        holds      no transaction has two different outcomes, and no more are in windows than were decided
        conserved  it holds, and nothing is in flight
        """
        with self._lock:
            ledgers = self._ledgers.values()
            count = {kind: sum(ledger.counts[kind] for ledger in ledgers) for kind in (DECIDED, DUPLICATE, DEAD, ALERTED, LATE)}
            in_flight = sum(ledger.in_flight for ledger in ledgers)
            conflicts = sum(ledger.conflicts for ledger in ledgers)
            in_windows = self.minutes.transactions
            waiting = count[DECIDED] - count[LATE] - in_windows
            return {
                "sent": sum(ledger.sent for ledger in ledgers),
                "decided": count[DECIDED],
                "duplicates": count[DUPLICATE],
                "dead_letters": count[DEAD],
                "in_flight": in_flight,
                "oldest_ms": round(max((ledger.oldest_ms(now_ms) for ledger in ledgers), default=0.0)),
                "flagged": count[ALERTED],
                "repeats": sum(ledger.repeats for ledger in ledgers),
                "conflicts": conflicts,
                "other_dead_letters": self._letters.elsewhere,
                "late": count[LATE],
                "in_windows": in_windows,
                "waiting": waiting,
                "windows_hold": waiting >= 0,
                "holds": conflicts == 0 and in_flight >= 0,
                "conserved": conflicts == 0 and in_flight == 0,
            }

    def topics(self) -> dict[str, dict[str, float | int | None]]:
        """Of every topic: `end` records so far, `rate` a second over the last few seconds, `unread` by this board."""
        with self._lock:
            unread: dict[str, int] = {}
            for (topic, partition), (low, end) in self._logs.items():
                unread[topic] = unread.get(topic, 0) + max(0, end - self._seen.get((topic, partition), low))
            if not self._ends:
                return {topic: {"end": None, "rate": None, "unread": None} for topic in self.reads}
            (since, before), (now, held) = self._ends[-min(4, len(self._ends))], self._ends[-1]
            seconds = (now - since) / 1000
            return {
                topic: {
                    "end": held.get(topic, 0),
                    "rate": round(max(0, held.get(topic, 0) - before.get(topic, 0)) / seconds, 1) if seconds else None,
                    "unread": unread.get(topic, 0),
                }
                for topic in self.reads
            }

    def alerts(self, after: int = 0) -> list[dict[str, Any]]:
        """The newest alerts, oldest first; each has a number `n`, and only those with a greater one than `after` are given."""
        with self._lock:
            return [alert for alert in self._alerts if alert["n"] > after]

    def letters(self, newest: int = NEWEST) -> dict[str, Any]:
        """Dead letters by reason, and the newest ones, newest first."""
        with self._lock:
            return self._letters.shown(newest)

    def series(self, since: int = 0) -> list[list[Any]]:
        with self._lock:
            return self.seconds.rows(since)

    def latency(self) -> dict[str, Any]:
        """p50, p95, p99, max and count of the `steady` state, of the `warm_up`, and `overall`; `recent` are p50 and p99 of the last ten
        seconds; `first` is when the first decision was read, in seconds since 1970."""
        with self._lock:
            return self.seconds.latency()

    def latencies(self) -> tuple[dict[int, int], dict[int, int]]:
        """Decisions by the bucket of their latency (`latencies.py`): those of the warm-up, and those after it."""
        with self._lock:
            return dict(self.seconds.warm_up.counts), dict(self.seconds.steady.counts)

    def steady_latencies(self, second: int) -> dict[int, int]:
        """The same of the decisions that were read in one of the last seconds, if all of it is after the warm-up."""
        with self._lock:
            return dict(self.seconds.latencies(second)) if self.seconds.is_steady(second * 1000) else {}

    def windows(self) -> dict[str, Any]:
        with self._lock:
            return {"minutes": self.minutes.rows(), "merchants": self.minutes.top()}

    def model(self) -> dict[str, Any] | None:
        """How right the rules and the model were; None without a model."""
        with self._lock:
            return None if self._scores is None else self._scores.shown()

    def customer(self, name: str) -> dict[str, Any] | None:
        with self._lock:
            return self.customers.page(name)

    def _transaction(self, partition: int, offset: int, value: bytes, headers: Headers, read_ms: float) -> None:  # noqa: ARG002
        self.seconds.transaction(read_ms)
        if self._ledger(partition).end <= offset:
            self._ledgers[partition].end = offset + 1
        record = _json(value)
        if record is not None:
            self.customers.transaction(offset, record)

    def _location(self, partition: int, offset: int, value: bytes, headers: Headers, read_ms: float) -> None:  # noqa: ARG002
        record = _json(value)
        if record is not None:
            self.customers.place(record)

    def _decision(self, partition: int, offset: int, value: bytes, headers: Headers, read_ms: float) -> None:  # noqa: ARG002
        place, sent = _place(headers)
        if place is None or not self._ledger(place[1]).mark(place[2], DECIDED):
            return
        if sent is not None:
            self.seconds.decision(read_ms, read_ms - sent)
        decision = json.loads(value)
        self.customers.decision(place[2], decision)

    def _alert(self, partition: int, offset: int, value: bytes, headers: Headers, read_ms: float) -> None:  # noqa: ARG002
        place, sent = _place(headers)
        if place is None or not self._ledger(place[1]).mark(place[2], ALERTED):
            return
        self.seconds.alert(read_ms)
        self.alerts_seen += 1
        took = None if sent is None else round(read_ms - sent, 1)
        alert = json.loads(value)
        self.customers.flagged(alert["customer"])
        self._alerts.append({"n": self.alerts_seen, "ms": took, **alert})

    def _duplicate(self, partition: int, offset: int, value: bytes, headers: Headers, read_ms: float) -> None:  # noqa: ARG002
        place, _ = _place(headers)
        if place is not None and self._ledger(place[1]).mark(place[2], DUPLICATE):
            self.customers.duplicate(place[2], json.loads(value))

    def _dead_letter(self, partition: int, offset: int, value: bytes, headers: Headers, read_ms: float) -> None:  # noqa: ARG002
        place, _ = _place(headers)
        if place is None:
            return
        new = self._ledger(place[1]).mark(place[2], DEAD) if place[0] == "transactions" else self._letters.first(place)
        if new:
            self._letters.add(place, json.loads(value))

    def _window(self, partition: int, offset: int, value: bytes, headers: Headers, read_ms: float) -> None:  # noqa: ARG002
        self.minutes.take(json.loads(value))

    def _late(self, partition: int, offset: int, value: bytes, headers: Headers, read_ms: float) -> None:  # noqa: ARG002
        place, _ = _place(headers)
        if place is not None:
            self._ledger(place[1]).mark(place[2], LATE)

    def _score(self, partition: int, offset: int, value: bytes, headers: Headers, read_ms: float) -> None:  # noqa: ARG002
        place, _ = _place(headers)
        if self._scores is not None and place is not None and self._ledger(place[1]).mark(place[2], SCORED):
            score = json.loads(value)
            self._scores.take(fraud=score["fraud"], rules=score["flagged"], model=score["model"])

    def _ledger(self, partition: int) -> Ledger:
        ledger = self._ledgers.get(partition)
        if ledger is None:
            ledger = self._ledgers[partition] = Ledger()
        return ledger


def _place(headers: Headers) -> tuple[tuple[str, int, int] | None, float | None]:
    """The record that a message answers (topic, partition, offset), and when that was sent."""
    place = sent = None
    for name, value in headers or ():
        if name == "id" and value is not None:
            topic, partition, offset = (value.decode() if isinstance(value, bytes) else value).rsplit("/", 2)
            place = topic, int(partition), int(offset)
        elif name == "sent" and value is not None:
            sent = float(value)
    return place, sent


def _json(value: bytes) -> dict[str, Any] | None:
    """An input record with all that is wanted of it. The job is the judge of records: here a strange one is merely not shown."""
    if len(value) > _LONGEST:
        return None
    try:
        record = json.loads(value)
        return record if type(record["customer"]) is str and len(record["customer"]) < _LONGEST // 32 else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
