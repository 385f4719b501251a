"""Files, sockets, receivers, logs with positions; and how fast they may be."""

from __future__ import annotations

import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkConf

from headrace.dstreams import ManualClock, Receiver, StreamingContext, StreamingListener
from headrace.errors import DefinitionError
from headrace.fronts.dstreams.sources.rates import Limiter, Rate, RateEstimator
from headrace.io.receiver import Receiver as Log

START = 1_000_000


def put(directory: Path, name: str, content: bytes, at: float) -> None:
    """A file as if it had been moved in at this second after the start."""
    file = directory / name
    file.write_bytes(content)
    os.utime(file, (START + at, START + at))


def collected(stream: Any) -> list[Any]:
    out: list[Any] = []
    stream.foreachRDD(lambda rdd: out.append(sorted(rdd.collect())))
    return out


def test_a_file_is_in_the_first_batch_after_it_came(ssc: StreamingContext, clock: ManualClock, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    put(folder, "before", b"old\n", -1)
    lines = collected(ssc.textFileStream(str(folder)))
    records = collected(ssc.binaryRecordsStream(str(folder), 2).map(bytes))
    pairs = collected(ssc.fileStream(str(folder), filter=lambda path: path.endswith("a,{1}")))
    ssc.start()
    put(folder, "a,{1}", b"xy\nz1\n", 0.5)  # the name is no pattern
    put(folder, ".hidden", b"no\n", 0.5)
    clock.advance(1)
    put(folder, "b", b"w\n", 1.5)
    put(folder, "c", b"later\n", 2.5)
    clock.advance(2)
    ssc.awaitTerminationOrTimeout(0)
    assert lines == [["xy", "z1"], ["w"], ["later"]]
    assert records == [[b"\nz", b"1\n", b"xy"], [b"w\n"], [b"la", b"r\n", b"te"]]
    assert pairs == [[(0, "xy"), (3, "z1")], [], []]


def test_a_file_that_came_while_no_batch_ran_is_not_missed(ssc: StreamingContext, clock: ManualClock, tmp_path: Path) -> None:
    lines = collected(ssc.textFileStream(str(tmp_path / "in*")))
    ssc.start()
    clock.advance(1)
    (tmp_path / "in1").mkdir()  # a pattern, and a directory that comes later
    put(tmp_path / "in1", "a", b"a\n", 1.2)
    clock.advance(3)
    ssc.awaitTerminationOrTimeout(0)
    assert lines == [[], ["a"], [], []]


def test_lines_of_a_socket_come_in_the_next_batch(ssc: StreamingContext, clock: ManualClock) -> None:
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]

    def numbers(stream: Any) -> Iterator[int]:
        while content := stream.read(2):
            yield struct.unpack(">h", content)[0]

    lines, shorts = collected(ssc.socketTextStream("127.0.0.1", port)), collected(ssc.socketStream("127.0.0.1", port, numbers))
    inputs = [source for _, source in ssc._inputs()]
    ssc.start()
    for _ in range(2):
        there, _ = server.accept()
        there.sendall(b"ab\ncd\n")  # which is also three numbers
        there.close()
    wait_for(lambda: all(source.waiting() for source in inputs) and sum(len(b) for _, b in inputs[1].blocks) == 3)  # type: ignore[attr-defined]
    wait_for(lambda: sum(len(b) for _, b in inputs[0].blocks) == 2)  # type: ignore[attr-defined]
    clock.advance(1)
    server.close()
    assert lines == [["ab", "cd"]]
    assert shorts == [sorted(struct.unpack(">3h", b"ab\ncd\n"))]


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


class Given(Receiver):
    """Stores what the test gives it; fails at its first start if asked to."""

    def __init__(self, failures: int = 0) -> None:
        super().__init__()
        self.failures, self.starts, self.stops = failures, 0, 0

    def onStart(self) -> None:  # noqa: N802
        self.starts += 1
        if self.starts <= self.failures:
            raise OSError("no line")

    def onStop(self) -> None:  # noqa: N802
        self.stops += 1


def test_a_receiver_stores_one_record_a_list_or_an_iterator(ssc: StreamingContext, clock: ManualClock) -> None:
    given = Given()
    out = collected(ssc.receiverStream(given).map(lambda record: record[1] if isinstance(record, tuple) else record))
    assert (given.isStarted(), given.isStopped()) == (False, True)
    ssc.start()
    assert given.isStarted()
    given.store("one")
    given.store(("a", "pair"))
    given.store(["two", "three"])
    given.store(f"{n}" for n in range(2))
    clock.advance(2)
    ssc.stop(stopSparkContext=False)
    given.store("too late")
    assert out == [["0", "1", "one", "pair", "three", "two"], []]
    assert (given.isStopped(), given.stops) == (True, 1)


