"""A topology that runs, drawn: who reads from whom, and the numbers of each component. It fits into 80 columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

if TYPE_CHECKING:
    from headrace.fronts.storm.graph.layout import Layout
    from headrace.fronts.storm.spark.metrics import ComponentMetrics

_COLUMNS: dict[str, Literal["left", "right"]] = {
    "component": "left", "tasks": "right", "a second": "right", "emitted": "right", "acked": "right", "failed": "right", "pending": "right",
    "latency": "right",
}  # fmt: skip
_NUMBERS = 67
"""The width of all columns but the first, at most, with what is between them."""
_NOTE = "latency: of a spout's tuple until its ack, of a bolt's call. Ctrl-C stops it"


@dataclass(frozen=True)
class Picture:
    """The topology as a tree from its spouts on, and its numbers in a table, if there are any yet."""

    layout: Layout
    mode: str
    state: str
    components: Sequence[ComponentMetrics] = ()
    restarted: Sequence[str] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        errors = [Text(f"{one.component}: {one.error}", style="red") for one in self.components if one.error]
        again = [Text(f"started again: {', '.join(self.restarted)}", style="yellow")] if self.restarted else []
        title = Text.assemble((f"{self.layout.name}, {self.mode}", "bold"), f"  {self.state}  ", (self.layout.reliability.name, "dim"))
        numbers = [self._table(options.max_width)] if self.components else []
        yield Group(title, tree(self.layout), *numbers, *errors, *again, Text(_NOTE, style="dim"))

    def _table(self, width: int) -> Table:
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        for name, justify in _COLUMNS.items():
            most = max(9, width - _NUMBERS) if name == "component" else None
            table.add_column(name, justify=justify, no_wrap=True, overflow="ellipsis", max_width=most)
        for one in self.components:
            latency = one.complete_latency if self.layout.parts[one.component].is_spout else one.execute_latency
            table.add_row(
                one.component,
                str(one.tasks),
                short(round(one.rate)),
                short(one.emitted),
                short(one.acked),
                Text(short(one.failed), style="red" if one.failed else ""),
                short(one.pending),
                "–" if latency is None else f"{latency:,.2f} ms",
            )
        return table


def short(number: int) -> str:
    """A number in at most six characters."""
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= max(size, 1e5):
            return f"{number / size:.3g}{unit}"
    return f"{number:,}"


def tree(layout: Layout) -> Tree:
    """Who reads from whom, and by which grouping. A component that several read from is drawn once with what reads from it."""
    root = Tree("", hide_root=True)
    drawn: set[str] = set()

    def grow(branch: Tree, name: str) -> None:
        if name in drawn:
            return
        drawn.add(name)
        for part in layout.parts.values():
            for (source, stream), grouping in part.inputs.items():
                if source == name:
                    by = grouping.kind + (f" {', '.join(grouping.names)}" if grouping.names else "")
                    of = "" if stream == "default" else f", stream {stream}"
                    text = Text.assemble(f"{part.name} × {part.tasks}", (f"  {by}{of}", "dim"), overflow="ellipsis", no_wrap=True)
                    grow(branch.add(text), part.name)

    for part in layout.parts.values():
        if part.is_spout:
            grow(root.add(Text.assemble((part.name, "bold"), f" × {part.tasks}", overflow="ellipsis", no_wrap=True)), part.name)
    return root
