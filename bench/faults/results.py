"""What rounds have shown: a line of JSON for each, to which any number of runs add, and the table that is made of them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from bench.faults.injections import Injection
from bench.faults.oracle import Difference


@dataclass
class Round:
    """What was done to one world, and what was in its sinks in the end."""

    seed: int
    date: str
    wanted: dict[str, int] = field(default_factory=dict)
    injections: list[Injection] = field(default_factory=list)
    acknowledged: int = 0
    sums: Mapping[str, int] = field(default_factory=dict)
    differences: dict[str, Difference] = field(default_factory=dict)
    error: str | None = None

    @property
    def good(self) -> bool:
        conserved = self.acknowledged == sum(self.sums.values()) > 0
        return self.error is None and conserved and all(difference.none for difference in self.differences.values())

    def json(self) -> str:
        return json.dumps(asdict(self))


def read(file: Path) -> list[Round]:
    return [_round(json.loads(line)) for line in file.read_text().splitlines()] if file.exists() else []


def _round(fields: dict[str, Any]) -> Round:
    fields["injections"] = [Injection(**injection) for injection in fields["injections"]]
    fields["differences"] = {name: _difference(**difference) for name, difference in fields["differences"].items()}
    return Round(**fields)


def _difference(missing: int, extra: int, twice: int, examples: list[str]) -> Difference:
    return Difference(missing, extra, twice, tuple(examples))


@dataclass(frozen=True)
class Line:
    """Of the table. What is missing or too much in a round is told of every fault of that round."""

    fault: str
    times: int
    missing: int
    extra: int
    twice: int
    median_seconds: float | None
    worst_seconds: float | None
    seconds: list[float]


def table(rounds: Iterable[Round]) -> list[Line]:
    times: dict[str, list[Injection]] = defaultdict(list)
    wrong: dict[str, list[Difference]] = defaultdict(list)
    for each in rounds:
        for injection in each.injections:
            times[injection.fault].append(injection)
        for fault in {injection.fault for injection in each.injections}:
            wrong[fault].extend(each.differences.values())
    return [_line(fault, injections, wrong[fault]) for fault, injections in times.items()]


def _line(fault: str, injections: list[Injection], wrong: list[Difference]) -> Line:
    seconds = [injection.seconds for injection in injections if injection.seconds is not None]
    missing, extra, twice = (sum(getattr(each, name) for each in wrong) for name in ("missing", "extra", "twice"))
    return Line(fault, len(injections), missing, extra, twice, _median(seconds), max(seconds, default=None), seconds)


def _median(seconds: list[float]) -> float | None:
    return round(median(seconds), 1) if seconds else None


def places(rounds: Iterable[Round], fault: str) -> Iterator[tuple[str, int]]:
    """Where the injections of a fault fell, and how often."""
    counts: dict[str, int] = defaultdict(int)
    for each in rounds:
        for injection in each.injections:
            if injection.fault == fault:
                counts[_first(injection.where) or ""] += 1
    yield from sorted(counts.items(), key=lambda item: -item[1])


def _first(words: str | None) -> str | None:
    """Without what the job itself said, which has the places of one machine in it."""
    return words and words.partition(": error ")[0].partition("; the driver ended:")[0]


def document(rounds: list[Round]) -> dict[str, Any]:
    """All of it, for machines."""
    names = sorted({name for each in rounds for name in each.sums})
    return {
        "faults": [asdict(line) | {"where": dict(places(rounds, line.fault))} for line in table(rounds)],
        "acknowledged": sum(each.acknowledged for each in rounds),
        "sums": {name: sum(each.sums.get(name, 0) for each in rounds) for name in names},
        "rounds": [_kept(each) for each in rounds],
    }


def added(published: dict[str, Any], rounds: Iterable[Round]) -> dict[str, Any]:
    """A document that was kept, and the rounds that are not in it yet, by their seeds. (Of the first rounds single times were not kept: the
    median of a fault stands until there are others.)"""
    known = {each["seed"] for each in published["rounds"]}
    more = document([each for each in rounds if each.seed not in known])
    lines = {line["fault"]: line for line in published["faults"]}
    for line in more["faults"]:
        before = lines.get(line["fault"])
        lines[line["fault"]] = line if before is None else _both(before, line)
    return {
        "faults": list(lines.values()),
        "acknowledged": published["acknowledged"] + more["acknowledged"],
        "sums": _summed(published["sums"], more["sums"]),
        "rounds": [*published["rounds"], *more["rounds"]],
    }


def _both(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    seconds = [*before.get("seconds", []), *after["seconds"]]
    worst = [line["worst_seconds"] for line in (before, after) if line["worst_seconds"] is not None]
    return {
        "fault": before["fault"],
        **{name: before[name] + after[name] for name in ("times", "missing", "extra", "twice")},
        "median_seconds": _median(seconds) or before["median_seconds"],
        "worst_seconds": max(worst, default=None),
        "seconds": seconds,
        "where": _summed(before["where"], after["where"]),
    }


def _summed(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    return {name: before.get(name, 0) + after.get(name, 0) for name in [*before, *(name for name in after if name not in before)]}


def _kept(each: Round) -> dict[str, Any]:
    return {"seed": each.seed, "date": each.date, "wanted": each.wanted, "good": each.good, "error": _first(each.error)}
