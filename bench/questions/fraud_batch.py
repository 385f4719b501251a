"""How fast is the flagship over a file: a million records, decided as a batch on two cores, against decoding them alone?

The work: `headrace fraud decide --mode batch` on records of the flagship's own generator, both kinds mixed, from lines of JSON to decisions
in the order of the file. Decoding alone reads and checks the same lines and throws them away.

Held equal: the file, the session and its settings, a JVM that has done the same work once on a smaller file. The decisions on the first
20,000 records must equal those of the tests' oracle, which shares no code with it.

To read: records a second of the whole command without Spark's start, and the share of the decoder's rate that is left.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from tests.fraud.oracle import oracle

import headrace as hr
from bench.measuring import processes
from bench.reporting.answers import Answer, memory, say
from headrace_fraud.deciding import lines, records
from headrace_fraud.deciding.settings import Rules
from headrace_fraud.world import files

RECORDS, PREFIX = 1_000_000, 20_000


def ask(*, quick: bool) -> list[Answer]:
    count = PREFIX if quick else RECORDS
    done = processes.run(measure, count)
    decided, decoded = done.value
    say(f"decided {decided:,} records/s, decoded alone {decoded:,} records/s, peak {done.peak_mb:,} MB")
    details = {"records": count, "decode_alone_per_s": decoded}
    return [
        Answer("fraud_batch_per_s", decided, "records/s", None, details),
        Answer("fraud_batch_vs_decode", round(decided / decoded, 2), "x"),
        memory("fraud_batch", done.peak_mb),
    ]


def measure(count: int) -> tuple[int, int]:
    hr.session(master="local[2]", conf={"spark.sql.shuffle.partitions": "2"})
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as directory:
        place = Path(directory)
        small, large = place / "small.jsonl", place / "large.jsonl"
        files.write(small, events=PREFIX, seed=1, rate=1_000)
        files.write(large, events=count, seed=1, rate=1_000)
        _check(small, place / "out")
        _decode(small)
        rates = (
            count / _seconds(lambda: lines.decide(large, "batch", place / "out", None, Rules())),
            count / _seconds(lambda: _decode(large)),
        )
    hr.session().stop()
    return round(rates[0]), round(rates[1])


def _check(file: Path, out: Path) -> None:
    lines.decide(file, "batch", out, None, Rules())
    if [json.loads(line) for line in out.read_bytes().splitlines()] != oracle(file.read_bytes().splitlines(), datetime.now(UTC)).decisions:
        raise SystemExit("the decisions are not the oracle's: no time counts")


def _decode(file: Path) -> None:
    valid, _ = records.read(hr.read.files(file, format="text", line_separator="\n").then(lines.numbered), Rules())
    hr.Job("decode", valid.to.callback(lambda rows, batch: None)).run("batch")  # noqa: ARG005


def _seconds(do: Callable[[], object]) -> float:
    began = time.monotonic()
    do()
    return time.monotonic() - began
