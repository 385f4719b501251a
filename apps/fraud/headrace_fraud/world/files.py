"""The world in a file: JSON lines of both types, in the order in which they would arrive."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

from headrace_fraud.world.stream import events as stream
from headrace_fraud.world.times import START


def write(
    path: Path, *, events: int, seed: int = 1, rate: float = 100.0, start: datetime = START, truth_path: Path | None = None
) -> dict[str, int]:
    """Write so many records, and the frauds among them to `truth_path`; returns how many of each topic, and of `frauds`."""
    counts: Counter[str] = Counter({"transactions": 0, "locations": 0, "frauds": 0})
    with ExitStack() as files:
        lines = files.enter_context(path.open("wb"))
        truths = files.enter_context(truth_path.open("w")) if truth_path else None
        for event in stream(seed=seed, rate=rate, start=start, events=events):
            lines.write(event.value + b"\n")
            counts[event.topic] += 1
            if event.truth:
                counts["frauds"] += 1
                if truths:
                    truths.write(event.truth.line())
    return dict(counts)
