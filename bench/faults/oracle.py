"""What must be in the sinks, from the log of what was acknowledged. Plain Python, and nothing of the job's."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

Decision = tuple[int, str, int, int, int]  # id, customer, amount; how many the customer had before, and how much


@dataclass
class Answer:
    """Where each payment must be, or is: the same payment twice counts twice."""

    decided: Counter[Decision] = field(default_factory=Counter)
    again: Counter[Decision] = field(default_factory=Counter)
    late: Counter[int] = field(default_factory=Counter)
    dead: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        return sum(part.total() for part in (self.decided, self.again, self.late, self.dead))


def answer(log: Iterable[str]) -> Answer:
    """Of a customer's payments, in the order of their time, each with what came before it."""
    lines = sorted((json.loads(line) for line in log), key=lambda line: (line[0], line[1]))
    payments = [(partition, offset, text, _read(text)) for partition, offset, text in lines]
    expected, of_customer = Answer(), defaultdict[str, list[dict[str, Any]]](list)
    newest: dict[int, datetime] = {}
    for partition, _, text, payment in payments:
        if payment is None:
            expected.dead[text] += 1
            continue
        newest[partition] = max(payment["at"], newest.get(partition, payment["at"]))
        if payment["at"] < newest[partition] - timedelta(minutes=30):
            expected.late[payment["id"]] += 1
        else:
            of_customer[payment["customer"]].append(payment)
    for customer, its in of_customer.items():
        ids, count, total = set(), 0, 0
        for payment in sorted(its, key=lambda payment: (payment["at"], payment["id"])):
            row = (payment["id"], customer, payment["amount"], count, total)
            if payment["id"] in ids:
                expected.again[row] += 1
            else:
                expected.decided[row] += 1
                ids.add(payment["id"])
                count, total = count + 1, total + payment["amount"]
    return expected


def _read(text: str) -> dict[str, Any] | None:
    """A payment, or none if that is not one."""
    try:
        payment = json.loads(text)
        if type(payment["id"]) is int and type(payment["customer"]) is str and type(payment["amount"]) is int:
            return {**payment, "at": datetime.fromisoformat(payment["at"])}
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    return None


@dataclass(frozen=True)
class Difference:
    missing: int = 0
    extra: int = 0
    twice: int = 0
    examples: tuple[str, ...] = ()

    @property
    def none(self) -> bool:
        return self.missing == self.extra == self.twice == 0


def compare(expected: Counter[Any], there: Counter[Any], what: str) -> Difference:
    """As multisets: a row that is there more often than it must be is there twice; one that must not be there at all is extra."""
    missing, more = expected - there, there - expected
    twice = Counter({row: number for row, number in more.items() if row in expected})
    extra = more - twice
    named = {"missing": missing, "extra": extra, "twice": twice}
    examples = tuple(f"{what}: {kind} {row!r} x {number}" for kind, rows in named.items() for row, number in sorted(rows.items())[:3])
    return Difference(missing.total(), extra.total(), twice.total(), examples)
