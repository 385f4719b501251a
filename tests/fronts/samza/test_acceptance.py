"""Samza's own cases and the talk's programs, through the test runner: as a batch, and as micro-batches."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from headrace import samza
from headrace.errors import JobError
from headrace.samza import (
    KV,
    AsyncStreamTask,
    EndOfStreamListenerTask,
    InitableTask,
    InMemorySystemDescriptor,
    IntegerSerde,
    JsonSerde,
    KVSerde,
    MessageStream,
    NoOpSerde,
    OutgoingMessageEnvelope,
    RocksDbTableDescriptor,
    StreamApplication,
    StreamAssert,
    StreamTask,
    SystemStream,
    TaskApplication,
    TestRunner,
    WindowableTask,
    Windows,
)  # fmt: skip

pytestmark = pytest.mark.usefixtures("spark")
each_mode = pytest.mark.parametrize("mode", ["batch", "micro-batch"])

OUT = SystemStream("kafka", "out")
LINES = ["NE Scala 2016 Apache Apache Spark", "Storm Apache Trident Flink", "Streaming Samza Scala 2016 Streaming"]
TABLE = {"Apache": 3, "Streaming": 2, "Scala": 2, "2016": 2, "Spark": 1, "Storm": 1, "Trident": 1, "Flink": 1, "Samza": 1, "NE": 1}
COUNTS = {"stores.wordcount-store.key.serde": "string", "stores.wordcount-store.msg.serde": "integer"}


class TimesTen(StreamTask):
    def process(self, envelope: Any, collector: Any, coordinator: Any) -> None:
        message = envelope.getMessage()
        if not isinstance(message, int):
            raise TypeError(f"{message!r} is no whole number")
        collector.send(
            OutgoingMessageEnvelope(OUT, envelope.getSystemStreamPartition().getPartition().getPartitionId(), None, message * 10)
        )


def test_each_message_times_ten_in_order() -> None:
    TestRunner.of(TimesTen).addInputStream("in", [1, 2, 3, 4, 5]).addOutputStream("out", 1).run()
    StreamAssert.containsInOrder([10, 20, 30, 40, 50], "out")


def test_five_partitions_are_five_tasks_each_in_order() -> None:
    messages = {number: [number, number + 100, number + 200] for number in range(5)}
    TestRunner.of(TimesTen).addInputStream("in", messages).addOutputStream("out", 5).run(mode="micro-batch")
    StreamAssert.containsInOrder({number: [message * 10 for message in each] for number, each in messages.items()}, "out")


class TimesTenLater(AsyncStreamTask, InitableTask):
    def init(self, context: Any) -> None:
        self.pool = ThreadPoolExecutor(2)  # which cannot be pickled, and so is made in each process

    def processAsync(self, envelope: Any, collector: Any, coordinator: Any, callback: Any) -> None:
        def work() -> None:
            collector.send(OutgoingMessageEnvelope(OUT, envelope.getMessage() * 10))
            callback.complete()

        self.pool.submit(work)


class TimesTenAwaited(AsyncStreamTask):
    async def processAsync(self, envelope: Any, collector: Any, coordinator: Any, callback: Any) -> None:
        collector.send(OutgoingMessageEnvelope(OUT, envelope.getMessage() * 10))
        callback.complete()


@pytest.mark.parametrize("task", [TimesTenLater, TimesTenAwaited])
def test_an_asynchronous_task_gives_the_same_five(task: Any) -> None:
    TestRunner.of(task).addInputStream("in", [1, 2, 3, 4, 5]).addOutputStream("out", 1).run()
    StreamAssert.containsInAnyOrder([10, 20, 30, 40, 50], "out")


class NeverDone(AsyncStreamTask):
    def processAsync(self, envelope: Any, collector: Any, coordinator: Any, callback: Any) -> None:
        pass


def test_a_callback_that_does_not_come_in_time_ends_the_job() -> None:
    runner = TestRunner.of(NeverDone).addInputStream("in", [1]).addConfig("task.callback.timeout.ms", 20)
    with pytest.raises(JobError) as failed:
        runner.run()
    assert "did not call callback.complete() within 20 ms" in failed.value.what


def test_an_exception_ends_the_job_at_the_line_that_raised_it() -> None:
    with pytest.raises(JobError) as failed:
        TestRunner.of(TimesTen).addInputStream("in", [1, 2.5]).addOutputStream("out", 1).run()
    assert "2.5 is no whole number" in failed.value.what
    assert str(failed.value.where).startswith(__file__)


class WordsOfAMessage(StreamTask):
    def process(self, envelope: Any, collector: Any, coordinator: Any) -> None:
        counts: dict[str, int] = {}
        for word in envelope.getMessage().split(" "):
            counts[word] = counts.get(word, 0) + 1
        collector.send(samza.OutgoingMessageEnvelope(samza.SystemStream("kafka", "wordcount"), counts))  # by the name of the module, too


def test_the_talks_stateless_task_counts_within_a_message() -> None:
    TestRunner.of(WordsOfAMessage).addInputStream("text", ["Apache Apache Spark", "Apache"]).addOutputStream("wordcount", 1).run()
    StreamAssert.containsInOrder([{"Apache": 2, "Spark": 1}, {"Apache": 1}], "wordcount")


class WordCountTask(StreamTask, InitableTask):
    def init(self, config: Any, context: Any) -> None:
        self.store = context.getStore("wordcount-store")

    def process(self, envelope: Any, collector: Any, coordinator: Any) -> None:
        for word in envelope.getMessage().split(" "):
            count = self.store.get(word) or 0
            self.store.put(word, count + 1)
            collector.send(OutgoingMessageEnvelope(SystemStream("kafka", "wordcount"), (word, count)))


@each_mode
def test_the_talks_stateful_task_sends_the_count_before_it_increments(mode: Any) -> None:
    runner = TestRunner.of(WordCountTask).addConfig(COUNTS).addInputStream("text", LINES).addOutputStream("wordcount", 1).run(mode=mode)
    assert runner.getStore("wordcount-store") == {"Partition 0": TABLE}
    sent = TestRunner.consumeStream("wordcount")[0]
    assert [count for word, count in sent if word == "Apache"] == [0, 1, 2]
    assert dict(sent) == {word: count - 1 for word, count in TABLE.items()}


class WordCount(StreamApplication):
    """The talk's word count in the high-level API: totals that grow."""

    def describe(self, app: Any) -> None:
        memory = InMemorySystemDescriptor("test")
        lines = app.getInputStream(memory.getInputDescriptor("lines", NoOpSerde()))
        words = lines.flatMap(str.split).map(lambda word: KV(word, 1)).partitionBy(lambda kv: kv.key, lambda kv: kv.value, "word")
        counted = words.window(
            Windows.keyedTumblingWindow(lambda kv: kv.key, "1 hour", lambda: 0, lambda kv, total: total + kv.value), "count"
        )
        counted.map(lambda pane: (pane.key.key, pane.message)).sendTo(
            app.getOutputStream(memory.getOutputDescriptor("counts", NoOpSerde()))
        )


