"""How long until a decision is in a consumer's hand, while everything of the demo runs on one machine?

The work: `headrace demo`, as a visitor runs it: broker, decision job in real-time mode, windows job, store job, generator and page. Latency
is from the producer's clock to the moment when the page's reader has the decision from Kafka; the first two minutes of each run, in which
Java still compiles and the jobs make their first batches, are left out.

    fraud_p50_ms, fraud_p99_ms            1,000 transactions a second for ten minutes, away from batch ends
    fraud_p99_all_ms, fraud_p999_all_ms   the same run, all decisions
    fraud_max_rate                        the highest rate of a sweep, a minute each, whose p99 of all decisions is below 100 ms

A real-time batch of the decision job ends every five minutes: it saves its state, and records wait. A decision counts as *away from batch
ends* if it was not read in the second before, or the three seconds after, the one in which a batch ended.

Every run must end with the sum proven: each transaction that was sent is decided, a duplicate or a dead letter, by its place in the log.

To read: milliseconds, to within 1 %.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.reporting.answers import Answer, at_most, memory, say

LIMIT_MS = 100
RATE, SECONDS = 1_000, 600
WARM_UP = 120  # seconds
_RATES, _STEP = (2_000, 3_000, 4_000, 6_000, 8_000), 60


def ask(*, quick: bool) -> list[Answer]:
    seconds, rates, step = (5, (RATE,), 5) if quick else (SECONDS, _RATES, _STEP)
    steady = demo(RATE, seconds)
    sweep = [{"rate": RATE, **steady["latency_ms"]}]
    for rate in rates:
        sweep.append({"rate": rate, **demo(rate, step)["latency_ms"]})
        if sweep[-1]["p99"] >= LIMIT_MS:
            break
    good = [step["rate"] for step in sweep if step["p99"] < LIMIT_MS]
    ms, away = steady["latency_ms"], steady["latency_between_batch_ends_ms"]
    return [
        Answer("fraud_p50_ms", away["p50"], "ms", at_most(10), steady),
        Answer("fraud_p99_ms", away["p99"], "ms", at_most(30)),
        Answer("fraud_p99_all_ms", ms["p99"], "ms"),
        Answer("fraud_p999_all_ms", ms["p99.9"], "ms"),
        Answer("fraud_max_rate", max(good, default=0), "transactions/s", None, {"limit_ms": LIMIT_MS, "sweep": sweep}),
        memory("fraud_demo", steady["peak_memory_mb"]),
    ]


def demo(rate: int, seconds: int, warm_up: int = WARM_UP) -> dict[str, Any]:
    """What the demo says of a run; so many seconds of it count, after those of the warm-up."""
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as place:
        file = Path(place) / "demo.json"
        command = [sys.executable, "-c", "from headrace.cli import app; app()", "demo", "--no-browser", "--json", str(file)]
        done = subprocess.run(
            [*command, "--rate", str(rate), "--seconds", str(warm_up + seconds), "--warm-up", str(warm_up)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        if done.returncode:
            raise SystemExit(f"the demo failed:\n{done.stderr}")
        report: dict[str, Any] = json.loads(file.read_text())
    if not report["conserved"]:
        raise SystemExit("the sum of the demo does not hold: no time counts")
    say(f"{rate:,} transactions/s: {report['latency_ms']}, away from batch ends {report['latency_between_batch_ends_ms']}")
    names = (
        "sent",
        "decided",
        "duplicates",
        "dead_letters",
        "latency_ms",
        "latency_warm_up_ms",
        "latency_between_batch_ends_ms",
        "peak_memory_mb",
    )
    return {name: report[name] for name in names}
