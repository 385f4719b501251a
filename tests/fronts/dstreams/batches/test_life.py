"""The life of a context: start, stop, failures, listeners, and what is refused."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkConf, SparkContext, cloudpickle
from pyspark.sql import SparkSession

import headrace.dstreams
from headrace.dstreams import (
    ManualClock,
    Milliseconds,
    Minutes,
    Receiver,
    Seconds,
    StreamingContext,
    StreamingContextState,
    StreamingListener,
)
from headrace.errors import DefinitionError, JobError
from headrace.fronts.dstreams.sources import kafka_tasks
from headrace.fronts.dstreams.streams import tasks


def test_the_names_of_pyspark_and_those_it_lacks_are_there() -> None:
    import pyspark.streaming

    ours = set(headrace.dstreams.__all__)
    assert {"StreamingContext", "DStream", "StreamingListener"} <= ours & set(pyspark.streaming.__all__)
    for name in ("StreamingContext", "DStream", "StreamingListener"):
        theirs = {each for each in vars(getattr(pyspark.streaming, name)) if not each.startswith("_")} - {"Java"}
        assert theirs <= set(dir(getattr(headrace.dstreams, name)))


def test_what_runs_in_tasks_needs_no_headrace_there(tmp_path: Path) -> None:
    functions = (tasks.stepped, tasks.packed, tasks.entries, tasks.mapped, kafka_tasks.fetched, kafka_tasks.sent, tasks.State)
    (tmp_path / "pickled").write_bytes(cloudpickle.dumps(functions))  # type: ignore[no-untyped-call]
    program = "import pickle, sys; sys.modules['headrace'] = None; print(len(pickle.load(open(sys.argv[1], 'rb'))))"
    command = [sys.executable, "-c", program, str(tmp_path / "pickled")]
    assert subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout == "7\n"


def test_durations_are_seconds() -> None:
    assert (Seconds(2), Minutes(2), Milliseconds(2)) == (2, 120, 0.002)


def test_a_context_is_made_from_what_has_a_spark_context(sc: SparkContext, spark: SparkSession) -> None:
    assert StreamingContext(spark, 1).sparkContext is StreamingContext(SparkConf(), 1).sparkContext is sc


def test_the_states_of_a_context(ssc: StreamingContext) -> None:
    states = [ssc.getState()]
    ssc.queueStream([]).pprint()
    assert StreamingContext.getActive() is None
    ssc.start()
    ssc.start()  # once is enough
    states.append(ssc.getState())
    assert StreamingContext.getActive() is ssc
    assert StreamingContext.getActiveOrCreate(None, lambda: pytest.fail("there is an active one")) is ssc
    assert ssc.awaitTerminationOrTimeout(0.001) is False
    ssc.stop(stopSparkContext=False)
    ssc.stop(stopSparkContext=False)
    assert ssc.awaitTerminationOrTimeout(0.001) is True
    assert StreamingContext.getActive() is None
    assert [*states, ssc.getState()] == list(StreamingContextState)


def test_the_spark_context_outlives_a_context_that_leaves_it(sc: SparkContext, ssc: StreamingContext) -> None:
    ssc.queueStream([[1]]).pprint()
    ssc.start()
    ssc.stop(stopSparkContext=False)
    assert sc.parallelize(range(5)).count() == 5


def _started(ssc: StreamingContext) -> Any:
    stream = ssc.queueStream([])
    stream.pprint()
    ssc.start()
    return stream


def _two(ssc: StreamingContext) -> None:
    _started(ssc)
    other = StreamingContext(ssc.sparkContext, 1)
    other.queueStream([]).pprint()
    other.start()


def _again(ssc: StreamingContext) -> None:
    _started(ssc)
    ssc.stop(stopSparkContext=False)
    ssc.start()


def _same_names(ssc: StreamingContext) -> None:
    ssc.queueStream([]).setName("a").pprint()
    ssc.queueStream([]).setName("a").pprint()
    ssc.start()


@pytest.mark.parametrize(
    ("wrong", "what", "fix"),
    [
        (lambda ssc: ssc.start(), "no output operation is registered", "pprint()"),
        (lambda ssc: _started(ssc).map(str), "transform: the StreamingContext is active, and nothing can be added", "before ssc.start()"),
        (lambda ssc: _started(ssc).pprint(), "pprint: the StreamingContext is active", "before ssc.start()"),
        (lambda ssc: (_started(ssc), ssc.remember(3)), "remember: the StreamingContext is active", "before ssc.start()"),
        (lambda ssc: (_started(ssc), ssc.checkpoint("x")), "checkpoint: the StreamingContext is active", "before ssc.start()"),
        (lambda ssc: ssc.awaitTermination(), "was not started", "ssc.start()"),
        (_two, "another StreamingContext is active: StreamingContext(active, every 1 s", "StreamingContext.getActive().stop"),
        (_again, "was stopped, and does not start again", "make a new one"),
        (_same_names, "two streams are named 'a'", "a name of its own"),
    ],
)  # fmt: skip
def test_a_wrong_turn_is_refused_at_its_line(ssc: StreamingContext, wrong: Any, what: str, fix: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        wrong(ssc)
    assert what in refused.value.what
    assert fix in refused.value.fix
    assert str(refused.value.where).startswith(__file__)


def test_state_without_a_directory_is_refused_before_the_start(sc: SparkContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkContext, "getCheckpointDir", lambda _: None)
    ssc = StreamingContext(sc, 1)
    ssc.queueStream([]).updateStateByKey(lambda values, _: values).pprint()
    with pytest.raises(DefinitionError) as refused:
        ssc.start()
    assert refused.value.what == "updateStateByKey needs a checkpoint directory, and none is set"
    assert ssc.getState() is StreamingContextState.INITIALIZED


def test_a_failed_batch_is_raised_where_one_waits_and_the_next_batches_come(ssc: StreamingContext, clock: ManualClock) -> None:
    def fail(element: int) -> int:
        if element == 1:
            raise ValueError("this one")
        return element

    out: list[Any] = []
    ssc.queueStream([[0], [1], [2], [3]]).map(fail).foreachRDD(lambda rdd: out.append(rdd.collect()))
    ssc.start()
    clock.advance(4)
    assert out == [[0], [2], [3]]
    with pytest.raises(JobError) as failed:
        ssc.awaitTermination()
    assert failed.value.what.startswith("the batch of 1970-01-12 13:46:42 failed in foreachRDD: ValueError: this one")
    assert str(failed.value.where).startswith(__file__)


def test_a_function_that_fails_on_the_driver_leaves_the_other_outputs(ssc: StreamingContext, clock: ManualClock) -> None:
    out: list[Any] = []
    numbers = ssc.queueStream([[1], [2]])
    numbers.transform(lambda _: 7).foreachRDD(lambda rdd: out.append(rdd))
    numbers.foreachRDD(lambda rdd: out.append(rdd.collect()))
    ssc.start()
    clock.advance(2)
    assert out == [[1], [2]]
    with pytest.raises(JobError, match="transform gave 7, which is no RDD"):
        ssc.awaitTerminationOrTimeout(1)


def test_batches_that_are_late_wait_and_none_is_left_out(sc: SparkContext) -> None:
    """By the machine's own clock: the first batch holds the others up."""
    ssc, times, enough = StreamingContext(sc, 0.05), [], threading.Event()

    def slow(time: Any, _: Any) -> None:
        if not times:
            threading.Event().wait(0.3)
        times.append(round(time.timestamp() * 1000))
        if len(times) == 8:
            enough.set()

    ssc.queueStream([]).foreachRDD(slow)
    ssc.start()
    assert enough.wait(60)
    ssc.stop(stopSparkContext=False)
    assert [time - times[0] for time in times[:8]] == list(range(0, 400, 50))
    assert times[0] % 50 == 0


