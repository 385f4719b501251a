"""A lively made-up world for the page: no Spark, no Kafka, only what their messages would be. Run it to look at the page:

python -m tests.browser.feed [seconds] [rate]
"""

from __future__ import annotations

import base64
import json
import random
import sys
import time
import zlib
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

from headrace.errors import JobError
from headrace_fraud.page import Board, JobStatus, Page
from headrace_fraud.page.control import State

CITIES = {
    "Stockholm": (59.33, 18.06),
    "Göteborg": (57.71, 11.97),
    "Oslo": (59.91, 10.75),
    "København": (55.68, 12.57),
    "Helsinki": (60.17, 24.94),
    "Berlin": (52.52, 13.4),
    "Paris": (48.86, 2.35),
    "Suva": (-18.14, 178.44),
    "Apia": (-13.83, -171.77),
}
SHOPS = ["Grön & Skön", "Kvarnen Kaffe", "Nordic Rail", "Bokladan", "Fisk 17", "El & Ljus", "Apoteket 4", "Rådhuset P", "Vinyl", "Brödrost"]
BROKEN = [
    (b"{oops", "not_json"),
    (b'{"type":"refund"}', "unknown_type"),
    (b'{"type":"transaction","tx_id":"t1","customer":"c1","card":"411111******1111","amount":-3}', "out_of_range:amount"),
]
COUNTED = ("transactions", "flagged", "velocity", "amount_rule", "location")
PARTITIONS = 2
# Of each job, the pace of each of its queries.
PACES: dict[str, dict[str, float | None]] = {
    "decide": {"decisions": 980.0},
    "windows": {"windows": 970.0},
    "store": {"parquet": 960.0, "alerts": 3.5, "windows": 4.0},
    "learn": {"scores": 950.0},
}


def stamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def partition_of(customer: str) -> int:
    return zlib.crc32(customer.encode()) % PARTITIONS


class Feed:
    """Writes messages into a board as the topics would bring them, each with its own offset."""

    def __init__(self, board: Board, seed: int = 4, customers: int = 300) -> None:
        self.board = board
        self.random = random.Random(seed)
        self.homes = {f"c{n}": self.random.choice(list(CITIES.values())) for n in range(customers)}
        self.phones: dict[str, tuple[float, float]] = {}
        self.largest: dict[str, float] = {}
        self.ends = {(topic, partition): 0 for topic in board.reads for partition in range(PARTITIONS)}
        self.minutes: dict[str, dict[str | None, dict[str, Any]]] = {}

    def put(
        self, topic: str, value: bytes | dict[str, Any], read: float, *, partition: int = 0, of: str = "", sent: float | None = None
    ) -> str:
        """One message; returns its place."""
        offset = self.ends[topic, partition]
        self.ends[topic, partition] = offset + 1
        raw = value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode()
        headers = [("id", of.encode())] if of else []
        if sent is not None:
            headers.append(("sent", str(int(sent * 1000)).encode()))
        self.board.take(topic, partition, offset, None, raw, headers, read * 1000)
        return f"{topic}/{partition}/{offset}"

    def look(self, now: float) -> None:
        for (topic, partition), end in self.ends.items():
            self.board.log(topic, partition, 0, end)
        self.board.logs_read(now * 1000)

    def transaction(self, now: float, **changes: Any) -> tuple[str, dict[str, Any], int]:
        customer = changes.get("customer") or self.random.choice(list(self.homes))
        lat, lon = self.homes.get(customer, (59.33, 18.06))
        partition = partition_of(customer)
        record = {
            "type": "transaction",
            "tx_id": f"t{self.ends['transactions', partition]:06d}{partition}",
            "customer": customer,
            "card": "4111111111111111",
            "amount": round(self.random.lognormvariate(3.3, 0.9), 2),
            "merchant": SHOPS[min(len(SHOPS) - 1, int(self.random.expovariate(0.35)))],
            "lat": round(lat + self.random.gauss(0, 0.03), 4),
            "lon": round(lon + self.random.gauss(0, 0.05), 4),
            "ts": stamp(now),
            **changes,
        }
        return self.put("transactions", record, now, partition=partition), record, partition

    def decide(self, place: str, record: dict[str, Any], now: float, **evidence: Any) -> None:
        rules = evidence.get("rules", [])
        decision = {
            **{name: record[name] for name in ("tx_id", "customer", "ts", "amount", "merchant")},
            "card": "411111******1111",
            "rules": rules,
            "flagged": bool(rules),
            "gap_s": evidence.get("gap_s"),
            "previous_max": evidence.get("previous_max"),
            "distance_km": evidence.get("distance_km"),
        }
        read = now + self.random.lognormvariate(1.5, 0.5) / 1000
        partition = int(place.split("/")[1])
        self.put("decisions", decision, read, partition=partition, of=place, sent=now)
        if rules:
            self.put("alerts", decision, read, partition=partition, of=place, sent=now)
        if "scores" in self.board.reads:
            fraud = self.random.random() < (0.75 if rules else 0.003)
            score = {"fraud": fraud, "flagged": bool(rules), "model": self.random.random() < (0.55 if fraud else 0.001)}
            self.put("scores", score, read + 5, partition=partition, of=place)
        self.count(decision)

    def count(self, decision: dict[str, Any]) -> None:
        minute = decision["ts"][:16] + ":00.000000Z"
        for merchant in (None, decision["merchant"]):
            row = self.minutes.setdefault(minute, {}).setdefault(merchant, dict.fromkeys(COUNTED, 0))
            row["transactions"] += 1
            row["amount"] = row.get("amount", 0.0) + decision["amount"]
            row["flagged"] += decision["flagged"]
            for rule in decision["rules"]:
                row["amount_rule" if rule == "amount" else rule] += 1

    def windows(self, now: float) -> None:
        for minute in sorted(self.minutes)[-2:]:
            for merchant, row in self.minutes[minute].items():
                self.put("windows", {"minute": minute, "merchant": merchant, "customers": 100, "closed": False, **row}, now)

    def dead(self, now: float, raw: bytes, reason: str) -> None:
        place = self.put("transactions", raw, now)
        letter = {
            "reason": reason,
            "raw": base64.b64encode(raw).decode(),
            "topic": "transactions",
            "partition": 0,
            "offset": int(place.split("/")[2]),
        }
        self.put("dead-letters", letter, now, of=place)

    def location(self, now: float) -> None:
        customer = self.random.choice(list(self.homes))
        lat, lon = self.phones.get(customer, self.homes[customer])
        self.phones[customer] = lat, lon = round(lat + self.random.gauss(0, 0.012), 4), round(lon + self.random.gauss(0, 0.02), 4)
        record = {"type": "location", "customer": customer, "lat": lat, "lon": lon, "ts": stamp(now)}
        self.put("locations", record, now, partition=partition_of(customer))

    def some(self, now: float) -> None:
        """One transaction, with a small dose of everything that can be wrong with it."""
        chance = self.random.random()
        if self.random.random() < 0.6:
            self.location(now)
        if chance < 0.004:
            self.dead(now, *self.random.choice(BROKEN))
            return
        far = dict(zip(("lat", "lon"), self.random.choice(list(CITIES.values())), strict=True)) if chance > 0.994 else {}
        place, record, partition = self.transaction(now, **far)
        if chance < 0.008:
            again = {name: record[name] for name in ("tx_id", "customer", "ts")}
            self.put("duplicates", again, now, partition=partition, of=place, sent=now)
            return
        before = self.largest.get(record["customer"])
        self.largest[record["customer"]] = max(record["amount"], before or 0)
        evidence: dict[str, Any] = {"previous_max": before, "distance_km": round(self.random.uniform(0.1, 9), 3)}
        rules = []
        if chance > 0.985:
            rules.append("velocity")
            evidence["gap_s"] = round(self.random.uniform(0.1, 10), 3)
        if 0.98 < chance < 0.986 or chance > 0.997:
            rules.append("amount")
            evidence["previous_max"] = record["amount"] / self.random.uniform(1.05, 14)
        if far:
            rules.append("location")
            evidence["distance_km"] = round(self.random.uniform(101, 9000), 3)
        self.decide(place, record, now, rules=rules, **evidence)

    def past(self, seconds: int, rate: int, now: float) -> None:
        """History, as if it had run for a while."""
        for second in range(seconds):
            at = now - seconds + second
            for n in range(int(rate * self.random.uniform(0.9, 1.1))):
                self.some(at + n / rate)
            if second % 10 == 0:
                self.windows(at)
        self.windows(now)
        self.look(now)


