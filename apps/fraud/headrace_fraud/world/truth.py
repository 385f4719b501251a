"""The ground truth: which transactions are fraud, and how well the rules find them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

RULES = ("velocity", "amount", "location")


class Truth(NamedTuple):
    """A transaction that is fraud: which rule it was meant to break (`kind`), and its place in its burst, from 0 (others: 0)."""

    tx_id: str
    customer: str
    kind: str
    part: int

    def line(self) -> str:
        return json.dumps(self._asdict(), separators=(",", ":")) + "\n"


def read(path: Path) -> Iterator[Truth]:
    """The frauds of a file of JSON lines. A last line that is still being written is left out."""
    with path.open() as lines:
        for line in lines:
            if line.endswith("\n"):
                yield Truth(**json.loads(line))


def overall(flagged: Iterable[tuple[str, str]], frauds: Iterable[tuple[str, str]]) -> dict[str, float | int | None]:
    """Precision and recall of what was taken for fraud, of whatever kind. Transactions are (customer, tx_id); each counts once.

    >>> overall([("c1", "t1"), ("c1", "t2")], [("c1", "t2"), ("c2", "t3")])
    {'precision': 0.5, 'recall': 0.5, 'alerts': 2, 'right': 1, 'frauds': 2}
    """
    alerts, wanted = set(flagged), set(frauds)
    right = len(alerts & wanted)
    return {
        "precision": right / len(alerts) if alerts else None,
        "recall": right / len(wanted) if wanted else None,
        "alerts": len(alerts),
        "right": right,
        "frauds": len(wanted),
    }


def score(decisions: Iterable[Mapping[str, Any]], truth: Iterable[Truth]) -> dict[str, dict[str, float | int | None]]:
    """Precision and recall of each rule.

        alerts     decisions that have the rule in `rules`
        right      those of them whose transaction is fraud, of whatever kind: a stolen card is stolen, whichever rule tells
        precision  right / alerts
        frauds     transactions in `truth` that were meant to break the rule
        caught     those of them whose decision has the rule in `rules`
        recall     caught / frauds

    None if there is nothing to divide by. A fraud without a decision is not caught. The first transaction of a burst counts among the
    frauds of `velocity`, though nothing before it could tell: that rule's recall stays below 1 by as much. A transaction is known by
    customer and tx_id, and counts once however often its decision comes.

    >>> decisions = [{"customer": "c1", "tx_id": "t1", "rules": ["amount"]}, {"customer": "c1", "tx_id": "t2", "rules": ["amount"]}]
    >>> score(decisions, [Truth("t2", "c1", "amount", 0)])["amount"]
    {'precision': 0.5, 'recall': 1.0, 'alerts': 2, 'right': 1, 'frauds': 1, 'caught': 1}
    """
    kinds = {(fraud.customer, fraud.tx_id): fraud.kind for fraud in truth}
    alerts: dict[str, set[tuple[str, str]]] = {rule: set() for rule in RULES}
    for decision in decisions:
        for rule in decision["rules"]:
            alerts[rule].add((decision["customer"], decision["tx_id"]))
    result: dict[str, dict[str, float | int | None]] = {}
    for rule, flagged in alerts.items():
        frauds = [each for each, kind in kinds.items() if kind == rule]
        right, caught = sum(each in kinds for each in flagged), sum(each in flagged for each in frauds)
        result[rule] = {
            "precision": right / len(flagged) if flagged else None,
            "recall": caught / len(frauds) if frauds else None,
            "alerts": len(flagged),
            "right": right,
            "frauds": len(frauds),
            "caught": caught,
        }
    return result