class Heard(StreamingListener):
    def __init__(self) -> None:
        self.events: list[tuple[str, Any]] = []

    def onStreamingStarted(self, streamingStarted: Any) -> None:  # noqa: N802, N803
        self.events.append(("started", streamingStarted.time))

    def onBatchSubmitted(self, batchSubmitted: Any) -> None:  # noqa: N802, N803
        self.events.append(("submitted", batchSubmitted.batchInfo()))

    def onBatchStarted(self, batchStarted: Any) -> None:  # noqa: N802, N803
        self.events.append(("begun", batchStarted.batchInfo()))

    def onBatchCompleted(self, batchCompleted: Any) -> None:  # noqa: N802, N803
        self.events.append(("completed", batchCompleted.batchInfo()))

    def onOutputOperationCompleted(self, outputOperationCompleted: Any) -> None:  # noqa: N802, N803
        self.events.append(("output", outputOperationCompleted.outputOperationInfo()))
        raise RuntimeError("a listener's failure changes nothing")


class Given(Receiver):
    """Stores what the test gives it."""

    def onStart(self) -> None:  # noqa: N802
        pass


def test_a_listener_hears_of_each_batch(ssc: StreamingContext, clock: ManualClock) -> None:
    heard, given = Heard(), Given()
    ssc.addStreamingListener(heard)
    ssc.addStreamingListener(silent := Heard())
    ssc.removeStreamingListener(silent)
    ssc.receiverStream(given).foreachRDD(lambda rdd: 1 / rdd.count())
    ssc.start()
    given.store(["a", "b"])
    clock.advance(1)
    clock.advance(1)
    names = [name for name, _ in heard.events]
    assert names == ["started", *["submitted", "begun", "output", "completed"] * 2]
    submitted, begun, output, completed = (info for _, info in heard.events[1:5])
    assert (submitted.batchTime().milliseconds(), submitted.numRecords()) == (1_000_001_000, 2)
    assert (submitted.schedulingDelay(), submitted.processingDelay(), submitted.totalDelay()) == (-1, -1, -1)
    assert (begun.schedulingDelay() >= 0, begun.processingDelay()) == (True, -1)
    assert completed.totalDelay() == completed.schedulingDelay() + completed.processingDelay() >= 0
    assert [info.numRecords() for info in completed.streamIdToInputInfo().values()] == [2]
    assert (output.name(), output.failureReason()) == ("foreachRDD", None)
    failed = completed.outputOperationInfos()[0], heard.events[-1][1].outputOperationInfos()[0]
    assert [info.failureReason() for info in failed] == [None, "ZeroDivisionError: division by zero"]
    assert silent.events == []


