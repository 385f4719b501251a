"""How right the rules and the model were, of decisions of which it is known what they were."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

NEWEST = 5_000  # decisions: what the model has become, beside what it was in the mean
_FRAUD, _WHO = 1, {"rules": 2, "model": 4}


class Scores:
    """`take` each decision once; `shown` has precision and recall over all of them, and over the newest."""

    def __init__(self, newest: int = NEWEST) -> None:
        self._newest: deque[int] = deque(maxlen=newest)
        self._all = [0] * 8  # by what was the case: fraud, an alert of the rules, one of the model
        self._late = [0] * 8  # the same of the newest

    def take(self, *, fraud: bool, rules: bool, model: bool) -> None:
        case = _FRAUD * fraud + _WHO["rules"] * rules + _WHO["model"] * model
        if len(self._newest) == self._newest.maxlen:
            self._late[self._newest[0]] -= 1
        self._newest.append(case)
        self._late[case] += 1
        self._all[case] += 1

    def shown(self) -> dict[str, Any]:
        """
        >>> scores = Scores()
        >>> for fraud, rules, model in [(True, True, False), (False, True, False), (True, True, True), (False, False, False)]:
        ...     scores.take(fraud=fraud, rules=rules, model=model)
        >>> scores.shown()["model"]
        {'precision': 1.0, 'recall': 0.5, 'alerts': 1, 'newest': {'precision': 1.0, 'recall': 0.5, 'alerts': 1}}
        """
        return {
            "scored": sum(self._all),
            "frauds": _of(self._all, _FRAUD),
            "newest": len(self._newest),
            **{who: {**_score(self._all, bit), "newest": _score(self._late, bit)} for who, bit in _WHO.items()},
        }


def _score(counts: Sequence[int], bit: int) -> dict[str, float | int | None]:
    alerts, frauds, right = _of(counts, bit), _of(counts, _FRAUD), _of(counts, bit | _FRAUD)
    return {"precision": right / alerts if alerts else None, "recall": right / frauds if frauds else None, "alerts": alerts}


def _of(counts: Sequence[int], bits: int) -> int:
    return sum(count for case, count in enumerate(counts) if case & bits == bits)
