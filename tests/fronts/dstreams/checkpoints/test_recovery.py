"""Checkpoints: what a recovery brings back, with the old functions or with new ones, and what it refuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkContext
from tests.fronts.dstreams.checkpoints import killed

from headrace.dstreams import ManualClock, Receiver, State, StateSpec, StreamingContext
from headrace.errors import DefinitionError, JobError

START = 1_000_000


def put(directory: Path, name: str, lines: str, at: float) -> None:
    file = directory / name
    file.write_text("".join(f"{line}\n" for line in lines.split()))
    os.utime(file, (START + at, START + at))


class Program:
    """Counts words of files and writes the counts of each batch to a file of JSON."""

    def __init__(self, sc: SparkContext, tmp_path: Path) -> None:
        self.sc, self.clock, self.setups = sc, ManualClock(START), 0
        self.checkpoint, self.inputs, self.outputs = (tmp_path / name for name in ("checkpoint", "in", "out"))
        for folder in (self.inputs, self.outputs):
            folder.mkdir()

    def setup(self, counted: Callable[[Any], Any] | None = None, save_every: int = 4) -> StreamingContext:
        self.setups += 1
        outputs = str(self.outputs)

        def update(values: list[int], state: int | None) -> int:
            return sum(values) + (state or 0)

        def write(time: Any, rdd: Any) -> None:
            (Path(outputs) / f"{round(time.timestamp()) - 1_000_000:03}").write_text(json.dumps(dict(sorted(rdd.collect()))))

        ssc = StreamingContext(self.sc, 1, clock=self.clock)
        words = ssc.textFileStream(str(self.inputs)).map(lambda word: (word, 1))
        counts = counted(words) if counted else words.updateStateByKey(update).checkpoint(save_every)
        counts.foreachRDD(write)
        return ssc

    def get_or_create(self, setup: Callable[[], StreamingContext] | None = None, **options: Any) -> StreamingContext:
        return StreamingContext.getOrCreate(str(self.checkpoint), setup or self.setup, clock=self.clock, **options)

    def out(self) -> dict[int, Any]:
        return {int(file.name): json.loads(file.read_text()) for file in sorted(self.outputs.iterdir())}


@pytest.fixture
def program(sc: SparkContext, tmp_path: Path) -> Program:
    return Program(sc, tmp_path)


@pytest.mark.parametrize("gracefully", [False, True])
def test_a_recovery_goes_on_with_the_state_the_files_and_the_functions(program: Program, gracefully: bool) -> None:
    ssc = program.get_or_create()
    ssc.start()
    for second, words in enumerate(["a", "a b", "b", "", "c"]):  # the state is saved at 4; what is not saved is computed again
        put(program.inputs, f"f{second}", words, second + 0.5)
        program.clock.advance(1)
    ssc.stop(stopSparkContext=False, stopGraceFully=gracefully)
    put(program.inputs, "meanwhile", "a", 6.5)
    program.clock._now += 3000

    ssc = program.get_or_create()
    assert program.setups == 1
    ssc.start()
    program.clock.advance(1)
    ssc.awaitTerminationOrTimeout(0)
    ssc.stop(stopSparkContext=False)
    assert program.out() == {
        1: {"a": 1}, 2: {"a": 2, "b": 1}, 3: {"a": 2, "b": 2}, 4: {"a": 2, "b": 2}, 5: {"a": 2, "b": 2, "c": 1},
        6: {"a": 2, "b": 2, "c": 1}, 7: {"a": 3, "b": 2, "c": 1}, 8: {"a": 3, "b": 2, "c": 1}, 9: {"a": 3, "b": 2, "c": 1},
    }  # fmt: skip


def test_a_batch_that_failed_is_run_again_with_the_same_records(program: Program, tmp_path: Path) -> None:
    trap = str(tmp_path / "trap")

    def fail_once(words: Any) -> Any:
        def check(rdd: Any) -> Any:
            if Path(trap).exists() and rdd.count():
                raise OSError("the disk is full")
            return rdd

        return words.transform(check)

    ssc = program.get_or_create(lambda: program.setup(fail_once))
    ssc.start()
    put(program.inputs, "f", "a", 0.5)
    Path(trap).touch()
    program.clock.advance(2)
    with pytest.raises(JobError, match="the disk is full"):
        ssc.awaitTermination()
    ssc.stop(stopSparkContext=False)
    assert program.out() == {2: {}}
    Path(trap).unlink()

    ssc = program.get_or_create()
    ssc.start()
    program.clock.advance(1)
    assert program.out() == {1: {"a": 1}, 2: {}, 3: {}}


@pytest.mark.faults
def test_a_driver_that_is_killed_loses_nothing_and_puts_out_its_last_batch_again(
    sc: SparkContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in").mkdir()
    command = [sys.executable, killed.__file__, str(tmp_path)]
    assert subprocess.Popen(command, start_new_session=True).wait(timeout=60) == -signal.SIGKILL
    killed.put(tmp_path, "late", "b", 1.6)  # came too late for the batch as it was logged
    conf = sc.getConf().setAll(list(killed.LOGGED.items()))
    monkeypatch.setattr(SparkContext, "getConf", lambda _: conf)
    clock = ManualClock(START + 2)
    ssc, _ = killed.started(sc, tmp_path, clock)
    clock.advance(1)
    ssc.awaitTerminationOrTimeout(0)
    ssc.stop(stopSparkContext=False)
    assert [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()] == [
        [1, {"a": 1, "b": 1, "r": 1}],
        [2, {"a": 2, "b": 1, "r": 2}],
        [2, {"a": 2, "b": 1, "r": 2}],  # outputs are at least once; what is in the batch, and the state, is the same
        [3, {"a": 2, "b": 2, "r": 2, "s": 1}],
    ]


def by_tens(words: Any) -> Any:
    def count(word: str, one: int | None, state: State) -> tuple[str, int]:
        state.update((state.getOption() or 0) + 10 * (one or 0))
        return word, state.get()

    return words.mapWithState(StateSpec.function(count)).setName("counts")


def test_new_code_goes_on_from_the_state_and_the_position_of_the_old(program: Program) -> None:
    def first(words: Any) -> Any:
        return words.updateStateByKey(lambda values, state: sum(values) + (state or 0)).setName("counts")

    ssc = program.get_or_create(lambda: program.setup(first))
    ssc.start()
    put(program.inputs, "f0", "a b", 0.5)
    program.clock.advance(1)
    put(program.inputs, "f1", "a", 1.5)
    program.clock.advance(1)
    ssc.stop(stopSparkContext=False)
    put(program.inputs, "f2", "a", 2.5)
    program.clock._now += 1000

    ssc = program.get_or_create(lambda: program.setup(by_tens), newCode=True)
    assert program.setups == 2
    ssc.start()
    program.clock.advance(1)
    ssc.stop(stopSparkContext=False)
    assert program.out() == {1: {"a": 1, "b": 1}, 2: {"a": 2, "b": 1}, 4: {"a": 12}}

    ssc = program.get_or_create()  # and that is what a recovery brings back from now on
    ssc.start()
    put(program.inputs, "f3", "b", 4.5)
    program.clock.advance(1)
    assert program.out()[5] == {"b": 11}


def test_new_code_without_a_stream_that_the_old_had_is_refused(program: Program) -> None:
    ssc = program.get_or_create()
    ssc.start()
    program.clock.advance(1)
    ssc.stop(stopSparkContext=False)
    with pytest.raises(DefinitionError) as refused:
        program.get_or_create(lambda: program.setup(by_tens), newCode=True)
    assert "has 'updateStateByKey 1', and the new program has no such stream; it has 'counts', 'textFileStream 1'" in refused.value.what
    assert "setName" in refused.value.fix


def test_the_checkpoint_does_not_grow(program: Program) -> None:
    ssc = program.get_or_create(lambda: program.setup(save_every=1))
    ssc.start()
    program.clock.advance(8)
    ssc.awaitTerminationOrTimeout(0)
    home = program.checkpoint / "dstreams"
    assert len(list((home / "batches").iterdir())) <= 4
    assert len(list((home / "rdds").glob("*/rdd-*"))) <= 4


def test_windows_and_initial_state_come_back(program: Program) -> None:
    def both(words: Any) -> Any:
        sums = words.updateStateByKey(lambda values, state: sum(values) + (state or 0), initialRDD=[("z", 7)])
        return sums.union(words.map(lambda pair: (pair[0].upper(), 1)).window(3).reduceByKey(lambda a, b: a + b))

    ssc = program.get_or_create(lambda: program.setup(both))
    ssc.start()
    put(program.inputs, "f0", "a", 0.5)
    program.clock.advance(2)
    ssc.stop(stopSparkContext=False)
    ssc = program.get_or_create()
    ssc.start()
    program.clock.advance(2)
    assert program.out() == {
        1: {"A": 1, "a": 1, "z": 7}, 2: {"A": 1, "a": 1, "z": 7}, 3: {"A": 1, "a": 1, "z": 7}, 4: {"a": 1, "z": 7},
    }  # fmt: skip


def test_a_directory_that_others_may_write_to_is_not_read(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    ssc = program.get_or_create()
    ssc.start()
    ssc.stop(stopSparkContext=False)
    home = program.checkpoint / "dstreams"
    assert home.stat().st_mode & 0o077 == 0
    home.chmod(0o770)
    with pytest.raises(JobError, match="others may write to it") as refused:
        program.get_or_create()
    assert "chmod go-w" in refused.value.fix
    home.chmod(0o700)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    with pytest.raises(JobError, match="it belongs to user"):
        program.get_or_create()


def test_a_directory_has_one_run_at_a_time(program: Program) -> None:
    import fcntl

    ssc = program.get_or_create()
    with (program.checkpoint / "dstreams" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(JobError, match="another process uses the checkpoint"):
            ssc.start()
    assert StreamingContext.getActive() is None


@pytest.mark.parametrize(
    ("use", "reason"),
    [
        (lambda ssc: ssc.sparkContext, "SparkContext"),
        (lambda _: threading.Lock(), "cannot pickle '_thread.lock' object"),
        (lambda ssc: ssc, "a function refers to the StreamingContext"),
    ],
    ids=["SparkContext", "lock", "StreamingContext"],
)
def test_a_function_that_cannot_be_saved_is_refused_at_the_start(program: Program, use: Any, reason: str) -> None:
    ssc = program.setup()
    thing = use(ssc)
    ssc.queueStream([]).foreachRDD(lambda _: thing)
    ssc.checkpoint(str(program.checkpoint))
    with pytest.raises(DefinitionError) as refused:
        ssc.start()
    assert refused.value.what.startswith("foreachRDD cannot be written to the checkpoint")
    assert reason in refused.value.what
    assert str(refused.value.where).startswith(__file__)


def test_a_queue_runs_with_a_checkpoint_and_is_not_recovered(sc: SparkContext, tmp_path: Path, clock: ManualClock) -> None:
    def setup() -> StreamingContext:
        ssc = StreamingContext(sc, 1, clock=clock)
        ssc.queueStream([[1]]).pprint()
        return ssc

    ssc = StreamingContext.getOrCreate(str(tmp_path), setup, clock=clock)
    ssc.start()
    clock.advance(1)
    ssc.stop(stopSparkContext=False)
    with pytest.raises(DefinitionError, match="queueStream cannot be recovered"):
        StreamingContext.getOrCreate(str(tmp_path), setup, clock=clock).start()


class Given(Receiver):
    def onStart(self) -> None:  # noqa: N802
        pass


def test_a_write_ahead_log_keeps_what_was_received(
    sc: SparkContext, tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = sc.getConf().set("spark.streaming.receiver.writeAheadLog.enable", "true")
    monkeypatch.setattr(SparkContext, "getConf", lambda _: conf)
    seen = str(tmp_path / "seen")

    def setup() -> StreamingContext:
        ssc = StreamingContext(sc, 1, clock=clock)

        def note(rdd: Any) -> None:
            with Path(seen).open("a") as file:
                file.write(f"{sorted(rdd.collect())}\n")

        ssc.receiverStream(Given()).foreachRDD(note)
        return ssc

    def given(ssc: StreamingContext) -> Receiver:
        return ssc._inputs()[0][1].receiver  # type: ignore[attr-defined]

    ssc = StreamingContext.getOrCreate(str(tmp_path / "checkpoint"), setup, clock=clock)
    ssc.start()
    given(ssc).store(["a", "b"])
    clock.advance(1)
    given(ssc).store(["c"])  # is in no batch when the driver ends
    ssc.stop(stopSparkContext=False)
    ssc = StreamingContext.getOrCreate(str(tmp_path / "checkpoint"), setup, clock=clock)
    ssc.start()
    clock.advance(1)
    given(ssc).store(["d"])
    clock.advance(1)
    ssc.stop(stopSparkContext=False)
    assert Path(seen).read_text().splitlines() == ["['a', 'b']", "['c']", "['d']"]
    assert len(list((tmp_path / "checkpoint" / "dstreams" / "received-receiverStream 1").iterdir())) <= 2


def test_without_a_log_what_was_received_is_lost_and_new_records_are_not_taken_for_it(
    sc: SparkContext, tmp_path: Path, clock: ManualClock
) -> None:
    seen, trap = str(tmp_path / "seen"), str(tmp_path / "trap")

    def setup() -> StreamingContext:
        ssc = StreamingContext(sc, 1, clock=clock)

        def note(time: Any, rdd: Any) -> None:
            if Path(trap).exists():
                raise OSError("not yet")
            with Path(seen).open("a") as file:
                file.write(f"{round(time.timestamp()) - 1_000_000} {rdd.collect()}\n")

        ssc.receiverStream(Given()).foreachRDD(note)
        return ssc

    Path(trap).touch()
    ssc = StreamingContext.getOrCreate(str(tmp_path / "checkpoint"), setup, clock=clock)
    ssc.start()
    ssc._inputs()[0][1].receiver.store(["lost"])  # type: ignore[attr-defined]
    clock.advance(1)
    ssc.stop(stopSparkContext=False)
    Path(trap).unlink()
    ssc = StreamingContext.getOrCreate(str(tmp_path / "checkpoint"), setup, clock=clock)
    ssc.start()
    ssc._inputs()[0][1].receiver.store(["new"])  # type: ignore[attr-defined]
    clock.advance(1)
    assert Path(seen).read_text().splitlines() == ["1 []", "2 ['new']"]