def test_pprint_shows_the_first_elements_of_a_batch(ssc: StreamingContext, clock: ManualClock, capsys: pytest.CaptureFixture[str]) -> None:
    ssc.queueStream([[1, 2, 3], [4]]).pprint(2)
    ssc.start()
    clock.advance(2)
    rule = "-" * 43
    shown = [f"{rule}\nTime: 1970-01-12 13:46:4{second}\n{rule}\n{lines}\n\n" for second, lines in ((1, "1\n2\n..."), (2, "4"))]
    assert capsys.readouterr().out == "".join(shown)


def test_each_batch_is_saved_as_a_directory(ssc: StreamingContext, clock: ManualClock, sc: SparkContext, tmp_path: Path) -> None:
    pairs = ssc.queueStream([[("a", 1)], [("b", 2)]])
    pairs.map(lambda pair: pair[0]).saveAsTextFiles(f"{tmp_path}/text", "txt")
    pairs.saveAsHadoopFiles(f"{tmp_path}/old")
    pairs.saveAsNewAPIHadoopFiles(f"{tmp_path}/new")
    pairs.saveAsPickleFiles(f"{tmp_path}/objects")
    (tmp_path / "text-1000001000.txt").mkdir()  # from a run that did not come to its end
    ssc.start()
    clock.advance(2)
    ssc.awaitTerminationOrTimeout(0)
    assert [sc.textFile(f"{tmp_path}/text-100000{n}000.txt").collect() for n in (1, 2)] == [["a"], ["b"]]
    assert [sc.textFile(f"{tmp_path}/{kind}-1000002000").collect() for kind in ("old", "new")] == [["b\t2"], ["b\t2"]]
    assert sc.pickleFile(f"{tmp_path}/objects-1000001000").collect() == [("a", 1)]
