"""The last transactions and places of each customer.

There may be a hundred thousand customers, so what is bounded is the records over all of them: the newest ones are kept, whoever's they
are. Those of customers who were flagged lately are kept beyond that, because those are the customers that a reader of alerts asks for.
"""

from __future__ import annotations

from collections import deque
from sys import intern
from typing import Any

EACH = 30
RECORDS = 100_000  # of all customers
FLAGGED = 300  # customers
_TEXT = 200  # a name longer than this is not one, and is cut

# Places in a transaction's list.
_ID, _TS, _AMOUNT, _MERCHANT, _LAT, _LON, _OUTCOME = range(7)


class _Customer:
    __slots__ = ("name", "places", "transactions")

    def __init__(self, name: str) -> None:
        self.name = name
        self.transactions: dict[int, list[Any]] = {}  # by offset: a customer is in one partition
        self.places: list[tuple[str, float, float]] = []


class Customers:
    """A transaction is known by its offset, so that what two topics say about it meets, whichever was read first."""

    def __init__(self, records: int = RECORDS) -> None:
        self._limit = records
        self._customers: dict[str, _Customer] = {}
        self._order: deque[tuple[_Customer, int | tuple[str, float, float]]] = deque()  # every record (offset, or place), oldest first
        self._flagged: dict[str, None] = {}  # the one that was flagged last is last

    def __len__(self) -> int:
        return len(self._customers)

    def transaction(self, offset: int, record: dict[str, Any]) -> None:
        """As the card reader sent it. The card is left where it is: nothing else is taken over than what is named here."""
        lat, lon = record.get("lat"), record.get("lon")
        if _is_place(lat, lon) and (known := self._entry(record["customer"], offset)) is not None:
            amount: Any = record.get("amount")
            known[:6] = (
                _text(record.get("tx_id")),
                _text(record.get("ts")),
                amount if type(amount) in (float, int) and 0 < amount < 1e15 else None,
                intern(_text(record.get("merchant")) or ""),
                lat,
                lon,
            )

    def decision(self, offset: int, decision: dict[str, Any]) -> None:
        known = self._entry(decision["customer"], offset)
        if known is not None:
            if known[_ID] is None:
                known[:4] = decision["tx_id"], decision["ts"], decision["amount"], decision["merchant"]
            known[_OUTCOME] = decision["rules"] and (
                decision["rules"],
                decision["gap_s"],
                decision["previous_max"],
                decision["distance_km"],
            )

    def duplicate(self, offset: int, record: dict[str, Any]) -> None:
        known = self._entry(record["customer"], offset)
        if known is not None:
            if known[_ID] is None:
                known[:2] = record["tx_id"], record["ts"]
            known[_OUTCOME] = "duplicate"

    def place(self, record: dict[str, Any]) -> None:
        lat: Any = record.get("lat")
        lon: Any = record.get("lon")
        ts = _text(record.get("ts"))
        if ts and _is_place(lat, lon):
            place = ts, lat, lon
            customer = self._customer(record["customer"])
            customer.places.append(place)
            if len(customer.places) > EACH:
                del customer.places[0]
            self._keep(customer, place)

    def page(self, name: str) -> dict[str, Any] | None:
        """Everything that is known of one customer; oldest first."""
        customer = self._customers.get(name)
        if customer is None:
            return None
        return {
            "customer": name,
            "transactions": [_shown(entry) for _, entry in sorted(customer.transactions.items()) if entry[_ID] is not None],
            "places": [{"ts": ts, "lat": lat, "lon": lon} for ts, lat, lon in customer.places],
        }

    def flagged(self, name: str) -> None:
        """Keep what is known of this customer, until enough others were flagged after."""
        self._flagged.pop(name, None)
        self._flagged[name] = None
        if len(self._flagged) > FLAGGED:
            oldest = next(iter(self._flagged))
            del self._flagged[oldest]
            self._customers.pop(oldest, None)  # some of it is older than all else by now

    def _customer(self, name: str) -> _Customer:
        customer = self._customers.get(name)
        if customer is None:
            customer = self._customers[name] = _Customer(name)
        return customer

    def _keep(self, customer: _Customer, record: int | tuple[str, float, float]) -> None:
        """Note a new record, and let go of the oldest if there are too many."""
        self._order.append((customer, record))
        if len(self._order) <= self._limit:
            return
        customer, oldest = self._order.popleft()
        if customer.name in self._flagged:
            return
        if isinstance(oldest, int):
            customer.transactions.pop(oldest, None)
        elif customer.places and customer.places[0] is oldest:
            del customer.places[0]
        if not customer.transactions and not customer.places and self._customers.get(customer.name) is customer:
            del self._customers[customer.name]

    def _entry(self, name: str, offset: int) -> list[Any] | None:
        """The transaction at this offset; none if it is older than all of a full list."""
        customer = self._customer(name)
        transactions = customer.transactions
        entry = transactions.get(offset)
        if entry is None:
            if len(transactions) >= EACH:
                oldest = min(transactions)
                if offset < oldest:
                    return None
                del transactions[oldest]
            entry = transactions[offset] = [None] * 7
            self._keep(customer, offset)
        return entry


def _text(value: Any) -> Any:
    """As it is if it is a text of sensible length. Records that the job will refuse come by here too."""
    return value[:_TEXT] if isinstance(value, str) else None


def _is_place(lat: Any, lon: Any) -> bool:
    return type(lat) in (float, int) and type(lon) in (float, int) and -90 <= lat <= 90 and -180 <= lon <= 180


def _shown(entry: list[Any]) -> dict[str, Any]:
    tx_id, ts, amount, merchant, lat, lon, outcome = entry
    shown = {"tx_id": tx_id, "ts": ts, "amount": amount, "merchant": merchant or None, "lat": lat, "lon": lon}
    if outcome is None:
        return {**shown, "outcome": "waiting", "rules": []}
    if outcome == "duplicate":
        return {**shown, "outcome": "duplicate", "rules": []}
    rules, gap, largest, distance = outcome or ([], None, None, None)
    return {**shown, "outcome": "decided", "rules": rules, "gap_s": gap, "previous_max": largest, "distance_km": distance}
