"""Kafka's small client, librdkafka: no Spark and no JVM, so that a command answers at once. Its failures in words, without secrets."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from headrace.definitions import secrets
from headrace.embedded import kafka as broker
from headrace.errors import DefinitionError, JobError, user_line

T = TypeVar("T")

PATIENCE = 10.0
"""Seconds that the cluster has for one answer."""

_NO_ANSWER = {KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError._ALL_BROKERS_DOWN, KafkaError._RESOLVE, KafkaError._AUTHENTICATION}
_NOT_LED = {KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE}


class KafkaClient:
    """The way to one cluster: HEADRACE_KAFKA's if no address is given, else the broker that headrace brings. Options are librdkafka's."""

    def __init__(self, servers: str | None, options: Mapping[str, str]) -> None:
        secrets.refuse_literals(options)
        self.servers = servers or broker.ensure()
        self._noticed = ""
        # What the library logs by itself, and tries again by itself, is not for the terminal.
        ours = {"bootstrap.servers": self.servers, "log_level": 0, "error_cb": self._notice}
        self._options: dict[str, Any] = {**ours, **secrets.resolve(options)}
        self.admin = self.make(AdminClient)

    def make(self, kind: type[T], **options: Any) -> T:
        """A client of some kind: a producer, a consumer. Names have `_` for the points; the user's options go before these."""
        try:
            return kind({**{name.replace("_", "."): value for name, value in options.items()}, **self._options})  # type: ignore[call-arg]
        except KafkaException as error:
            raise DefinitionError(
                f"Kafka's client refuses its options: {secrets.hide(error.args[0].str())}",
                fix="name options as librdkafka does: security.protocol, sasl.username and so on",
                where=user_line(),
            ) from None

    @contextmanager
    def answering(self, about: str = "") -> Iterator[None]:
        """Turns what Kafka refuses, or does not answer, into JobError."""
        try:
            yield
        except KafkaException as error:
            raise self.failure(error.args[0], about) from None

    def results(self, asked: Mapping[Any, Future[T]]) -> dict[Any, T]:
        """The answers to questions that were asked all at once."""
        answers = {}
        for key, future in asked.items():
            with self.answering(f"topic {key!r}: " if isinstance(key, str) else ""):
                answers[key] = future.result()
        return answers

    def results_when_led(self, ask: Callable[[], Mapping[Any, Future[T]]]) -> dict[Any, T]:
        """The answers to questions about partitions. A new one, or one whose broker went, has no leader for a moment: it is asked again."""
        deadline = time.monotonic() + PATIENCE
        while True:
            asked = ask()
            if time.monotonic() > deadline or not any(map(_not_led, asked.values())):
                return self.results(asked)
            time.sleep(0.05)

    def failure(self, error: KafkaError, about: str = "") -> JobError:
        if error.code() in _NO_ANSWER:
            self.admin.poll(0)  # hands over what was noticed in the background, which says more
            return self.no_answer(self._noticed or error.str())
        return JobError(f"{about}Kafka at {self.servers} refuses: {secrets.hide(error.str())}", fix="change what the message names")

    def no_answer(self, reason: str) -> JobError:
        return JobError(
            f"Kafka at {self.servers} does not answer: {secrets.hide(reason)}",
            fix=f"check the address (servers, or {broker.ADDRESS}) and the options; without an address headrace starts a broker",
        )

    def _notice(self, error: KafkaError) -> None:
        self._noticed = error.str()


def _not_led(answer: Future[Any]) -> bool:
    failure = answer.exception()
    return isinstance(failure, KafkaException) and failure.args[0].code() in _NOT_LED