def test_the_talks_word_count_in_the_high_level_api_gives_the_talks_table() -> None:
    TestRunner.of(WordCount()).addInputStream("lines", {0: LINES[:1], 1: LINES[1:]}).addOutputStream("counts", 1).run()
    assert dict(TestRunner.consumeStream("counts")[0]) == TABLE


class Minutes(StreamTask, WindowableTask, EndOfStreamListenerTask):
    """Samza's usual first window: a plain field that counts."""

    def __init__(self) -> None:
        self.count = 0

    def process(self, envelope: Any, collector: Any, coordinator: Any) -> None:
        self.count += 1

    def window(self, collector: Any, coordinator: Any) -> None:
        collector.send(OutgoingMessageEnvelope(OUT, self.count))
        self.count = 0

    def onEndOfStream(self, collector: Any, coordinator: Any) -> None:
        collector.send(OutgoingMessageEnvelope(OUT, "end"))


def test_window_is_called_by_the_arrival_of_messages_in_a_batch_and_once_more_at_the_end() -> None:
    runner = TestRunner.of(Minutes).addInputStream("in", [*range(6)], interval=timedelta(seconds=25)).addOutputStream("out", 1)
    runner.addConfig("task.window.ms", 60_000).run()
    assert TestRunner.consumeStream("out")[0] == [3, 2, 1, "end"]  # at 60 s: those of 0, 25, 50; at 120 s: 75, 100; then the rest


