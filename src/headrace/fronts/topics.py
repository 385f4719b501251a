"""Topics of a Kafka cluster, from Python: `hr.topics.create("orders", partitions=4)` and so on. Nothing here starts Spark.

    >>> import headrace as hr
    >>> hr.topics.create("greetings", partitions=2)
    >>> hr.topics.send("greetings", ["hej", {"to": "ann"}], key="ann")
    2
    >>> [record.value for record in hr.topics.read("greetings")]
    [b'hej', b'{"to": "ann"}']
    >>> hr.topics.describe("greetings").records
    2
    >>> hr.topics.delete("greetings")

All take `servers`, the cluster's address (HEADRACE_KAFKA if not given, else the broker that headrace brings), and `options` of the client,
which is librdkafka: {"security.protocol": "SASL_SSL", "sasl.username": "ann", "sasl.password": "env:KAFKA_PASSWORD"}.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime

from headrace.embedded import kafka
from headrace.errors import DefinitionError, user_line
from headrace.io.connectors import Option, positive, texts
from headrace.io.kafka import records as kafka_records
from headrace.io.kafka.administration import KafkaTopics
from headrace.io.kafka.topics import Description, Partition, Record, Topic, Value

__all__ = ["Description", "Partition", "Record", "Topic", "create", "delete", "describe", "list", "read", "send", "servers"]

Options = Mapping[str, Option]


def create(
    *names: str,
    partitions: int | None = None,
    replicas: int | None = None,
    config: Options | None = None,
    servers: str | None = None,
    options: Options | None = None,
) -> None:
    """Make topics; JobError, and none is made, if one of them exists. What is not given is as the cluster has it.

    `config` is Kafka's own options of a topic: {"retention.ms": 86_400_000, "cleanup.policy": "compact"}.
    """
    how = Topic(partitions, replicas, config or {})
    _cluster(servers, options).create(_named(names), how)


def servers() -> str:
    """The address of the cluster that is used where none is given: HEADRACE_KAFKA, else the broker that headrace brings, started if it does
    not run."""
    return kafka.ensure()


def list(*, servers: str | None = None, options: Options | None = None) -> builtins.list[Description]:
    """All topics but Kafka's own, by name; without the options that were set for them, which `describe` has."""
    cluster = _cluster(servers, options)
    return cluster.describe(sorted(cluster.names()), config=False)


def describe(name: str, *, servers: str | None = None, options: Options | None = None) -> Description:
    """A topic as it is: its partitions, with their offsets and brokers, and the options that were set for it."""
    return _cluster(servers, options).describe(_named([name]))[0]


def delete(*names: str, servers: str | None = None, options: Options | None = None) -> None:
    """Delete topics, with all records in them; JobError, and none is deleted, if one of them does not exist."""
    _cluster(servers, options).delete(_named(names))


def send(
    name: str,
    values: Iterable[Value | Record],
    *,
    key: Value = None,
    headers: Mapping[str, Value] | None = None,
    partition: int | None = None,
    servers: str | None = None,
    options: Options | None = None,
    sent: Callable[[int], None] = lambda _: None,
) -> int:
    """Send a record for each value, in this order, and wait until the cluster has them; how many there were.

    A value is text, bytes, a dict, which is written as JSON, None, or a `Record` with key, headers and partition of its own. Without a
    partition the key decides, as Java's clients and Spark do it. `sent` is called with the number of records so far.
    """
    if isinstance(values, str | bytes | Mapping):
        raise DefinitionError(f"send: {values!r} is one value", fix="give a list: send(topic, [value])", where=user_line())
    records = (Record.made(value, key=key, headers=headers, partition=partition) for value in values)
    return kafka_records.send(_cluster(servers, options), _named([name])[0], records, sent)


def read(
    name: str,
    *,
    start: str | datetime = "earliest",
    limit: int | None = None,
    follow: bool = False,
    partition: int | None = None,
    servers: str | None = None,
    options: Options | None = None,
) -> Iterator[Record]:
    """The records that a topic has now, at most `limit`; with `follow` also those to come, for ever. Only committed ones.

    Those of a partition come in its order. `start` is "earliest", "latest" (the end, to follow), or a time, in UTC if it has no zone: then
    each partition begins with its first record that is not older.
    """
    if limit is not None:
        positive(limit=limit)
    if isinstance(start, str) and start not in ("earliest", "latest"):
        raise DefinitionError(f"start={start!r} is no position", fix='"earliest", "latest" or a datetime', where=user_line())
    cluster = _cluster(servers, options)
    return kafka_records.read(cluster, _named([name])[0], start=start, limit=limit, follow=follow, partition=partition)


def _named(names: Iterable[str]) -> builtins.list[str]:
    named = builtins.list(dict.fromkeys(names))
    if not named or not all(isinstance(name, str) and name for name in named):
        raise DefinitionError("a topic has no name", fix='name it: "orders"', where=user_line())
    return named


def _cluster(servers: str | None, options: Options | None) -> KafkaTopics:
    return KafkaTopics(servers, texts(options))
