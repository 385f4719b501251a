"""The drawings of the guide: each is made of what a program of its page gave when it ran.

    python -m docs.tooling.drawings        makes them anew

A drawing is of a program of the page that has its name: the first, or the one of `PLACES`. `DRAWINGS` has, for each, what it draws of the
program's variables.
"""

from __future__ import annotations

import re
import runpy
import tempfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
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
    """The bids of each seller, and below them the windows in which it is among the best two."""

    def bar(row: Any) -> Bar:
        minute, rank = float(row.end.astimezone(UTC).minute), {1: "first", 2: "second"}[row.rank]
        dots = tuple(float(at) for at, seller, _ in bids if seller == row.seller and minute - 10 <= at < minute)
        return Bar(minute - 10, minute, f"{rank}: {row.total}", dots=dots)

    bids, best = program["bids"], sorted(program["best"].sink.rows, key=lambda row: row.end)
    dots = {seller: [Dot(minute, str(price)) for minute, of, price in bids if of == seller] for _, seller, _ in bids}
    lanes = [Lane(seller, dots[seller], [bar(row) for row in best if row.seller == seller]) for seller in sorted(dots)]
    ticks: dict[float, str] = {tick: f"08:{tick:02}" for tick in range(0, 21, 5)}
    return svg(lanes, ticks=ticks, title="Bids of four sellers, and the best of ten minutes")


def _list(amounts: list[float]) -> str:
    return ", ".join(f"{amount:g}" for amount in amounts)


DRAWINGS: Mapping[str, Callable[[Program], str]] = {"joins": joins, "patterns": patterns, "ranking": ranking, "windows": windows}
PLACES = {"ranking": 2}


def drawn(name: str) -> str:
    """The drawing, of a run of its program."""
    program = re.findall(r"^```python\n(.*?)^```", (GUIDE / f"{name}.md").read_text(), flags=re.MULTILINE | re.DOTALL)[PLACES.get(name, 0)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "program.py"
        file.write_text(program)
        return DRAWINGS[name](runpy.run_path(str(file), run_name="__main__"))


if __name__ == "__main__":
    for each in DRAWINGS:
        (GUIDE / f"{each}.svg").write_text(drawn(each))
