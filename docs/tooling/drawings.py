"""The drawings of the guide: each is made of what a program of its page gave when it ran.

    python -m docs.tooling.drawings        makes them anew

A drawing is of the first program of the page that has its name. `DRAWINGS` has, for each, what it draws of the program's variables.
"""

from __future__ import annotations

import re
import runpy
import tempfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from docs.tooling.timelines import Bar, Dot, Lane, svg

GUIDE = Path(__file__).parents[1] / "guide"
Program = Mapping[str, Any]


def patterns(program: Program) -> str:
    """The payments of each card, and below them the matches and what ran out of time."""
    start = program["start"]

    def minute(at: datetime) -> float:
        return float((at.astimezone(UTC) - start).total_seconds() / 60)  # PySpark gives times in this machine's zone

    def bars(rows: Any, card: str, kind: str, word: str) -> list[Bar]:
        return [
            Bar(minute(row.start), minute(row.end), f"{word}: {_list(row.amounts)}", kind, tuple(minute(at) for at in row.times))
            for row in rows if row.card == card
        ]  # fmt: skip

    rows = program["rows"]
    lanes = [
        Lane(
            card, [Dot(minute(at), f"{amount:g}") for name, amount, at in rows if name == card],
            bars(program["found"].sink.rows, card, "result", "match") + bars(program["expired"].sink.rows, card, "muted", "timed out"),
        )
        for card in dict.fromkeys(name for name, _, _ in rows)
    ]  # fmt: skip
    last = max(minute(at) for _, _, at in rows)
    return svg(lanes, ticks={tick: f"10:{tick:02}" for tick in range(0, int(last) + 1, 5)}, title="Payments of two cards, and the matches")


def joins(program: Program) -> str:
    """Orders and payments, and below the orders the rows of the join: from the one to the other, or as long as it waited in vain."""
    start = program["noon"]

    def minute(at: datetime) -> float:
        return float((at.astimezone(UTC) - start).total_seconds() / 60)

    def bar(row: Any) -> Bar:
        at = minute(row.at)
        if row.paid is None:
            return Bar(at, at + 10, f"order {row.order} alone", "muted", (at,))
        return Bar(at, minute(row.paid), f"order {row.order} with {row.amount:g}", dots=(at, minute(row.paid)))

    rows = sorted(program["joined"].sink.rows, key=lambda row: (row.order, row.paid or row.at))
    orders = Lane("orders", [Dot(minute(at), str(order)) for order, at in program["ordered"]], [bar(row) for row in rows])
    payments = Lane("payments", [Dot(minute(at), f"{order}: {amount:g}") for order, amount, at in program["paid"]])
    ticks: dict[float, str] = {tick: f"12:{tick:02}" for tick in range(0, 16, 2)}
    return svg([payments, orders], ticks=ticks, title="Three orders, four payments, and the rows of the join")


def windows(program: Program) -> str:
    """The bids, and below them the windows of each kind with their sums."""
    start = program["start"]

    def minute(at: datetime) -> float:
        return float((at.astimezone(UTC) - start).total_seconds() / 60)

    def bars(output: Any) -> list[Bar]:
        spans = sorted((minute(row.start), minute(row.end), str(row.total)) for row in output.sink.rows)
        return [Bar(*span, dots=tuple(minute(at) for _, at in program["rows"] if span[0] <= minute(at) < span[1])) for span in spans]

    dots = [Dot(minute(at), str(price)) for price, at in program["rows"]]
    lanes = [Lane(name, dots, bars(output)) for name, output in program["sums"].items()]
    return svg(lanes, ticks={tick: f"08:{tick:02}" for tick in range(0, 26, 5)}, title="Bids in windows of four kinds")


def ranking(program: Program) -> str:
    """The bids of each auction, and below them those that were among the best, for as long as they were."""
    start = program["noon"]
    last = max((at - start).total_seconds() / 60 for _, _, at in program["offered"])

    def minute(at: datetime) -> float:
        return float((at.astimezone(UTC) - start).total_seconds() / 60)

    def bars(auction: int) -> list[Bar]:
        """Behind a row that left is the one that has entered for it."""
        rows = [row for row in program["best"].sink.rows if row.auction == auction]
        entered = {row.price: minute(row.at) for row in rows if row.change == "entered"}
        left = {row.price: minute(newer.at) for row, newer in pairwise(rows) if row.change == "left"}
        return [
            Bar(at, left.get(price, last + 1), str(price), "muted" if price in left else "result", (at,)) for price, at in entered.items()
        ]

    lanes = [
        Lane(
            f"auction {auction}", [Dot(minute(at), str(price)) for each, price, at in program["offered"] if each == auction], bars(auction)
        )
        for auction in (1, 2)
    ]
    ticks: dict[float, str] = {tick: f"12:{tick:02}" for tick in range(0, int(last) + 2, 3)}
    return svg(lanes, ticks=ticks, title="Bids of two auctions, and how long each was among the best two")


def _list(amounts: list[float]) -> str:
    return ", ".join(f"{amount:g}" for amount in amounts)


DRAWINGS: Mapping[str, Callable[[Program], str]] = {"joins": joins, "patterns": patterns, "ranking": ranking, "windows": windows}


def drawn(name: str) -> str:
    """The drawing, of a run of its program."""
    program = re.findall(r"^```python\n(.*?)^```", (GUIDE / f"{name}.md").read_text(), flags=re.MULTILINE | re.DOTALL)[0]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "program.py"
        file.write_text(program)
        return DRAWINGS[name](runpy.run_path(str(file), run_name="__main__"))


if __name__ == "__main__":
    for each in DRAWINGS:
        (GUIDE / f"{each}.svg").write_text(drawn(each))
