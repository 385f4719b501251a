"""`headrace cluster`: a Spark cluster on this machine; and the settings with which Spark's own tools run a program on any."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from headrace.embedded import cluster
from headrace.spark.session import settings as settings_of

app = typer.Typer(no_args_is_help=True, help="A Spark cluster on this machine, of processes as on many machines, for trying a job on one.")

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]


@app.command()
def up(
    workers: Annotated[int, typer.Option(help="How many workers.", min=1, max=64)] = 2,
    cores: Annotated[int, typer.Option(help="Task slots of each worker; they are threads, not cores.", min=1, max=1024)] = 4,
    memory: Annotated[str, typer.Option(help="For the executors of each worker.")] = "1g",
    as_json: Json = False,
) -> None:
    """Start a master and workers, and keep them until `headrace cluster down`."""
    _print(cluster.up(workers=workers, cores=cores, memory=memory), as_json)


@app.command()
def status(as_json: Json = False) -> None:
    """Show whether it runs, and where. Exits with 3 if it does not."""
    running = cluster.status()
    _print(running, as_json)
    if running is None:
        raise typer.Exit(3)


@app.command()
def down() -> None:
    """Stop it, and what runs there."""
    typer.echo("stopped" if cluster.down() else "it was not running")


def settings(
    file: Annotated[Path, typer.Argument(help="The file to write: spark-submit --properties-file FILE.", show_default=False)],
    master: Annotated[str, typer.Option(help="Spark's master: spark://…, yarn, k8s://…", show_default=False)],
) -> None:
    """Write the settings with which `spark-submit` starts a program that uses headrace, into a file for you only: it may hold a secret."""
    file.unlink(missing_ok=True)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as written:
        written.writelines(f"{name} {value}\n" for name, value in settings_of(master=master).items())


def _print(running: cluster.Cluster | None, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(asdict(running) if running else None, default=str))
    elif running is None:
        typer.echo("not running")
    else:
        Console(soft_wrap=True, highlight=False).print(
            f"[bold]{running.master}[/]  until `headrace cluster down`\n"
            f"  workers  {running.workers}, with {running.slots} task slots, of which {running.taken} are taken\n"
            f"  page     {running.page}\n  logs     {running.logs}"
        )
