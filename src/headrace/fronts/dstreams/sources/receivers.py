"""Receivers: sources that push. Written by the user in Python, as in Scala: `onStart`, `onStop`, `store`.

They run on the driver, in threads of their own, and need no task slot; what they receive goes through the driver. For much data use a
source that tasks read by themselves: Kafka, files, or a log with positions (`headrace.io.receiver.Receiver`).

Delivery: what was received and is in no finished batch is lost with the driver. With `spark.streaming.receiver.writeAheadLog.enable` and a
checkpoint directory it is in a file before `store` returns, for a list, or within 200 ms, for single records; then a list that was stored
is not lost, and a batch that is run again has the same records.
"""

from __future__ import annotations

import pickle
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pyspark import StorageLevel, cloudpickle

from headrace.errors import DefinitionError, HeadraceError, user_line
from headrace.fronts.dstreams.checkpoints import storage
from headrace.fronts.dstreams.sources.inputs import Input, Part
from headrace.fronts.dstreams.sources.rates import Limiter, Rate
from headrace.fronts.dstreams.streams.nodes import AnyRDD, Node

if TYPE_CHECKING:
    from headrace.fronts.dstreams.context import StreamingContext

_RESTART = 2000  # milliseconds


class Receiver:
    """A source of your own that pushes. Give an object of your class to `ssc.receiverStream`.

        class Lines(Receiver):
            def onStart(self):
                threading.Thread(target=self.receive, daemon=True).start()

            def onStop(self):
                pass

            def receive(self):
                with socket.create_connection(("localhost", 9999)) as there:
                    for line in there.makefile():
                        if self.isStopped():
                            return
                        self.store(line.rstrip())
                self.restart("the other side has ended")

    `storageLevel` is taken, and changes nothing: what is received is in the driver's memory until its batch is done.
    """

    _supervisor: Received | None = None

    def __init__(self, storageLevel: StorageLevel | None = None) -> None:
        self.storageLevel = storageLevel

    def onStart(self) -> None:
        """Begin to receive, in a thread of your own: this must return at once."""
        raise NotImplementedError

    def onStop(self) -> None:
        """Receive no more, and let go of what `onStart` took."""

    def store(self, data: Any) -> None:
        """Hand over one record; or many, as a list or an iterator. A list is stored when this returns: then acknowledge it at its
        source."""
        self._running("store").take(data)

    def isStarted(self) -> bool:
        """Whether it was started, and not stopped since."""
        return self._supervisor is not None and not self._supervisor.stopped.is_set()

    def isStopped(self) -> bool:
        """Whether to end."""
        return not self.isStarted()

    def restart(self, message: str, error: BaseException | None = None, millisecond: int = _RESTART) -> None:
        """Stop, and start again after a while, from a thread of its own. Listeners hear of it."""
        self._running("restart").restart(message, error, millisecond)

    def stop(self, message: str, error: BaseException | None = None) -> None:
        """Stop for good: the stream goes on, without this source."""
        self._running("stop").end(message, error)

    def reportError(self, message: str, throwable: BaseException | None = None) -> None:
        """Tell the listeners."""
        self._running("reportError").report(message, throwable)

    def _running(self, call: str) -> Received:
        if self._supervisor is None:
            raise DefinitionError(f"{call}: the receiver does not run", fix="give it to ssc.receiverStream(…) first", where=user_line())
        return self._supervisor

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_supervisor"}


