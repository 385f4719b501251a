"""What a question gives: named numbers, some with a target."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Target:
    """`at_least` a number, or at most it."""

    number: float
    at_least: bool

    def met(self, value: float) -> bool:
        return value >= self.number if self.at_least else value <= self.number

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.number:g}"


@dataclass(frozen=True)
class Answer:
    name: str
    value: float
    unit: str
    target: Target | None = None
    details: dict[str, Any] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        met = None if self.target is None else self.target.met(self.value)
        target = None if self.target is None else str(self.target)
        return {"value": self.value, "unit": self.unit, "target": target, "met": met, "details": self.details}


def at_least(number: float) -> Target:
    return Target(number, at_least=True)


def at_most(number: float) -> Target:
    return Target(number, at_least=False)


def memory(of: str, megabytes: int) -> Answer:
    """The peak of a whole process tree: Python, its JVM (whose heap may grow to 2 GB) and Python workers; not the broker."""
    return Answer(f"peak_memory_{of}_mb", megabytes, "MB")


def say(text: str) -> None:
    print(f"  {text}", flush=True)
