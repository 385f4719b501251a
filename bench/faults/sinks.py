"""What is in the sinks, read without headrace and Spark: a Kafka consumer that takes what is committed, SQLite, and Parquet files by the
log beside them."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow.parquet
from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from bench.faults.oracle import Answer, Decision

ID = "headrace-id"


def answers(servers: str, topic: str, place: Path, *, kafka: bool) -> dict[str, Answer]:
    """What each of the sinks has; what is not decided is in one of them."""
    decisions = {"kafka": in_topic(servers, f"{topic}-decisions")} if kafka else {}
    decisions |= {"database": in_table(place, "decisions"), "files": in_files(place)}
    again, late = in_table(place, "again"), Counter(row["id"] for row in files(place / "late"))
    dead = (value.decode() for value in values(servers, f"{topic}-dead")) if kafka else (row["raw"] for row in files(place / "dead"))
    dead_letters = Counter(dead)
    return {sink: Answer(decided, again, late, dead_letters) for sink, decided in decisions.items()}


def in_topic(servers: str, topic: str) -> Counter[Decision]:
    return Counter(decision(value) for value in values(servers, topic))


def decision(value: bytes) -> Decision:
    row = json.loads(value)
    return row["id"], row["customer"], row["amount"], row["count"], row["total"]


def in_table(place: Path, table: str) -> Counter[Decision]:
    with closing(sqlite3.connect(place / "decisions.db")) as connection:
        return Counter(connection.execute(f"SELECT id, customer, amount, count, total FROM {table}"))


def in_files(place: Path) -> Counter[Decision]:
    return Counter((row["id"], row["customer"], row["amount"], row["count"], row["total"]) for row in files(place / "decisions"))


def named(servers: str, topic: str) -> tuple[Counter[bytes], int]:
    """The values of a topic whose records have ids, each id once, and how many records were left out for that. What has an id again, but
    not the same value, stays."""
    copies = Counter((dict(message.headers() or [])[ID], message.value() or b"") for message in messages(servers, topic))
    return Counter(value for _, value in copies), copies.total() - len(copies)


def values(servers: str, topic: str) -> Iterator[bytes]:
    return (message.value() or b"" for message in messages(servers, topic))


def messages(servers: str, topic: str) -> Iterator[Message]:
    """Of all partitions, from the first record to the last that is committed now."""
    settings: dict[str, Any] = {"bootstrap.servers": servers, "group.id": "faults", "isolation.level": "read_committed", "log_level": 0}
    consumer = Consumer(settings | {"enable.auto.commit": False, "enable.partition.eof": True})
    try:
        partitions = consumer.list_topics(topic, timeout=60).topics[topic].partitions
        consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
        ended: set[int] = set()
        while len(ended) < len(partitions):
            message = consumer.poll(60)
            if message is None:
                raise SystemExit(f"{topic} does not come to its end")
            if (error := message.error()) is None:
                yield message
            elif error.code() == KafkaError._PARTITION_EOF:
                ended.add(message.partition() or 0)
            elif not error.retriable():
                raise SystemExit(f"{topic} cannot be read: {error}")
    finally:
        consumer.close()


def files(directory: Path) -> Iterator[dict[str, Any]]:
    """The rows of the files that the log of Spark's sink names. A log file holds those of one batch, one that ends with `.compact` those of
    all batches up to its own."""
    logs = {int(log.name.removesuffix(".compact")): log for log in (directory / "_spark_metadata").glob("[0-9]*")}
    compacts = [number for number, log in logs.items() if log.suffix == ".compact"]
    first = max(compacts, default=-1)
    for number, log in sorted(logs.items()):
        if number >= first:
            for line in log.read_text().splitlines()[1:]:  # the first one is the version
                entry = json.loads(line)
                yield from pyarrow.parquet.read_table(directory / Path(entry["path"]).name).to_pylist()


def committed(place: Path) -> dict[str, int]:
    """The last batch that each sink has, of those that can be asked while the job is dead without a broker."""
    last: dict[str, int] = {"database": -1}
    if (place / "decisions.db").exists():
        with closing(sqlite3.connect(place / "decisions.db")) as connection:
            rows = connection.execute("SELECT batch FROM headrace_progress WHERE output = 'database'").fetchall()
            last["database"] = rows[0][0] if rows else -1
    names = (log.name.removesuffix(".compact") for log in (place / "decisions" / "_spark_metadata").glob("[0-9]*"))
    last["files"] = max(map(int, names), default=-1)
    return last
