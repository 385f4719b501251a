"""A program of DStreams that is killed, the first time, when its second batch has put out its counts and the journal does not know yet.

Its words come from files and from a receiver with a write-ahead log. `out` has a line for each time that a batch was put out.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from pyspark import SparkContext

from headrace.dstreams import ManualClock, Receiver, StreamingContext

START = 1_000_000
LOGGED = {"spark.streaming.receiver.writeAheadLog.enable": "true"}


class Given(Receiver):
    def onStart(self) -> None:  # noqa: N802
        pass


def setup(sc: SparkContext, home: str, clock: ManualClock) -> StreamingContext:
    driver = os.getpid()

    def count(values: list[int], state: int | None) -> int:
        return sum(values) + (state or 0)

    def put_out(time: Any, rdd: Any) -> None:
        second = round(time.timestamp()) - START
        with (Path(home) / "out").open("a") as out:
            out.write(json.dumps([second, dict(sorted(rdd.collect()))]) + "\n")
        (Path(home) / f"put out {second}").touch()
        if second == 2 and not (Path(home) / "died").exists():
            wait_for(Path(home) / "received")
            (Path(home) / "died").touch()
            os.killpg(driver, signal.SIGKILL)  # the driver, its JVM and its workers

    ssc = StreamingContext(sc, 1, clock=clock)
    words = ssc.textFileStream(f"{home}/in").union(ssc.receiverStream(Given()))
    words.map(lambda word: (word, 1)).updateStateByKey(count).foreachRDD(put_out)
    return ssc


def wait_for(file: Path) -> None:
    deadline = time.monotonic() + 60
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.01)


def started(sc: SparkContext, home: Path, clock: ManualClock) -> tuple[StreamingContext, Any]:
    """The program, new or as it was, and its receiver."""
    ssc = StreamingContext.getOrCreate(str(home / "checkpoint"), lambda: setup(sc, str(home), clock), clock=clock)
    ssc.start()
    return ssc, next(source.receiver for _, source in ssc._inputs() if hasattr(source, "receiver"))


def put(home: Path, name: str, words: str, second: float) -> None:
    (home / "in" / name).write_text("".join(f"{word}\n" for word in words.split()))
    os.utime(home / "in" / name, (START + second, START + second))


def main(home: Path) -> None:
    import headrace as hr

    clock = ManualClock(START)
    _, receiver = started(hr.session(conf=LOGGED).sparkContext, home, clock)
    put(home, "f1", "a b", 0.5)
    receiver.store(["r"])
    clock.advance(1)
    put(home, "f2", "a", 1.5)
    receiver.store(["r"])
    threading.Thread(target=clock.advance, args=[1]).start()
    wait_for(home / "put out 2")
    receiver.store(["s"])  # is in no batch yet
    (home / "received").touch()
    wait_for(home / "never")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