def test_a_task_without_messages_is_told_of_the_end_too() -> None:
    TestRunner.of(Minutes).addInputStream("in", {0: [1], 2: []}).addOutputStream("out", 1).run()
    assert TestRunner.consumeStream("out")[0] == ["end", "end", "end"]


class Ordered(StreamTask):
    def process(self, envelope: Any, collector: Any, coordinator: Any) -> None:
        collector.send(OutgoingMessageEnvelope(OUT, envelope.getMessage()))


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, "aAbBc"),
        ({"streams.upper.samza.priority": 1}, "ABabc"),
        ({"streams.upper.samza.bootstrap": True, "streams.upper.samza.reset.offset": True, "streams.lower.samza.priority": 9}, "ABabc"),
    ],
    ids=["in turn", "a higher priority first", "a bootstrap stream before all"],
)
def test_which_message_is_next(config: dict[str, Any], expected: str) -> None:
    runner = TestRunner.of(Ordered).addInputStream("lower", [*"abc"]).addInputStream("upper", [*"AB"]).addOutputStream("out", 1)
    runner.addConfig(config).run()
    assert "".join(TestRunner.consumeStream("out")[0]) == expected


class Flagged(StreamTask):
    def process(self, envelope: Any, collector: Any, coordinator: Any) -> None:
        place = envelope.getSystemStreamPartition()
        collector.send(OutgoingMessageEnvelope(OUT, 0, None, f"{place.getStream()}{envelope.getMessage()}"))


def test_every_task_sees_a_broadcast_stream() -> None:
    runner = TestRunner.of(Flagged).addInputStream("in", {0: [0], 1: [1], 2: [2]}).addInputStream("rules", ["!"]).addOutputStream("out", 1)
    runner.addConfig({"task.inputs": "kafka.in", "task.broadcast.inputs": "kafka.rules#0"}).run()
    StreamAssert.containsInAnyOrder(["in0", "in1", "in2", "rules!", "rules!", "rules!"], "out")


class PageViews(StreamApplication):
    """Samza's own case: page views joined with a local table of profiles."""

    def describe(self, app: Any) -> None:
        memory = InMemorySystemDescriptor("test")
        profiles = app.getInputStream(memory.getInputDescriptor("profiles", NoOpSerde()).withBootstrap())
        views = app.getInputStream(memory.getInputDescriptor("views", NoOpSerde()))
        table = app.getTable(RocksDbTableDescriptor("profiles", KVSerde.of(IntegerSerde(), JsonSerde())))
        profiles.partitionBy(lambda profile: profile["member"], lambda profile: profile["company"], "profiles").sendTo(table)
        joined = views.partitionBy(lambda view: view["member"], lambda view: view["page"], "views").join(
            table, lambda view, profile: (view.key, view.value, profile and profile.value)
        )
        joined.sendTo(app.getOutputStream(memory.getOutputDescriptor("enriched", NoOpSerde())))


def test_ten_page_views_joined_with_a_local_table_are_ten_rows() -> None:
    profiles = [{"member": number, "company": f"company {number}"} for number in range(10)]
    views = [{"member": number, "page": f"page {number}"} for number in range(10)]
    runner = TestRunner.of(PageViews).addInputStream("profiles", {0: profiles[:5], 1: profiles[5:]}).addOutputStream("enriched", 2)
    runner.addInputStream("views", {0: views[3:], 1: views[:3]}).run()
    StreamAssert.containsInAnyOrder([(number, f"page {number}", f"company {number}") for number in range(10)], "enriched")


class Orders(StreamApplication):
    """A join of two streams: each meets the latest of the other that came less than ten seconds ago."""

    def describe(self, app: Any) -> None:
        memory = InMemorySystemDescriptor("test")
        orders, payments = (
            app.getInputStream(memory.getInputDescriptor(name, KVSerde.of(NoOpSerde(), NoOpSerde()))) for name in ("orders", "paid")
        )
        joined = orders.join(payments, lambda order, paid: (order.value, paid.value), timedelta(seconds=10), "paid")
        late = MessageStream.mergeAll(
            [joined.filter(lambda pair: pair[1] < 0), joined.map(lambda pair: pair).filter(lambda pair: pair[1] > 0)]
        )
        late.sendTo(app.getOutputStream(memory.getOutputDescriptor("out", NoOpSerde())))


