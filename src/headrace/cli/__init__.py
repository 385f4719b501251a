"""The command `headrace`: argument parsing and printing only; each command is one call."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from typer.core import TyperGroup

from headrace.cli import cluster, live, modes, program, sql, storm, supervising, topics
from headrace.embedded import kafka
from headrace.errors import HeadraceError, SetupError
from headrace.planning.table import Mode
from headrace.spark import class_archive, doctor, jvm_exit
from headrace.spark.session import session
from headrace_fraud import commands as flagship


class _Group(TyperGroup):
    """Prints an error of headrace's as its words, without the traceback, and exits with 1."""

    def invoke(self, ctx: Any) -> Any:
        try:
            with jvm_exit.translated(SetupError):  # where the program itself calls Spark
                return super().invoke(ctx)
        except HeadraceError as error:
            _say(f"[red]error[/] {escape(str(error))}", error=True)
            raise typer.Exit(supervising.exit_status(error)) from None
        except KeyboardInterrupt:  # while it starts; a job that runs ends in order, with 0
            raise typer.Exit(130) from None


app = typer.Typer(cls=_Group, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help="Streams on Spark.")
_kafka = typer.Typer(no_args_is_help=True, help="The Kafka broker that comes with headrace, for one machine.")
app.add_typer(_kafka, name="kafka")
app.add_typer(cluster.app, name="cluster")
app.add_typer(topics.app, name="topics")
app.add_typer(storm.app, name="storm")
app.add_typer(flagship.fraud, name="fraud")
app.command("demo")(flagship.demo)
app.command("sql")(sql.prompt)
app.command("settings")(cluster.settings)

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]


@_kafka.command()
def up(
    port: Annotated[int | None, typer.Option(help="Listen there rather than at a free port.", min=1, max=65535)] = None,
    as_json: Json = False,
) -> None:
    """Start the broker and keep it until `headrace kafka down`."""
    _print_broker(kafka.up(port=port), as_json)


@_kafka.command()
def status(as_json: Json = False) -> None:
    """Show whether the broker runs, and where. Exits with 3 if it does not."""
    running = kafka.status()
    _print_broker(running, as_json)
    if running is None:
        raise typer.Exit(3)


@_kafka.command()
def down() -> None:
    """Stop the broker, also if something still uses it. Its topics stay."""
    _say("stopped" if kafka.down() else "it was not running")


@app.command("prepare")
def prepare() -> None:
    """Fetch and compile what first use would, and prepare Spark's classes: later starts are faster, and need no network."""
    with Console(stderr=True).status("fetching, compiling, and preparing Spark's classes; once, for up to a minute or two"):
        prepared = class_archive.prepare()
    _say(
        "ready; sessions start with prepared classes"
        if prepared
        else "ready, but Spark's classes could not be prepared with this Java: starts stay as they are"
    )


@app.command("doctor")
def examine(as_json: Json = False) -> None:
    """Show what headrace needs, what this machine has of it, and how to mend the rest. Exits with 1 if something is missing."""
    findings = doctor.examine()
    if as_json:
        _say_json([asdict(finding) for finding in findings])
    else:
        colour = {"found": "green", "later": "yellow", "missing": "red"}
        for finding in findings:
            _say(f"[{colour[finding.state]}]{finding.state:<8}[/] {finding.name:<15} {escape(finding.detail)}")
            if finding.fix:
                _say(f"{'':<24} fix: {escape(finding.fix)}")
    if any(finding.state == "missing" for finding in findings):
        raise typer.Exit(1)


@app.command("run")
def run_program(
    file: Annotated[
        Path, typer.Argument(help="A Python file that defines `job`: a Job, or a function that returns one.", show_default=False)
    ],
    mode: Annotated[Mode, typer.Option(help="How to run it.")] = "micro-batch",
    master: Annotated[str | None, typer.Option(help="Spark's master: local[8], spark://…, yarn, k8s://…", show_default="local[8]")] = None,
    trigger: Annotated[
        str | None, typer.Option(help="'once', 'finish', or an interval: '10 seconds'.", show_default="the job's own")
    ] = None,
    settings: Annotated[list[str], typer.Option("--set", help="A setting of the job, as key=value. May be given again.")] = [],  # noqa: B006
    conf: Annotated[list[str], typer.Option("--conf", help="A setting of Spark's, as spark.key=value. May be given again.")] = [],  # noqa: B006
    metrics: Annotated[
        int | None, typer.Option(help="Serve /metrics for Prometheus and /health at this port of 127.0.0.1.", show_default=False)
    ] = None,
    supervise: Annotated[bool, typer.Option("--supervise", help="Start it again when it fails.")] = False,
    restarts: Annotated[int, typer.Option(help="With --supervise: give up after so many failures in a row.", min=0)] = 10,
    as_json: Json = False,
) -> None:
    """Run the job of a program. A stream runs until Ctrl-C."""
    if supervise:
        supervising.run_again_and_again(restarts, as_json=as_json)
        return
    program.beside(file)
    # What is wrong on the command line is told before Spark starts.
    when, values, sparks = live.trigger(trigger), program.settings(settings), program.conf(conf, master)
    session(master=master, conf=sparks)
    live.run(program.load(file, values), mode, when, metrics=metrics, as_json=as_json)


@app.command("ask")
def ask(
    function: Annotated[str, typer.Argument(help="The name of a function that a job answers.", show_default=False)],
    request: Annotated[list[str], typer.Argument(help="The request, as field=value; a value may be JSON.", show_default=False)] = [],  # noqa: B006
    seconds: Annotated[float, typer.Option(help="How long to wait for the answer.")] = 10,
    servers: Annotated[str | None, typer.Option(help="host:port of the cluster.")] = None,
    as_json: Json = False,
) -> None:
    """Ask a running job, and show its answer."""
    from headrace.fronts import drpc  # a Kafka client, which other commands do not need

    answer = drpc.ask(function, seconds=seconds, servers=servers, **program.values(request))
    if as_json:
        _say_json(answer)
    else:
        for name, value in answer.items():
            _say(f"[bold]{escape(name)}[/]  {escape(str(value))}")


@app.command("modes")
def show_modes(
    as_json: Json = False, markdown: Annotated[bool, typer.Option("--markdown", help="Print the reference page.")] = False
) -> None:
    """Show which operator, source and sink works in which mode, with which guarantee."""
    if as_json:
        _say_json(modes.records())
    elif markdown:
        typer.echo(modes.markdown())
    else:
        Console(highlight=False).print(modes.rich_table())


def _print_broker(running: kafka.Broker | None, as_json: bool) -> None:
    if as_json:
        _say_json(asdict(running) if running else None)
    elif running is None:
        _say("not running")
    else:
        until = "until `headrace kafka down`" if running.kept else "as long as a program uses it"
        _say(f"[bold]{running.bootstrap}[/]  {until}\n  data  {running.data}\n  log   {running.log}")
    if not as_json and (other := os.environ.get(kafka.ADDRESS)):
        _say(f"[yellow]note[/] programs use {escape(other)}: {kafka.ADDRESS} is set")


def _say(text: str, *, error: bool = False) -> None:
    # Made anew each time: it writes to whatever standard output is now.
    Console(stderr=error, soft_wrap=True, highlight=False).print(text)


def _say_json(value: object) -> None:
    typer.echo(json.dumps(value, default=str))
