"""The rows of the `windows` topic: of a (minute, merchant) the last one holds."""

from __future__ import annotations

from typing import Any

KEPT = 24 * 60  # minutes over all merchants
BY_MERCHANT = 15  # minutes with their merchants
MERCHANTS = 2_000  # in one minute
_COUNTED = ("transactions", "amount", "flagged", "velocity", "amount_rule", "location")


class Minutes:
    def __init__(self) -> None:
        self._overall: dict[str, dict[str, Any]] = {}
        self._merchants: dict[str, dict[str, tuple[float, ...]]] = {}
        self._older = 0  # transactions of the minutes that are kept no more
        self._oldest = ""

    def take(self, row: dict[str, Any]) -> None:
        minute, merchant = row["minute"], row["merchant"]
        if merchant is None:
            if minute < self._oldest:
                return
            self._overall[minute] = row
            if len(self._overall) > KEPT:
                self._oldest = min(self._overall)
                self._older += int(self._overall.pop(self._oldest)["transactions"])
            return
        merchants = self._merchants.get(minute)
        if merchants is None:
            merchants = self._merchants[minute] = {}
            if len(self._merchants) > BY_MERCHANT:
                del self._merchants[min(self._merchants)]
        if merchant in merchants or len(merchants) < MERCHANTS:
            merchants[merchant] = (row["transactions"], row["amount"], row["flagged"])

    @property
    def transactions(self) -> int:
        """How many decisions are in some window."""
        return self._older + sum(int(row["transactions"]) for row in self._overall.values())

    def rows(self, count: int = 60) -> list[dict[str, Any]]:
        """The newest minutes over all merchants, oldest first."""
        return [
            {"minute": minute, **{name: self._overall[minute][name] for name in (*_COUNTED, "customers", "closed")}}
            for minute in sorted(self._overall)[-count:]
        ]

    def top(self, count: int = 10) -> list[dict[str, Any]]:
        """The merchants with the most transactions in the minutes that are kept."""
        sums: dict[str, list[float]] = {}
        for merchants in self._merchants.values():
            for merchant, (transactions, amount, flagged) in merchants.items():
                total = sums.setdefault(merchant, [0, 0.0, 0])
                total[0] += transactions
                total[1] += amount
                total[2] += flagged
        first = sorted(sums.items(), key=lambda item: (-item[1][0], item[0]))[:count]
        return [
            {"merchant": merchant, "transactions": n, "amount": round(amount, 2), "flagged": flagged}
            for merchant, (n, amount, flagged) in first
        ]
