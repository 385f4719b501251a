"""`headrace storm run topology.py`: a topology on Spark, and a picture of it that keeps up."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from headrace.cli import program
from headrace.cli.live import counted_signals
from headrace.errors import DefinitionError
from headrace.planning.table import Mode

if TYPE_CHECKING:
    from headrace.fronts.storm.graph.layout import Layout
    from headrace.fronts.storm.spark.metrics import ComponentMetrics

app = typer.Typer(no_args_is_help=True, help="Topologies of Storm's: spouts and bolts, on Spark.")


@app.callback()
def _commands() -> None:
    """So that `run` is a command of its own, though there is one only."""


@app.command("run")
def run(
    file: Annotated[Path, typer.Argument(help="A Python file with a Topology, or a YAML file as Flux has it.", show_default=False)],
    name: Annotated[str | None, typer.Option(help="Its name; it goes on where one of that name was.", show_default="its own")] = None,
    mode: Annotated[Mode, typer.Option(help="real-time or micro-batch.")] = "real-time",
    settings: Annotated[list[str], typer.Option("--set", help="A setting, as topology.workers=2. May be given again.")] = [],  # noqa: B006
    seconds: Annotated[float | None, typer.Option(help="Stop when it has run for so long.", show_default="until Ctrl-C")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")] = False,
) -> None:
    """Run a topology until Ctrl-C."""
    from headrace.fronts.storm.spark.submit import submit  # a Kafka client of its own, which other commands do not need

    program.beside(file)
    given = program.settings(settings)
    topology = load(file, given)
    config = {key: _value(text) for key, text in given.items() if key.startswith("topology.")}
    with submit(topology, name, mode=mode, config=config) as running, counted_signals() as signals, Live(auto_refresh=False) as screen:
        deadline = None if seconds is None else time.monotonic() + seconds
        while not signals and not running.wait(1.0) and (deadline is None or time.monotonic() < deadline):
            components = running.metrics().components()
            if as_json:
                for component in components:
                    typer.echo(json.dumps(asdict(component)))
            else:
                screen.update(picture(running.layout, mode, components, running.restarted), refresh=True)


def load(file: Path, settings: Mapping[str, str]) -> Any:
    """The topology of a file: `topology` (one, or a function that gives one), or the one class of it that is a Topology."""
    from headrace.fronts.storm.topologies.flux import load_flux
    from headrace.fronts.storm.topologies.topology import Topology

    if file.suffix in (".yaml", ".yml"):
        return load_flux(file, settings)
    loaded = program.module(file)
    defined = getattr(loaded, "topology", None)
    if defined is not None:
        return defined() if callable(defined) and not isinstance(defined, type) else defined
    own = [
        value
        for value in vars(loaded).values()
        if isinstance(value, type) and issubclass(value, Topology) and value.__module__ == loaded.__name__
    ]
    if len(own) != 1:
        raise DefinitionError(
            f"{file} has {len(own) or 'no'} topologies",
            fix="define one class T(Topology), or `topology`: one, or a function that gives one",
        )
    return own[0]


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def picture(layout: Layout, mode: str, components: list[ComponentMetrics], restarted: list[str]) -> Group:
    """The topology as a tree from its spouts on, and its numbers in a table."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title, justify in _COLUMNS.items():
        table.add_column(title, justify=justify)  # type: ignore[arg-type]
    for one in components:
        latency = one.complete_latency if layout.parts[one.component].is_spout else one.execute_latency
        failed = Text(f"{one.failed:,}", style="red" if one.failed else "")
        table.add_row(
            one.component, str(one.tasks), f"{one.rate:,.0f}", f"{one.emitted:,}", f"{one.acked:,}", failed, f"{one.pending:,}",
            "–" if latency is None else f"{latency:,.2f} ms",
        )  # fmt: skip
    errors = [Text(f"{one.component}: {one.error}", style="red") for one in components if one.error]
    again = [Text(f"started again: {', '.join(restarted)}", style="yellow")] if restarted else []
    return Group(Text(f"{layout.name}, {mode}", style="bold"), tree(layout), table, *errors, *again, Text("Ctrl-C stops it", style="dim"))


_COLUMNS = {
    "component": "left",
    "tasks": "right",
    "per second": "right",
    "emitted": "right",
    "acked": "right",
    "failed": "right",
    "pending": "right",
    "execute (bolt), complete (spout)": "right",
}


def tree(layout: Layout) -> Tree:
    """Who reads from whom, and by which grouping."""
    root = Tree("", hide_root=True)

    def grow(branch: Tree, name: str) -> None:
        for part in layout.parts.values():
            for (source, stream), grouping in part.inputs.items():
                if source == name:
                    by = grouping.kind + (f" {', '.join(grouping.names)}" if grouping.names else "")
                    of = "" if stream == "default" else f", stream {stream}"
                    grow(branch.add(f"{part.name} × {part.tasks}  [dim]{by}{of}[/]"), part.name)

    for part in layout.parts.values():
        if part.is_spout:
            grow(root.add(f"[bold]{part.name}[/] × {part.tasks}"), part.name)
    return root
