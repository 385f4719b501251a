"""The topics of a Kafka cluster: made, looked at and deleted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from confluent_kafka import TopicCollection, TopicPartition
from confluent_kafka.admin import ConfigResource, ConfigSource, NewTopic, OffsetSpec  # type: ignore[attr-defined]  # public, but not so marked

from headrace.errors import JobError
from headrace.io.kafka.client import PATIENCE, KafkaClient
from headrace.io.kafka.topics import Description, Partition, Topic, command, missing

_OWN = "__"  # with which the names of Kafka's own topics begin


class KafkaTopics:
    def __init__(self, servers: str | None = None, options: Mapping[str, str] | None = None) -> None:
        self.client = KafkaClient(servers, options or {})
        self._named_servers = servers

    @classmethod
    def of(cls, client: KafkaClient) -> KafkaTopics:
        """By a client that there is."""
        topics = cls.__new__(cls)
        topics.client, topics._named_servers = client, None
        return topics

    def names(self) -> set[str]:
        """All topics but Kafka's own."""
        with self.client.answering():
            return {name for name in self.client.admin.list_topics(timeout=PATIENCE).topics if not name.startswith(_OWN)}

    def partitions(self) -> dict[str, int]:
        """How many partitions each topic has, but Kafka's own."""
        with self.client.answering():
            topics = self.client.admin.list_topics(timeout=PATIENCE).topics
        return {name: len(topic.partitions) for name, topic in topics.items() if not name.startswith(_OWN)}

    def require(self, names: Iterable[str]) -> None:
        """Raise JobError if one of them is not there."""
        there = self.names()
        for name in names:
            if name not in there:
                raise missing(name, there, self.client.servers, f"create it: {command('create', name, self._named_servers)}")

    def create(self, names: Sequence[str], how: Topic) -> None:
        """Make topics that can be used at once; none, if one of them is there."""
        there = self.names()
        for name in names:
            if name in there:
                delete = command("delete", name, self._named_servers)
                raise JobError(
                    f"topic {name!r} exists already at {self.client.servers}", fix=f"use it as it is, or delete it first: {delete}"
                )
        config = {key: str(value) for key, value in how.config.items()}
        new = [NewTopic(name, how.partitions or -1, how.replicas or -1, config=config) for name in names]
        self.client.results(self.client.admin.create_topics(new, operation_timeout=PATIENCE))
        self._wait(lambda: set(names) <= self.names() and self._have_leaders(names), "does not show the topics that it made")

    def _have_leaders(self, names: Sequence[str]) -> bool:
        """Whether all partitions can be used: a topic is shown a moment before its partitions have a leader."""
        try:
            self.describe(names, config=False)
        except JobError:
            return False
        return True

    def delete(self, names: Sequence[str]) -> None:
        """Delete topics, with all that is in them; none, if one of them is not there."""
        self.require(names)
        self.client.results(self.client.admin.delete_topics(list(names), operation_timeout=PATIENCE))
        self._wait(lambda: not set(names) & self.names(), "still shows the topics that it deleted")

    def describe(self, names: Sequence[str], *, config: bool = True) -> list[Description]:
        """Topics as they are, in this order; without their options if these are not asked for."""
        self.require(names)
        if not names:
            return []
        topics = self.client.results(self.client.admin.describe_topics(TopicCollection(list(names)), request_timeout=PATIENCE))
        places = [TopicPartition(name, partition.id) for name in names for partition in topics[name].partitions]
        begins, ends = self._offsets(places, OffsetSpec.earliest()), self._offsets(places, OffsetSpec.latest())  # type: ignore[no-untyped-call]
        options = self._config(names) if config else {}

        def partition(name: str, of: Any) -> Partition:
            leader, replicas = of.leader.id if of.leader else None, tuple(node.id for node in of.replicas)
            return Partition(of.id, leader, replicas, begins[name, of.id], ends[name, of.id])

        def description(name: str) -> Description:
            partitions = sorted((partition(name, of) for of in topics[name].partitions), key=lambda each: each.number)
            return Description(name, str(topics[name].topic_id), tuple(partitions), options.get(name, {}))

        return [description(name) for name in names]

    def _offsets(self, places: Sequence[TopicPartition], spec: OffsetSpec) -> dict[tuple[str, int], int]:
        asked = self.client.results_when_led(lambda: self.client.admin.list_offsets(dict.fromkeys(places, spec), request_timeout=PATIENCE))
        return {(place.topic, place.partition): answer.offset for place, answer in asked.items()}

    def _config(self, names: Sequence[str]) -> dict[str, dict[str, str]]:
        """The options that were set for a topic. Others are the cluster's, and there are dozens."""
        asked = self.client.admin.describe_configs([ConfigResource("topic", name) for name in names], request_timeout=PATIENCE)
        ours = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
        return {
            resource.name: {entry.name: "***" if entry.is_sensitive else entry.value for entry in entries.values() if entry.source == ours}
            for resource, entries in self.client.results(asked).items()
        }

    def _wait(self, condition: Callable[[], bool], otherwise: str) -> None:
        """The controller answers a moment before the brokers tell clients."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > deadline:
                raise JobError(f"Kafka at {self.client.servers} {otherwise}", fix="look again in a while: headrace topics list")
            time.sleep(0.02)
