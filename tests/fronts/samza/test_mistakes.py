"""Mistakes are told in Samza's words, at the line of the program, before anything starts, or where it runs."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.errors import DefinitionError, JobError
from headrace.fronts.samza.messages import java_hash
from headrace.fronts.samza.stores import KeyValueStore, StoreSpec
from headrace.kernel.python.worker.maps import EntryMap
from headrace.samza import (
    InitableTask,
    IntegerSerde,
    JsonSerde,
    KafkaSystemDescriptor,
    LocalApplicationRunner,
    OutgoingMessageEnvelope,
    SamzaException,
    StreamApplication,
    StreamTask,
    StringSerde,
    SystemStream,
    TestRunner,
    Windows,
)  # fmt: skip


class Idle(StreamTask):
    def process(self, envelope: Any, collector: Any, coordinator: Any) -> None:
        pass


BASE = {"job.name": "wrong", "task.inputs": "kafka.in"}


@pytest.mark.parametrize(
    ("program", "config", "what", "fix"),
    [
        (Idle, {"task.inputs": "kafka.in"}, "the job has no name", "job.name"),
        (Idle, {"job.name": "x"}, "reads no stream", "task.inputs"),
        (Idle, {**BASE, "task.windows.ms": 5}, "no setting 'task.windows.ms'", "did you mean 'task.window.ms'?"),
        (Idle, {**BASE, "stores.s.key.serd": "string"}, "no setting 'stores.s.key.serd'", "did you mean 'stores.s.key.serde'?"),
        (Idle, {**BASE, "task.window.ms": "soon"}, "task.window.ms='soon' is no whole number", "milliseconds"),
        (Idle, {**BASE, "task.window.ms": 5}, "but Idle has no window", "window(self, collector, coordinator)"),
        (Idle, {**BASE, "stores.s.key.serde": "string"}, "stores.s.msg.serde is not given", "string, integer"),
        (Idle, {**BASE, "stores.s.key.serde": "strin"}, "there is no serde 'strin'", "string, integer"),
        (Idle, {**BASE, "task.chooser.class": "x.Y"}, "which message is next is up to Spark", "samza.priority"),
        (Idle, {**BASE, "streams.in.samza.reset.offset": True}, "saved together", "job.id"),
        (Idle, {**BASE, "task.broadcast.inputs": "kafka.rules"}, "names no partition", "kafka.rules#0"),
        (Idle, {**BASE, "systems.other.samza.factory": "x"}, "several systems: kafka, other", "name one"),
        (Idle, {**BASE, "streams.in.samza.offset.default": "newest"}, "is no position", "oldest"),
        (object, BASE, "object has no process", "see StreamTask"),
        (7, BASE, "7 is neither a task nor an application", "StreamTask"),
    ],
)
def test_a_wrong_setting_is_refused_at_its_line(program: Any, config: dict[str, Any], what: str, fix: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        LocalApplicationRunner(program, config)
    assert what in refused.value.what
    assert fix in refused.value.fix
    assert str(refused.value.where).startswith(__file__)


def describing(describe: Any) -> StreamApplication:
    class Described(StreamApplication):
        def describe(self, app: Any) -> None:
            stream = app.getInputStream(KafkaSystemDescriptor("kafka").getInputDescriptor("in", JsonSerde()))
            describe(app, stream)

    return Described()


@pytest.mark.parametrize(
    ("describe", "what", "fix"),
    [
        (lambda app, stream: stream.map(lambda: 1), "map: the function cannot be called with (message)", "these parameters"),
        (lambda app, stream: stream.filter(3), "filter: 3 is no function", "apply"),
        (lambda app, stream: stream.sendTo("out"), "sendTo: 'out' is no OutputStream", "getOutputStream"),
        (lambda app, stream: stream.partitionBy(str, str), "partitionBy: there is no id", "topic"),
        (lambda app, stream: [stream.partitionBy(str, str, "x") for _ in "ab"], "two with the id 'x'", "each its own"),
        (lambda app, stream: stream.window("1 hour"), "window: '1 hour' is no Window", "Windows.tumblingWindow"),
        (lambda app, stream: stream.window(Windows.tumblingWindow("soon")), "'soon' is not a duration", "10 seconds"),
        (lambda app, stream: stream.join(stream, lambda a, b: a), "there is no ttl or no id", "timedelta"),
        (lambda app, stream: app.getInputStream(KafkaSystemDescriptor().getInputDescriptor("in")), "'in' is read already", "first call"),
        (lambda app, stream: KafkaSystemDescriptor().getInputDescriptor("x", JsonSerde), "is no serde", "an instance"),
    ],
)
def test_a_wrong_description_is_refused_at_its_line(describe: Any, what: str, fix: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        LocalApplicationRunner(describing(describe), {"job.name": "wrong"})
    assert what in refused.value.what
    assert fix in refused.value.fix
    assert str(refused.value.where).startswith(__file__)


@pytest.fixture
def store() -> KeyValueStore:
    store = KeyValueStore(StoreSpec("s", "store_s", StringSerde(), IntegerSerde(), "log"))
    store._open(EntryMap(0, lambda *_: []))  # of which the kernel has nothing
    return store


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda store: store.put(None, 1), "store 's': put: the key is null"),
        (lambda store: store.put("a", None), "store 's': put: the value of 'a' is null"),
        (lambda store: store.get(None), "store 's': get: the key is null"),
        (lambda store: store.put(5, 1), "the serde string cannot write 5 (int)"),
        (lambda store: store.put("a", 2**31), "the serde integer cannot write 2147483648"),
    ],
)
def test_null_and_what_a_serde_cannot_write_are_errors(store: KeyValueStore, call: Any, what: str) -> None:
    with pytest.raises(SamzaException) as refused:
        call(store)
    assert refused.value.what.startswith(what)
    assert str(refused.value.line).startswith(__file__)


def test_a_store_is_ordered_by_the_bytes_of_its_keys_and_writes_every_change(store: KeyValueStore) -> None:
    store.putAll({"b": 2, "a": 1, "é": 4, "c": 3})
    store.delete("b")
    store.deleteAll(["x", "c"])
    assert list(store.all()) == [("a", 1), ("é", 4)]
    assert [entry.key for entry in store.range("a", "é")] == ["a"]
    assert store.getAll(["a", "b"]) == {"a": 1}
    iterator = store.all()
    assert [iterator.hasNext(), iterator.next().getKey(), iterator.next().getValue(), iterator.hasNext()] == [True, "a", 4, False]
    assert [(key, value is None) for key, value in store._changes] == [
        (b"b", False), (b"a", False), ("é".encode(), False), (b"c", False), (b"b", True), (b"x", True), (b"c", True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "hashed"), [("", 0), ("a", 97), ("hello", 99162322), ("Aa", 2112), (7, 7), (True, 1231), (-(2**40), -256), (None, 0)]
)
def test_partition_keys_are_hashed_as_java_does(value: Any, hashed: int) -> None:
    assert java_hash(value) == hashed


class Misused(StreamTask, InitableTask):
    """Does what its message says."""

    def init(self, context: Any) -> None:
        self.context, self.kept = context, None

    def process(self, envelope: Any, collector: Any, coordinator: Any) -> None:
        match envelope.getMessage():
            case "store":
                self.context.getTaskContext().getStore("nope")
            case "stream":
                collector.send(OutgoingMessageEnvelope(SystemStream("kafka", "nope"), 1))
            case "scope":
                coordinator.shutdown("all")
            case "raw":
                collector.send("text")


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("message", "what"),
    [("store", "there is no store 'nope'"), ("stream", "there is no stream kafka.nope"),
     ("scope", "'all' is no scope"), ("raw", "'text' is no envelope")],
)  # fmt: skip
def test_what_a_task_does_wrong_is_told_at_its_line(message: str, what: str) -> None:
    with pytest.raises(JobError) as failed:
        TestRunner.of(Misused).addInputStream("in", [message]).addOutputStream("out", 1).run()
    assert what in failed.value.what
    assert str(failed.value.where).startswith(__file__)