class FakeControl:
    """Keeps what it was told, and does it at once. A killed job comes back when `recover` is called."""

    can_kill = True

    def __init__(self, *more: str) -> None:
        self.told: list[tuple[str, str]] = []
        self.states: dict[str, State] = dict.fromkeys(("decide", "windows", "store", *more), "running")
        self.restarts = dict.fromkeys(self.states, 0)
        self.lag = 12
        self.written = 54_321
        self.paces: dict[str, dict[str, float | None]] = deepcopy(PACES)

    def jobs(self) -> list[JobStatus]:
        return [
            JobStatus(name, "real-time" if name == "decide" else "micro-batch", state, 4711, self.restarts[name], self.progress(name))
            for name, state in self.states.items()
        ]

    def progress(self, job: str) -> list[dict[str, Any]]:
        at = stamp(time.time() - 3)
        batch = {
            "job": job,
            "batch": 3,
            "at": at,
            "rows_in": 10,
            "rows_out": 10,
            "rate": 1000.0,
            "lag": self.lag,
            "seconds": 1.2,
            "state_rows": 12_402,
            "state_bytes": 3_100_000,
            "late_rows": 0,
            "watermark": at,
            "latency_ms": 812.0,
            "latency_p99_ms": 1630.0,
        }
        return [{**batch, "query": query, "pace": pace, "written": self.written} for query, pace in self.paces[job].items()]

    def start(self, name: str) -> None:
        self.told.append(("start", name))
        self.states[name] = "running"

    def stop(self, name: str) -> None:
        self.told.append(("stop", name))
        if name == "store":
            raise JobError("The store cannot be stopped now.", fix="Wait for its batch.")
        self.states[name] = "stopped"

    def kill(self, name: str) -> None:
        self.told.append(("kill", name))
        self.states[name] = "restarting"

    def recover(self, name: str) -> None:
        self.restarts[name] += 1
        self.states[name] = "running"


def main(seconds: int = 600, rate: int = 300) -> None:
    board, control = Board(model=True), FakeControl("learn")
    feed = Feed(board)
    feed.past(240, rate, time.time())
    with Page(board, control) as page:
        print(page.url, flush=True)  # noqa: T201
        for tick in range(seconds):
            now = time.time()
            for n in range(rate):
                feed.some(now + n / rate)
            if tick % 3 == 0:
                feed.windows(now)
            feed.look(now)
            for name in [name for name, state in control.states.items() if state == "restarting" and tick % 7 == 0]:
                control.recover(name)
            time.sleep(max(0.0, now + 1 - time.time()))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