class Received(Input):
    """A receiver and what it has handed over: blocks, each a partition of the batch that gets it."""

    kind = "receiverStream"
    counts = True
    transient = ("stopped", "blocks", "lock", "rate", "limiter", "log", "begun", "block", "number", "pending", "ssc")

    def __init__(self, ssc: StreamingContext, receiver: Receiver) -> None:
        super().__init__(ssc._interval)
        self.receiver = receiver

    def open(self, node: Node, last: Part | None) -> Part | None:
        self.ssc = ssc = node._ssc
        conf = ssc._sc.getConf()
        self.stopped, self.lock = threading.Event(), threading.Lock()
        self.rate = Rate(conf, self.slide, "spark.streaming.receiver.maxRate")
        self.limiter = Limiter(self.rate)
        self.blocks: list[tuple[int, list[Any]]] = []  # number and records
        self.pending: dict[int, list[Any]] = {}  # blocks of batches that have no RDD yet
        self.begun = 0.0  # when the last block began, if it takes single records
        self.block = _millis(conf.get("spark.streaming.blockInterval", "200ms") or "200ms") / 1000
        logged = conf.get("spark.streaming.receiver.writeAheadLog.enable", "false") == "true"
        self.log = ssc._journal.place(f"received-{ssc._key(node)}") if logged and ssc._journal else None
        self.number = 1 + max((number for part in self.parts.values() for number in part or []), default=-1)
        if self.log is not None:
            self._go_on(self.log)
        return None

    def _go_on(self, log: str) -> None:
        """What was stored, and is in no batch, comes in the next."""
        storage.make_private(log)
        taken = {number for part in self.parts.values() for number in part or []}
        for number in sorted(int(name) for name in storage.names(log) if name.isdigit()):
            self.number = max(self.number, number + 1)
            if number not in taken:
                self.blocks.append((number, self._read(number)))

    def start(self) -> None:
        """After all streams are ready."""
        self.receiver._supervisor = self
        self._tell("onReceiverStarted", "")
        threading.Thread(target=self._run, name=f"{type(self.receiver).__name__} starts", daemon=True).start()

    def _run(self) -> None:
        try:
            self.receiver.onStart()
        except Exception as error:  # whatever the user's code raises
            self.restart(f"onStart of {type(self.receiver).__name__} failed", error, _RESTART)

    def take(self, data: Any) -> None:
        many = isinstance(data, list | Iterator)
        records = list(data) if many else [data]
        if self.stopped.is_set() or not records:
            return
        self.limiter.pass_through(len(records), self.stopped)
        with self.lock:
            now = time.monotonic()
            if many or not self.begun or now - self.begun > self.block:
                self._flush()
                self.blocks.append((self.number, records))
                self.number += 1
                self.begun = 0.0 if many else now
                if many:
                    self._write(*self.blocks[-1])
            else:
                self.blocks[-1][1].extend(records)

    def _flush(self) -> None:
        """The block that takes single records takes no more."""
        if self.begun and self.blocks:
            self._write(*self.blocks[-1])
        self.begun = 0.0

    def _write(self, number: int, records: list[Any]) -> None:
        if self.log is not None:
            storage.write(f"{self.log}/{number}", cloudpickle.dumps(records))  # type: ignore[no-untyped-call]

    def _read(self, number: int) -> list[Any]:
        content = None if self.log is None else storage.read(f"{self.log}/{number}")
        return [] if content is None else list(pickle.loads(content))

    def part(self, time: int, node: Node) -> Part:
        with self.lock:
            self._flush()
            blocks, self.blocks = self.blocks, []
            self.pending.update(blocks)
        return [number for number, _ in blocks]

    def rdd(self, part: Part, node: Node) -> AnyRDD:
        sc = node._ssc._sc
        blocks = [self.pending.pop(number) if number in self.pending else self._read(number) for number in part]
        return sc.parallelize(blocks, max(1, len(blocks))).flatMap(lambda block: block)

    def records(self, part: Part) -> int:
        return sum(len(self.pending.get(number, ())) for number in part)

    def forget(self, limit: int) -> None:
        entries = self.ssc._journal.entries if self.ssc._journal else {}
        done = [time for time in self.parts if time <= limit and (time not in entries or entries[time].done)]  # others are run again
        gone = [number for time in done for number in self.parts[time] or []]
        super().forget(limit)
        for number in gone if self.log is not None else []:
            storage.delete(f"{self.log}/{number}")

    def completed(self, part: Part, records: int, processing: int, scheduling: int, now: int) -> None:
        self.rate.completed(now, records, processing, scheduling)

    def waiting(self) -> bool:
        return bool(self.blocks)

    def close(self) -> None:
        if not self.stopped.is_set():
            self.end("the StreamingContext was stopped", None)

    def end(self, message: str, error: BaseException | None) -> None:
        self.stopped.set()
        self._stop_user()
        self._tell("onReceiverStopped", message, error)

    def _stop_user(self) -> None:
        try:
            self.receiver.onStop()
        except Exception as error:
            self.report(f"onStop of {type(self.receiver).__name__} failed", error)

    def restart(self, message: str, error: BaseException | None, milliseconds: int) -> None:
        self.report(message, error)

        def again() -> None:
            self._stop_user()
            if not self.stopped.wait(milliseconds / 1000):
                self._tell("onReceiverStarted", "")
                self._run()

        threading.Thread(target=again, name=f"{type(self.receiver).__name__} restarts", daemon=True).start()

    def report(self, message: str, error: BaseException | None) -> None:
        self._tell("onReceiverError", message, error)

    def _tell(self, event: str, message: str, error: BaseException | None = None) -> None:
        self.ssc._listeners.receiver(event, type(self.receiver).__name__, message, error)


def _millis(setting: str) -> float:
    """Of a time as Spark's settings have it: `200ms`, `1s`, `200`."""
    number = setting.strip().lower()
    return float(number[:-2]) if number.endswith("ms") else float(number[:-1]) * 1000 if number.endswith("s") else float(number)


class SocketReceiver(Receiver):
    """Lines of text, or what a converter makes of the bytes, from a TCP address. When the other side ends, it connects again."""

    def __init__(self, host: str, port: int, converter: Any = None) -> None:
        super().__init__()
        self.host, self.port, self.converter = host, int(port), converter
        self._connection: socket.socket | None = None

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_connection": None}

    def onStart(self) -> None:
        threading.Thread(target=self._receive, name=f"socket {self.host}:{self.port}", daemon=True).start()

    def onStop(self) -> None:
        if self._connection is not None:
            with suppress(OSError):
                self._connection.shutdown(socket.SHUT_RDWR)

    def _receive(self) -> None:
        where = f"{self.host}:{self.port}"
        try:
            with socket.create_connection((self.host, self.port), timeout=10) as self._connection:
                self._connection.settimeout(None)
                with self._connection.makefile("rb") as stream:
                    for record in self.converter(stream) if self.converter else map(_line, stream):
                        if self.isStopped():
                            return
                        self.store(iter([record]) if isinstance(record, list) else record)
            if not self.isStopped():
                self.restart(f"{where} has no more data")
        except HeadraceError:
            raise
        except Exception as error:
            if not self.isStopped():
                self.restart(f"{where} cannot be read", error)


def _line(content: bytes) -> str:
    return content.rstrip(b"\r\n").decode("utf-8", errors="replace")
