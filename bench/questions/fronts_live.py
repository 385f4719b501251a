"""What does a front cost in real time? The word count of `fronts.py` in real-time mode: sentences a second, and how long one takes.

The ways that have this mode, measured as `fronts.py` says. Then sentences come at a steady rate, each with a word of its own, whose count
ends its time: from when the sentence was due until that count has been read. DRPC's time is from a question, how many words a sentence has,
to its answer; its rate is that of a thousand questions that are asked at once.

To read: milliseconds, with the broker twice in them. Batches last five minutes, so no batch end is in it.
"""

from __future__ import annotations

import os
import tempfile
import time
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from pyspark.sql import functions as F

import headrace as hr
from bench.measuring import processes
from bench.measuring.timeline import percentiles
from bench.questions.fronts import FULL, QUICK, answers, measure
from bench.reporting.answers import Answer, say
from headrace import drpc
from headrace.embedded import kafka

_REAL_TIME = ("headrace", "headrace, Python", "Storm", "Samza", "Summingbird")


def ask(*, quick: bool) -> list[Answer]:
    size = QUICK if quick else FULL
    measured = {name: measure(name, "real-time", size) for name in _REAL_TIME}
    measured["DRPC"] = _drpc(50 if quick else 1_000)
    return answers("real_time", measured)


def _drpc(questions: int) -> dict[str, Any]:
    name = f"bench-words-{time.time_ns()}"
    job = processes.Started(_answer, name, kafka.ensure(), talks=True)
    job.recv(120)
    function = drpc.Function(name, "text string not null", servers=kafka.ensure())
    function.ask(text="warm up", seconds=60)
    for _ in range(questions // 10):
        function.ask(text="a b c")
    took = []
    for _ in range(questions // 5):
        began = time.monotonic()
        if function.ask(text="a b c")["words"] != 3:
            raise SystemExit("a wrong answer: no time counts")
        took.append(1000 * (time.monotonic() - began))
    began = time.monotonic()
    function.ask_all([{"text": "a b c"}] * questions, seconds=60)
    values = {"per_s": round(questions / (time.monotonic() - began)), **percentiles(np.array(took))}
    job.send("stop")
    values["peak_mb"] = job.result().peak_mb
    say(f"DRPC: {values}")
    return values


def _answer(talk: Connection, name: str, bootstrap: str) -> None:
    os.environ[kafka.ADDRESS] = bootstrap
    hr.session(master="local[8]", conf={"spark.sql.shuffle.partitions": "2"})
    function = drpc.Function(name, "text string not null")
    answer = function.answer(function.requests.select("id", F.size(F.split("text", " ")).alias("words")))
    place = tempfile.mkdtemp(prefix="headrace-bench-")
    with hr.Job(name, answer, checkpoint=place).start("real-time", trigger=hr.every("5 minutes")):
        talk.send("started")
        talk.recv()
    hr.session().stop()
