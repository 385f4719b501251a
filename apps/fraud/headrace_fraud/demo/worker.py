"""One job of the flagship in a process of its own: `python -m headrace_fraud.demo.worker decide …`.

It tells what it does as JSON lines on standard output, ends in order on SIGTERM or Ctrl-C, and never outlives who started it: the end of
its standard input is the end of its parent.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
import threading
import time
from contextlib import suppress
from dataclasses import asdict
from math import inf
from pathlib import Path
from typing import Literal

import psutil

import headrace as hr
from headrace_fraud.deciding import jobs
from headrace_fraud.deciding.settings import Rules
from headrace_fraud.demo import rehearsal
from headrace_fraud.demo.processes import until

Mode = Literal["micro-batch", "real-time"]
MODES: dict[str, Mode] = {"decide": "real-time", "windows": "micro-batch", "store": "micro-batch"}
LEARN = "learn"  # the job of the model, if it is asked for; it does not rehearse, for nobody waits for what it says
ALL: dict[str, Mode] = {**MODES, LEARN: "micro-batch"}
QUERIES = {"decide": 1, "windows": 1, "store": 3, LEARN: 1}

# What a real-time job holds for as long as it runs: a task for each partition of both inputs, and one for each part of the state.
TASKS = len(jobs.INPUTS) * jobs.PARTITIONS + jobs.PARTITIONS

# Seconds from the first batch on in which a micro-batch job does not yield: a visitor waits for what it shows. It is enough for a second
# batch, since the first may have next to nothing in it.
FIRST_BATCHES = 15.0

TEMPORARY = "temporary"


def main() -> None:
    asked = _arguments()
    stop = threading.Event()
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, lambda *_: stop.set())
    threading.Thread(target=_until_the_parent_ends, args=(stop,), daemon=True).start()
    directory = _own_directory(asked)
    try:
        if not asked.rehearse and ALL[asked.job] == "micro-batch":
            os.nice(10)  # another job's answers are awaited, and a start takes much of the processor
        _session(asked.job, str(directory))
        if asked.rehearse:
            _tell({"rehearses": True})
            rehearsal.run(asked.job, asked.rules, directory / "rehearsal", stop)
            until(lambda: _active() == 0, 10)
        _run(_job(asked), ALL[asked.job], stop)
        hr.session().stop()
    except hr.HeadraceError as error:
        _tell({"error": str(error)})
        raise SystemExit(1) from None


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="headrace_fraud.demo.worker")
    parser.add_argument("job", choices=list(ALL))
    parser.add_argument("--place", type=Path, required=True, help="where checkpoints and Parquet files are")
    parser.add_argument("--database", required=True)
    parser.add_argument("--rules", type=Rules.model_validate_json, default=Rules())
    parser.add_argument("--rehearse", action="store_true", help="work on made-up records first; see rehearsal.py")
    return parser.parse_args()


def _until_the_parent_ends(stop: threading.Event) -> None:
    while os.read(0, 1024):  # not by sys.stdin, whose lock an interpreter that ends would wait for
        pass
    stop.set()


def _own_directory(asked: argparse.Namespace) -> Path:
    """Where Spark's temporary files go: a driver that is killed cannot remove them, so the next one does, and in the end the demo."""
    place: Path = asked.place / TEMPORARY / asked.job
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    return place


def _session(job: str, directory: str) -> None:
    # One thread collects garbage: several would wait for each other on few cores. Room for Spark's classes from the start: to make more,
    # Java stops for a full collection each time.
    java = f'-Djava.io.tmpdir="{directory}" -XX:+UseSerialGC -XX:MetaspaceSize=192m'
    common = {"spark.local.dir": directory, "spark.driver.memory": "1g"}
    if ALL[job] == "real-time":
        hr.session(
            master=f"local[{TASKS}]",
            conf={
                **common,
                "spark.sql.shuffle.partitions": str(jobs.PARTITIONS),
                # Seldom; what has lived through two collections is not copied in thirteen more; and all memory from the start: to get
                # more, Java stops for a full collection.
                "spark.driver.extraJavaOptions": f"{java} -Xms1g -Xmn400m -XX:MaxTenuringThreshold=2",
                # Old versions of the state come one a batch: to look for them more often would only disturb.
                "spark.sql.streaming.stateStore.maintenanceInterval": "10m",
            },
        )
    else:
        # Quick compilation only: what runs for a moment every few seconds shall not keep a core busy with compiling it better.
        java += " -XX:TieredStopAtLevel=1"
        hr.session(master="local[2]", conf={**common, "spark.sql.shuffle.partitions": "1", "spark.driver.extraJavaOptions": java})


def _yield() -> None:
    """From now on the job whose answers are awaited comes first at the processor; this one takes what it leaves."""
    os.setpriority(os.PRIO_PGRP, 0, 10)  # Spark's JVM and its Python workers are in this process's group
    if sys.platform != "linux":
        return
    for process in (psutil.Process(), *psutil.Process().children(recursive=True)):
        with suppress(psutil.NoSuchProcess, ProcessLookupError):
            for thread in process.threads():
                os.sched_setscheduler(thread.id, os.SCHED_IDLE, os.sched_param(0))


def _job(asked: argparse.Namespace) -> hr.Job:
    checkpoint = asked.place / "checkpoints" / asked.job
    match asked.job:
        case "decide":
            return jobs.decide(asked.rules, checkpoint=checkpoint)
        case "windows":
            return jobs.totals(checkpoint=checkpoint)
        case "learn":
            return jobs.learn(checkpoint=checkpoint)
    return jobs.store(asked.place, asked.database, checkpoint=checkpoint)


def _run(job: hr.Job, mode: Mode, stop: threading.Event) -> None:
    with job.start(mode) as running:
        while not stop.is_set() and mode == "real-time" and _active() < TASKS and not running.wait(0.1):
            pass
        _tell({"started": True})
        yields = None if mode == "micro-batch" else inf  # when: known from the first batch on
        while not stop.is_set() and not running.wait(0.25):
            for batch in running.news():
                _tell({"progress": asdict(batch)})
                if batch.rows_in and yields is None:
                    yields = time.monotonic() + FIRST_BATCHES
            if yields is not None and time.monotonic() > yields:
                _yield()
                yields = inf


def _active() -> int:
    """How many tasks are at work: a real-time query reads nothing until all of its own are."""
    tracker = hr.session().sparkContext.statusTracker()
    stages = map(tracker.getStageInfo, tracker.getActiveStageIds())
    return sum(stage.numActiveTasks for stage in stages if stage is not None)


def _tell(what: object) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    main()
