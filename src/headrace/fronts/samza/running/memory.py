"""The test runner: streams in memory, bounded, without a broker. It runs the very scan that a job on Kafka runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, ClassVar, Literal

from pyspark.sql import Row

from headrace.errors import pointing_at, user_line
from headrace.fronts import read
from headrace.fronts.samza.applications.descriptors import StreamDescriptor
from headrace.fronts.samza.applications.programs import Application, Stage, application
from headrace.fronts.samza.config import refused
from headrace.fronts.samza.messages import KV
from headrace.fronts.samza.running import stages
from headrace.fronts.samza.running.host import StreamSpec
from headrace.fronts.samza.serdes import SerializableSerde
from headrace.fronts.samza.stores import StoreSpec
from headrace.job import Job
from headrace.planning.triggers import once

Messages = Sequence[Any] | Mapping[int, Sequence[Any]]
Named = StreamDescriptor | str

_PICKLE = SerializableSerde()
_START = datetime(1970, 1, 1, tzinfo=UTC)


class TestRunner:
    """Runs a task or an application over lists.

        TestRunner.of(MyTask).addInputStream("in", [1, 2, 3]).addOutputStream("out", 1).run()
        TestRunner.consumeStream("out")

    Streams are named by their descriptors, or as text. Messages are Python objects: serdes of streams are not used, those of stores are.
    """

    __test__ = False  # for pytest, it is no test
    _streams: ClassVar[dict[str, dict[int, list[Any]]]] = {}

    def __init__(self, program: Any) -> None:
        self._program = program
        self._config: dict[str, Any] = {"job.name": "test"}
        self._inputs: dict[str, dict[int, list[tuple[datetime, Any]]]] = {}
        self._outputs: dict[str, int] = {}
        self._named: dict[str, str] = {}
        self._stores: dict[str, dict[str, dict[Any, Any]]] = {}

    @staticmethod
    def of(program: Any) -> TestRunner:
        """Of the class of a task, or an application or its class."""
        return TestRunner(program)

    def addInputStream(self, stream: Named, messages: Messages, interval: timedelta | None = None) -> TestRunner:
        """A stream with these messages: a list is one partition, a dict has one list for each. A `KV` is a key with its message.
        They arrive at once, or one every `interval`: that is the clock of windows in a batch."""
        partitions = messages if isinstance(messages, Mapping) else {0: messages}
        if not partitions or isinstance(messages, str | bytes):
            raise refused(f"addInputStream: {messages!r} are no messages", "give a list, or {partition: list}")
        step = interval or timedelta(0)
        self._inputs[self._name(stream)] = {
            number: [(_START + i * step, message) for i, message in enumerate(partitions[number])] for number in sorted(partitions)
        }
        return self

    def addOutputStream(self, stream: Named, partitions: int = 1) -> TestRunner:
        """A stream to send to."""
        self._outputs[self._name(stream)] = partitions
        return self

    def addConfig(self, key: str | Mapping[str, Any], value: Any = None) -> TestRunner:
        """A setting, or a dict of them."""
        self._config.update(key if isinstance(key, Mapping) else {key: value})
        return self

    def run(self, duration: timedelta | None = None, *, mode: Literal["batch", "micro-batch"] = "batch") -> TestRunner:
        """Run to the end of the input. As micro-batch the messages come in two batches; what goes by the clock goes by the real one, and
        there is no end of stream. (A duration, which Samza waits at most, is taken and not needed.)"""
        app = self._application()
        streams = {name: {number: list(arrived) for number, arrived in partitions.items()} for name, partitions in self._inputs.items()}
        counts = {name: max(partitions) + 1 for name, partitions in streams.items()}
        most = max(counts.values())
        counts.update(self._outputs)
        counts.update(dict.fromkeys(app.intermediates, most))
        sent: list[Row] = []
        for number, stage in enumerate(app.stages):
            self._refuse_circles(stage)
            logged = replace(stage, stores=tuple(replace(store, changelog=store.changelog or _own(store)) for store in stage.stores))
            rows = self._stage(app, logged, f"{app.config.job}-{number}", streams, counts, mode)
            for name in stage.feeds:
                streams[name] = _partitions(rows, name, counts[name], app.intermediates[name].broadcast)
            sent += rows
            self._stores.update({store.name: _folded(store, rows) for store in logged.stores})
        for name in counts.keys() - self._inputs.keys() - app.intermediates.keys():
            arrived = _partitions(sent, name, counts[name])
            TestRunner._streams[name] = {number: [message for _, message in each] for number, each in arrived.items()}
        logs = {store.changelog for stage in app.stages for store in stage.stores if store.changelog}
        TestRunner._streams.update({log: _log(sent, log) for log in logs})
        return self

    @staticmethod
    def consumeStream(stream: Named, timeout: timedelta | None = None) -> dict[int, list[Any]]:
        """What the last run sent to a stream: {partition: messages}, in order. Of a stream that got keys, KVs."""
        name = stream if isinstance(stream, str) else stream.streamId
        if name not in TestRunner._streams:
            there = ", ".join(sorted(TestRunner._streams)) or "none"
            raise refused(f"consumeStream: no run has written a stream {name!r}", f"add it with addOutputStream; there is {there}")
        return TestRunner._streams[name]

    def getStore(self, name: str) -> dict[str, dict[Any, Any]]:
        """A store after the run: for each task, `Partition 0` and so on, its entries."""
        if name not in self._stores:
            raise refused(f"getStore: the run had no store {name!r}", f"there is {', '.join(self._stores) or 'none'}")
        return self._stores[name]

    # -- how ---------------------------------------------------------------------------------------------------------------------------

    def _name(self, stream: Named) -> str:
        name = stream if isinstance(stream, str) else getattr(stream, "streamId", None)
        if not isinstance(name, str):
            raise refused(f"{stream!r} is no stream", "give a descriptor, or the name of a stream")
        if not isinstance(stream, str):
            self._named[name] = stream.system
        return name

    def _application(self) -> Application:
        config = dict(self._config)
        asked = "task.inputs" in config or "task.broadcast.inputs" in config
        if not asked and not hasattr(self._program, "describe"):
            system = config.get("job.default.system", "kafka")
            config["task.inputs"] = ",".join(f"{self._named.get(name, system)}.{name}" for name in self._inputs)
        app = application(self._program, config)
        for name in (name for stage in app.stages for name in stage.inputs):
            if name not in self._inputs and name not in app.intermediates:
                raise refused(f"the test has no messages for the stream {name!r}", f"addInputStream({name!r}, [])")
        return app

    def _refuse_circles(self, stage: Stage) -> None:
        if loops := [name for name in stage.feeds if name in stage.inputs]:
            raise refused(
                f"the stream {loops[0]!r} leads back to the tasks that write it",
                "a batch cannot wait for it: put a stream of its own between them, or run it on Kafka as a stream",
            )

    def _stage(
        self,
        app: Application,
        stage: Stage,
        name: str,
        streams: Mapping[str, Mapping[int, list[Any]]],
        counts: Mapping[str, int],
        mode: Any,
    ) -> list[Row]:
        """What the tasks of a stage send."""
        own = [store.changelog for store in stage.stores if store.changelog is not None]
        outputs = {
            each: StreamSpec(app.system(each), _PICKLE, _PICKLE, counts.get(each, 1)) for each in (*counts, *own, *app.intermediates)
        }
        what = stages.spec(app, stage, outputs=outputs, control=None, memory=True)
        tasks = max(counts[each] for each, stream in stage.inputs.items() if stream.broadcast is None)
        inputs = {
            each: replace(stream, broadcast=frozenset()) if each in app.intermediates and app.intermediates[each].broadcast else stream
            for each, stream in stage.inputs.items()
        }
        rows = [(each, *row) for each in stage.inputs for row in _rows(streams[each])]
        first = Counter({(each, number): (len(sent) + 1) // 2 for each in stage.inputs for number, sent in streams[each].items()})
        halves = [[row for row in rows if (row[2] < first[row[0], row[1]]) is early] for early in (True, False)]
        with pointing_at(app.where or user_line()):
            source = read.memory(stages.MESSAGE, *(halves if mode == "micro-batch" else [rows]))
            output = source.then(partial(stages.run, what=what, inputs=inputs, tasks=tasks)).to.memory()
            Job(name, output).run(mode, trigger=once if mode == "micro-batch" else None)
        sent: list[Row] = output.sink.rows  # type: ignore[attr-defined]
        return sorted(sent, key=lambda row: row["at"])


def _rows(partitions: Mapping[int, Iterable[tuple[datetime, Any]]]) -> list[tuple[Any, ...]]:
    return [
        (number, offset, *_pair(message), at, offset)
        for number, messages in partitions.items()
        for offset, (at, message) in enumerate(messages)
    ]


def _pair(message: Any) -> tuple[bytes | None, bytes | None]:
    key, value = message if isinstance(message, KV) else (None, message)
    return (*(None if part is None else _PICKLE.toBytes(part) for part in (key, value)),)  # type: ignore[return-value]


def _partitions(rows: Iterable[Row], stream: str, count: int, broadcast: bool = False) -> dict[int, list[tuple[datetime, Any]]]:
    """What was sent to a stream, as the messages of its partitions, with the time of each."""
    by_partition: dict[int, list[tuple[datetime, Any]]] = {number: [] for number in range(1 if broadcast else count)}
    for row in rows:
        if row["stream"] == stream:
            key, value = (None if part is None else _PICKLE.fromBytes(bytes(part)) for part in (row["key"], row["message"]))
            number = 0 if broadcast else row["partition"]
            by_partition[number].append((_START + timedelta(milliseconds=row["at"]), value if key is None else KV(key, value)))
    return by_partition


def _own(store: StoreSpec) -> str:
    """A changelog that the runner adds, to look at the store."""
    return f"store of {store.name}"


def _folded(store: StoreSpec, rows: Iterable[Row]) -> dict[str, dict[Any, Any]]:
    stores: dict[str, dict[Any, Any]] = {}
    for row in rows:
        if row["stream"] == store.changelog:
            entries = stores.setdefault(f"Partition {row['partition']}", {})
            key = store.key.fromBytes(bytes(row["key"]))
            if row["message"] is None:
                entries.pop(key, None)
            else:
                entries[key] = store.value.fromBytes(bytes(row["message"]))
    return stores


def _log(rows: Iterable[Row], log: str) -> dict[int, list[Any]]:
    """A changelog as bytes, which is how it is in a topic."""
    by_partition: dict[int, list[Any]] = {}
    for row in rows:
        if row["stream"] == log:
            message = None if row["message"] is None else bytes(row["message"])
            by_partition.setdefault(row["partition"], []).append(KV(bytes(row["key"]), message))
    return by_partition


class StreamAssert:
    """What a test says of a stream: that it holds these messages and no others, in order within each partition, or in any order."""

    @staticmethod
    def containsInOrder(expected: Messages, stream: Named, timeout: timedelta | None = None) -> None:
        """A list is for the whole stream, partition by partition; a dict for each partition."""
        consumed = TestRunner.consumeStream(stream, timeout)
        if isinstance(expected, Mapping):
            assert {number: each for number, each in consumed.items() if each} == {
                number: [*each] for number, each in expected.items() if each
            }
        else:
            assert [message for number in sorted(consumed) for message in consumed[number]] == [*expected]

    @staticmethod
    def containsInAnyOrder(expected: Messages, stream: Named, timeout: timedelta | None = None) -> None:
        """The same messages, however they are ordered within a partition."""
        consumed = TestRunner.consumeStream(stream, timeout)
        if isinstance(expected, Mapping):
            assert {number: _bag(each) for number, each in consumed.items() if each} == {
                n: _bag(each) for n, each in expected.items() if each
            }
        else:
            assert _bag(message for each in consumed.values() for message in each) == _bag(expected)


def _bag(messages: Iterable[Any]) -> Counter[str]:
    return Counter(map(repr, messages))
