"""`headrace storm run topology.py`: a topology on Spark, and a picture of it that keeps up."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.live import Live

from headrace.cli import program
from headrace.cli.live import counted_signals
from headrace.cli.topology_picture import Picture
from headrace.errors import DefinitionError

app = typer.Typer(no_args_is_help=True, help="Topologies of Storm's: spouts and bolts, on Spark.")

_GLANCE = 1.0


@app.callback()
def _commands() -> None:
    """So that `run` is a command of its own, though there is one only."""


@app.command("run")
def run(
    file: Annotated[Path, typer.Argument(help="A Python file with a Topology, or a YAML file as Flux has it.", show_default=False)],
    name: Annotated[str | None, typer.Option(help="Its name; it goes on where one of that name was.", show_default="its own")] = None,
    mode: Annotated[Literal["real-time", "micro-batch"], typer.Option(help="Tuple by tuple, or in batches.")] = "real-time",
    settings: Annotated[list[str], typer.Option("--set", help="A setting, as topology.workers=2. May be given again.")] = [],  # noqa: B006
    properties: Annotated[Path | None, typer.Option("--filter", help="A .properties file for ${name} in YAML.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Stop when it has run for so long.", show_default="until Ctrl-C")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")] = False,
) -> None:
    """Run a topology until Ctrl-C."""
    from headrace.fronts.storm.spark.submit import submit  # a Kafka client of its own, which other commands do not need
    from headrace.fronts.storm.topologies.topology import layout

    if not file.is_file():
        raise DefinitionError(f"there is no file {file}", fix="give the path of a Python file that defines a topology, or of a YAML file")
    program.beside(file)
    chosen = program.settings(settings)
    config = {key: _value(text) for key, text in chosen.items() if key.startswith("topology.")}
    made = layout(load(file, chosen, properties), config=config, name=name)
    with counted_signals() as early, Live(auto_refresh=False) as screen:

        def show(picture: Picture) -> Picture:
            if not as_json:
                screen.update(picture, refresh=True)
            elif picture.state == "running":
                for component in picture.components:
                    typer.echo(json.dumps(asdict(component)))
            return picture

        last = show(Picture(made, mode, "starting"))
        with submit(made, mode=mode) as running, counted_signals() as signals:  # PySpark puts a handler of its own in place of the first
            deadline = None if seconds is None else time.monotonic() + seconds
            while not (early or signals) and not running.wait(_GLANCE) and (deadline is None or time.monotonic() < deadline):
                last = show(Picture(made, mode, "running", running.metrics().components(), running.restarted))
            show(replace(last, state="stopping"))
        show(replace(last, state="stopped"))


def load(file: Path, settings: Mapping[str, str], properties: Path | None = None) -> Any:
    """The topology of a file: `topology` (one, or a function that gives one), or the one class of it that is a Topology."""
    from headrace.fronts.storm.topologies.flux import load_flux
    from headrace.fronts.storm.topologies.topology import Topology

    if file.suffix in (".yaml", ".yml"):
        return load_flux(file, settings, properties=properties)
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