def test_a_stop_in_good_order_runs_what_was_received(ssc: StreamingContext, clock: ManualClock) -> None:
    given = Given()
    out = collected(ssc.receiverStream(given))
    ssc.start()
    clock.advance(1)
    given.store(["last"])
    ssc.stop(stopSparkContext=False, stopGraceFully=True)
    assert out == [[], ["last"]]


def test_a_receiver_that_fails_is_started_again_and_listeners_hear_of_it(ssc: StreamingContext, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[tuple[str, str]] = []

    class Heard(StreamingListener):
        def onReceiverStarted(self, receiverStarted: Any) -> None:  # noqa: N802, N803
            heard.append(("started", receiverStarted.receiverInfo().name()))

        def onReceiverError(self, receiverError: Any) -> None:  # noqa: N802, N803
            heard.append(("error", receiverError.receiverInfo().lastError()))

        def onReceiverStopped(self, receiverStopped: Any) -> None:  # noqa: N802, N803
            heard.append(("stopped", receiverStopped.receiverInfo().lastErrorMessage()))

    monkeypatch.setattr("headrace.fronts.dstreams.sources.receivers._RESTART", 1)
    given = Given(failures=1)
    ssc.addStreamingListener(Heard())
    ssc.receiverStream(given).pprint()
    ssc.start()
    wait_for(lambda: given.starts == 2)
    given.stop("enough")
    assert heard == [("started", "Given"), ("error", "OSError('no line')"), ("started", "Given"), ("stopped", "enough")]


def test_a_receiver_must_run_before_it_stores() -> None:
    with pytest.raises(DefinitionError, match="does not run"):
        Given().store("x")


class Numbers(Log):
    """A log that grows with the test's clock: headrace's own kind of receiver."""

    schema = "n int"

    def end(self) -> int:
        return int(Path(os.environ["TEST_DSTREAMS_END"]).read_text())

    def read(self, start: int, end: int) -> Iterator[tuple[int]]:
        return ((n,) for n in range(start, end))


def test_a_log_with_positions_is_read_by_tasks(
    ssc: StreamingContext, clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_DSTREAMS_END", str(tmp_path / "end"))
    out = collected(ssc.receiverStream(Numbers()))
    ssc.start()
    for end in (3, 3, 5):
        (tmp_path / "end").write_text(str(end))
        clock.advance(1)
    assert out == [[(0,), (1,), (2,)], [], [(3,), (4,)]]


def test_the_rate_follows_how_fast_batches_are() -> None:
    estimator = RateEstimator(interval=1000, least=100)
    assert estimator.estimate(1000, 1000, 1000, 0) is None  # the first: 1000 records a second
    assert estimator.estimate(2000, 1000, 2000, 0) == 500  # half as fast: the rate is that of the batch
    assert estimator.estimate(3000, 1000, 1000, 1000) == 1000 - 0.2 * 1000  # as fast as that, less a fifth of what piled up
    assert estimator.estimate(4000, 0, 0, 0) is None
    assert estimator.estimate(5000, 1, 1000, 60_000) == 100  # never less than the least


@pytest.mark.parametrize(
    ("settings", "first", "then"),
    [
        ({}, None, None),
        ({"maxRate": "50"}, 50, 50),
        ({"backpressure.enabled": "true"}, None, 500),
        ({"backpressure.enabled": "true", "backpressure.initialRate": "70"}, 70, 500),
        ({"backpressure.enabled": "true", "maxRate": "200"}, 200, 200),
    ],
)
def test_the_rate_is_that_of_sparks_settings(settings: dict[str, str], first: float | None, then: float | None) -> None:
    conf = SparkConf(loadDefaults=False).setAll([(f"spark.streaming.{name}", value) for name, value in settings.items()])
    rate = Rate(conf, 1000, "spark.streaming.maxRate")
    assert rate.current == first
    rate.completed(1000, 1000, 1000, 0)
    rate.completed(2000, 1000, 2000, 0)
    assert rate.current == then


def test_a_receiver_waits_for_its_turn() -> None:
    rate = Rate(SparkConf(loadDefaults=False).set("cap", "100"), 1000, "cap")
    limiter, begun = Limiter(rate), time.monotonic()
    for _ in range(6):
        limiter.pass_through(1, threading.Event())
    assert time.monotonic() - begun >= 0.049  # five intervals of a hundredth of a second
