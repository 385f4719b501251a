"""Reads every topic from its beginning and tells the board. It commits nothing: after a restart it knows the same again.

Decisions have a reader of their own that takes each as soon as it is there, because their latency is measured here. All else is fetched in
larger pieces, so that watching costs the broker little. A decision that is older than the collector is taken to have been read when the log
says it was written.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any, cast

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]  # public, by its documentation

from headrace_fraud.page.board import Board, Headers

_PROMPT = ("decisions",)
_PIECE = 200  # messages: less than 2 ms of work, for which a decision may have to wait
_WAIT = 0.02  # seconds
_LOOKS = 0.5  # seconds between two looks at the ends of the logs
_PATIENCE = 10  # seconds without an answer after which the broker is away


class Collector:
    """`start()` returns at once; `close()` ends both threads. `names`: what a topic is called at the broker, where not by its own name.

    It never gives up: while the broker is away, or a topic not there, the board's `reading` says so.
    """

    def __init__(self, board: Board, bootstrap: str, names: Mapping[str, str] | None = None) -> None:
        self._board = board
        self._client: dict[str, str | int | float | bool] = {"bootstrap.servers": bootstrap, "log_level": 0}  # `reading` says what is wrong
        self._topics = {(names or {}).get(topic, topic): topic for topic in board.reads}  # the broker's name -> the board's
        self._admin = AdminClient(self._client)
        self._low: dict[tuple[str, int], int] = {}  # the first offset of every partition
        self._closing = threading.Event()
        self._known = threading.Event()  # the logs' beginnings and ends
        self._history: dict[tuple[str, int], int] = {}  # the ends of the logs when the collector began
        self._threads = [threading.Thread(target=run, name=f"page-{run.__name__}", daemon=True) for run in (self._watch_logs, self._read)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        self._closing.set()
        for thread in self._threads:
            thread.join(timeout=10)

    def caught_up(self) -> bool:
        """Whether all that is in the logs now has been read. It asks the broker: what the watch saw last may be half a second old."""
        if not self._known.is_set():
            return False
        try:
            self._look()
        except KafkaException:
            return False
        return all(topic["unread"] == 0 for topic in self._board.topics().values())

    def _look(self) -> dict[tuple[str, int], int]:
        """Tell the board where the logs end."""
        ends = _offsets(self._admin, list(self._low), OffsetSpec.latest())  # type: ignore[no-untyped-call]
        for (topic, partition), end in ends.items():
            self._board.log(self._topics[topic], partition, self._low[topic, partition], end)
        return ends

    def _watch_logs(self) -> None:
        """Asks for the ends of all logs, twice a second."""
        while not self._closing.is_set():
            try:
                if not self._low:
                    self._low = _offsets(self._admin, self._partitions(), OffsetSpec.earliest())  # type: ignore[no-untyped-call]
                ends = self._look()
            except KafkaException as problem:  # the broker is away: it says so, and is asked again
                self._board.reading.away = problem.args[0].str()
                self._admin = AdminClient(self._client)  # the old one may ask for ever by what it knew before, such as a leader's epoch
                ends = {}
            if ends:
                self._board.reading.away = None
                self._board.logs_read(time.time() * 1000)
                if not self._known.is_set():
                    self._history = ends
                    self._known.set()
            self._closing.wait(_LOOKS)

    def _partitions(self) -> list[tuple[str, int]]:
        topics = self._admin.list_topics(timeout=_PATIENCE).topics
        if missing := [topic for topic in self._topics if topic not in topics]:
            self._board.reading.away = f"no topic {', '.join(missing)} yet"
            return []
        return [(topic, partition) for topic in self._topics for partition in topics[topic].partitions]

    def _read(self) -> None:
        while not self._known.wait(0.1):
            if self._closing.is_set():
                return
        prompt = self._consumer({"fetch.wait.max.ms": 100}, *_PROMPT)
        other = self._consumer({"fetch.wait.max.ms": 200, "fetch.min.bytes": 32_768}, *(set(self._board.reads) - set(_PROMPT)))
        more = True
        try:
            while not self._closing.is_set():
                if first := prompt.poll(0 if more else _WAIT):
                    self._take([first, *prompt.consume(_PIECE - 1, 0)])
                pieces = other.consume(_PIECE, 0)
                self._take(pieces)
                more = len(pieces) == _PIECE
        finally:
            prompt.close()
            other.close()

    def _consumer(self, options: dict[str, Any], *topics: str) -> Consumer:
        consumer = Consumer(
            {
                **self._client,
                "group.id": "headrace-page",  # the client wants a name; nothing is ever committed under it
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "auto.offset.reset": "earliest",
                "queued.max.messages.kbytes": 16_384,
                "fetch.message.max.bytes": 262_144,
                **options,
            }
        )
        consumer.assign([TopicPartition(topic, partition, 0) for topic, partition in self._history if self._topics[topic] in topics])
        return consumer

    def _take(self, messages: list[Message]) -> None:
        now = time.time() * 1000
        take, odd, history = self._board.take, self._board.reading.odd, self._history
        for message in messages:
            if error := message.error():
                odd(error.str(), now)
                continue
            topic, partition, offset = cast("tuple[str, int, int]", (message.topic(), message.partition(), message.offset()))
            read = message.timestamp()[1] if offset < history[topic, partition] else now
            try:
                take(self._topics[topic], partition, offset, message.key(), message.value(), cast("Headers", message.headers()), read)
            except (ValueError, KeyError, TypeError) as problem:  # not as agreed: one message must not end the watching of all others
                odd(f"{topic}/{partition}/{offset} is not as it should be: {type(problem).__name__}: {problem}", now)


def _offsets(admin: AdminClient, partitions: list[tuple[str, int]], spec: OffsetSpec) -> dict[tuple[str, int], int]:
    asked = (
        admin.list_offsets({TopicPartition(topic, partition): spec for topic, partition in partitions}, request_timeout=_PATIENCE)
        if partitions
        else {}
    )
    return {(place.topic, place.partition): future.result().offset for place, future in asked.items()}
