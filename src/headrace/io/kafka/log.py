"""What a Kafka cluster knows about its topics, asked with the very options that Spark will use (its own client, in its own JVM)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Event
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from headrace.definitions import secrets
from headrace.errors import JobError
from headrace.io.kafka.topics import Topic

_PATIENCE_MS = 10_000

# Whether a cluster is there at all: asked while a job runs, which then says so.
_PRESENCE_MS = 5_000
_SELDOM = {"reconnect.backoff.ms": "250", "reconnect.backoff.max.ms": "1000"}


class KafkaLog:
    """The topics of one cluster. `options` are Kafka's, without the `kafka.` before them, secrets resolved."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._jvm: Any = SparkSession.active()._jvm
        self._options = dict(options)
        self.servers = options["bootstrap.servers"]
        self.title = f"Kafka at {self.servers}"

    @contextmanager
    def _admin(self, also: Mapping[str, str] | None = None) -> Iterator[Any]:
        properties = self._jvm.java.util.Properties()
        timeouts = {"default.api.timeout.ms": str(_PATIENCE_MS), "request.timeout.ms": str(_PATIENCE_MS)}
        for name, value in (self._options | timeouts | dict(also or {})).items():
            properties.setProperty(name, value)
        try:
            admin = self._jvm.org.apache.kafka.clients.admin.AdminClient.create(properties)
        except Py4JJavaError as error:
            raise self._unreachable(error) from None
        try:
            yield admin
        except Py4JJavaError as error:
            raise self._unreachable(error) from None
        finally:
            admin.close(self._jvm.java.time.Duration.ofMillis(0))

    def _unreachable(self, error: Py4JJavaError) -> JobError:
        return JobError(
            f"Kafka at {self.servers} does not answer: {secrets.hide(_cause(error).toString())}",
            fix="check the address (servers=, or HEADRACE_KAFKA) and the kafka.* options; without an address headrace starts a broker",
        )

    @contextmanager
    def questions(self, over: Event) -> Iterator[Callable[[], bool]]:
        """Asks whether the cluster answers, over one connection that stays open."""
        with self._admin(_SELDOM) as admin:
            patience = self._jvm.org.apache.kafka.clients.admin.DescribeClusterOptions().timeoutMs(_PRESENCE_MS)

            def answers() -> bool:
                nodes = admin.describeCluster(patience).nodes()
                while not nodes.isDone() and not over.wait(0.05):
                    pass
                return bool(nodes.isDone()) and not nodes.isCompletedExceptionally()

            yield answers

    def topics(self) -> set[str]:
        """The names of all topics but Kafka's own."""
        with self._admin() as admin:
            return set(admin.listTopics().names().get())

    def partitions(self, topics: list[str]) -> dict[str, int]:
        """How many partitions each topic has."""
        with self._admin() as admin:
            described = admin.describeTopics(topics).allTopicNames().get()
            return {topic: described[topic].partitions().size() for topic in topics}

    def ids(self, topics: list[str]) -> dict[str, str]:
        """What Kafka calls each topic itself: one that is deleted and made again has another id."""
        with self._admin() as admin:
            described = admin.describeTopics(topics).allTopicNames().get()
            return {topic: described[topic].topicId().toString() for topic in topics}

    def cluster(self) -> str:
        """What the cluster calls itself."""
        with self._admin() as admin:
            return str(admin.describeCluster().clusterId().get())

    def ends(self, topics: list[str]) -> dict[str, dict[str, int]]:
        """The offset after the last committed record of each partition."""
        kafka = self._jvm.org.apache.kafka
        wanted = self._jvm.java.util.HashMap()
        for topic, partitions in self.partitions(topics).items():
            for partition in range(partitions):
                wanted.put(kafka.common.TopicPartition(topic, partition), kafka.clients.admin.OffsetSpec.latest())
        committed = kafka.clients.admin.ListOffsetsOptions(kafka.common.IsolationLevel.READ_COMMITTED)
        ends: dict[str, dict[str, int]] = {topic: {} for topic in topics}
        with self._admin() as admin:
            for place, end in admin.listOffsets(wanted, committed).all().get().items():
                ends[place.topic()][str(place.partition())] = end.offset()
        return ends

    def create(self, topic: str, how: Topic) -> None:
        """Make a topic, if nobody else has just made it."""
        new = self._jvm.org.apache.kafka.clients.admin.NewTopic(topic, how.partitions or -1, how.replicas or -1)
        with self._admin() as admin:
            try:
                admin.createTopics([new.configs(dict(how.config))]).all().get()
            except Py4JJavaError as error:
                cause = _cause(error)
                kind = cause.getClass().getSimpleName()
                if kind in ("TimeoutException", "DisconnectException"):
                    raise
                if kind != "TopicExistsException":
                    raise JobError(
                        f"topic {topic!r} was not made at {self.servers}: {secrets.hide(str(cause.getMessage()))}",
                        fix="change what create= asks for, or make the topic yourself",
                    ) from None


def _cause(error: Py4JJavaError) -> Any:
    """What it came from, below all that wraps it."""
    cause = error.java_exception
    while cause.getCause() is not None:
        cause = cause.getCause()
    return cause