@pytest.mark.parametrize(
    ("orders", "paid", "apart", "expected"),
    [
        ([("a", 1)], [("a", 10)], 0, [(1, 10)]),
        ([("a", 1), ("a", 2)], [("b", 10), ("b", 10), ("a", 30)], 3, [(2, 30)]),
        ([("a", 1)], [("b", 10), ("a", 20)], 10, []),
        ([("a", 1), ("b", 2)], [("a", 10), ("a", 20)], 4, [(1, 10), (1, 20)]),
    ],
    ids=["a pair", "only the latest", "ten seconds apart is too late", "one may meet several"],
)
def test_a_join_meets_the_latest_within_its_time(orders: Any, paid: Any, apart: int, expected: list[Any]) -> None:
    runner = TestRunner.of(Orders).addInputStream("orders", [KV(*each) for each in orders], timedelta(seconds=apart))
    runner.addInputStream("paid", [KV(*each) for each in paid], timedelta(seconds=apart)).addOutputStream("out", 1).run()
    assert TestRunner.consumeStream("out")[0] == expected


class Sums(StreamApplication):
    """Broadcast, sink and flatMapAsync."""

    def describe(self, app: Any) -> None:
        memory = InMemorySystemDescriptor("test")
        numbers = app.getInputStream(memory.getInputDescriptor("numbers", NoOpSerde()))

        async def twice(number: int) -> list[int]:
            return [number, number]

        def send(message: int, collector: Any, _: Any) -> None:
            collector.send(OutgoingMessageEnvelope(SystemStream("test", "out"), 0, None, message))

        numbers.flatMapAsync(twice).merge(numbers.map(lambda number: -number).broadcast("all").filter(lambda number: number % 2 == 0)).sink(
            send
        )


def test_broadcast_reaches_every_task() -> None:
    TestRunner.of(Sums).addInputStream("numbers", {0: [1], 1: [2]}).addOutputStream("out", 1).addConfig("job.default.system", "test").run()
    StreamAssert.containsInAnyOrder([1, 1, 2, 2, -2, -2], "out")


class Described(TaskApplication):
    def describe(self, app: Any) -> None:
        memory = InMemorySystemDescriptor("kafka")
        app.withInputStream(memory.getInputDescriptor("in")).withOutputStream(memory.getOutputDescriptor("out")).withTaskFactory(TimesTen)


def test_a_task_application_describes_its_streams_in_code() -> None:
    TestRunner.of(Described).addInputStream("in", [7]).addOutputStream("out", 1).run()
    StreamAssert.containsInOrder([70], "out")


class Point:
    def __init__(self, x: int) -> None:
        self.x = x


class Fields(StreamTask, InitableTask):
    """Fields of all kinds: plain, of a class of its own, a store in a dict, and one that cannot be pickled."""

    def init(self, context: Any) -> None:
        self.stores = {"seen": context.getTaskContext().getStore("seen")}
        self.lock = (number for number in range(3))
        self.point, self.started = Point(0), time.time()

    def process(self, envelope: Any, collector: Any, coordinator: Any) -> None:
        self.point.x += envelope.getMessage()
        self.stores["seen"].put(envelope.getMessage(), self.point.x)
        collector.send(OutgoingMessageEnvelope(OUT, (self.point.x, len(list(self.stores["seen"].all())))))


def test_fields_of_a_task_are_kept_from_batch_to_batch() -> None:
    runner = TestRunner.of(Fields).addInputStream("in", [1, 2, 3, 4]).addOutputStream("out", 1)
    runner.addConfig({"stores.seen.key.serde": "integer", "stores.seen.msg.serde": "json"}).run(mode="micro-batch")
    assert TestRunner.consumeStream("out")[0] == [(1, 1), (3, 2), (6, 3), (10, 4)]
