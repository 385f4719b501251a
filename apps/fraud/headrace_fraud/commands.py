"""The commands `headrace demo` and `headrace fraud …`: argument parsing and printing only."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from headrace_fraud.world import send

fraud = typer.Typer(no_args_is_help=True, help="Card fraud, decided in milliseconds: the flagship application.")

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Settings = Annotated[Path | None, typer.Option("--settings", help="A TOML file with the rules' numbers.", show_default=False)]
Rule = Annotated[
    list[str], typer.Option("--rule", help="One of the rules' numbers, as name=value. May be given again.", show_default=False)
]


@fraud.command()
def decide(
    records: Annotated[Path, typer.Argument(metavar="IN.jsonl", help="Records of both kinds, a JSON object a line.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", help="Where decisions go, one a line, in the order of the file.", show_default=False)],
    mode: Annotated[Literal["batch", "micro-batch", "real-time"], typer.Option(help="How to run it; the result is the same.")] = "batch",
    dead_letters: Annotated[Path | None, typer.Option(help="Where refused lines go: line, reason, raw.", show_default=False)] = None,
    settings: Settings = None,
    rule: Rule = [],  # noqa: B006
    as_json: Json = False,
) -> None:
    """Decide every line of a file, in order. Stops when all is decided."""
    from headrace_fraud.deciding import lines
    from headrace_fraud.deciding.settings import load

    rules, console, began = load(settings, rule), Console(stderr=True, highlight=False), time.monotonic()
    with console.status("starting Spark") as status:
        counts = lines.decide(records, mode, out, dead_letters, rules, status.update)
    seconds = round(time.monotonic() - began, 1)
    if as_json:
        typer.echo(json.dumps({**asdict(counts), "seconds": seconds}))
        return
    table = Table(box=None, show_header=False)
    for name, count in asdict(counts).items():
        table.add_row(name.replace("_", " "), f"{count:,}")
    Console(highlight=False).print(table, f"{out}, in {seconds} s")


@fraud.command()
def generate(
    events: Annotated[int, typer.Option(help="So many records, of both kinds.", min=1)] = 100_000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same records.")] = 1,
    rate: Annotated[float, typer.Option(help="Transactions a second.", min=0.1)] = 1_000,
    out: Annotated[Path | None, typer.Option(help="A file to write, a JSON object a line.", show_default=False)] = None,
    to_kafka: Annotated[
        bool, typer.Option("--to-kafka", help="Send them to the topics transactions and locations, as time passes.")
    ] = False,
    truth: Annotated[Path | None, typer.Option(help="Where to note which transactions are fraud.", show_default=False)] = None,
    as_json: Json = False,
) -> None:
    """Make up customers, their days and their fraud."""
    import headrace as hr
    from headrace_fraud.world import files
    from headrace_fraud.world import send as live

    if (out is None) != to_kafka:
        raise hr.HeadraceError("it is not clear where the records shall go", fix="give --out FILE or --to-kafka, and not both")
    if out is not None:
        counts = files.write(out, events=events, seed=seed, rate=rate, truth_path=truth)
    else:
        counts = _sent(live.run(hr.topics.servers(), rate=rate, seed=seed, events=events, truth_path=truth))
    typer.echo(json.dumps(counts) if as_json else ", ".join(f"{value:,} {name}" for name, value in counts.items()))


@fraud.command()
def learn(
    decisions: Annotated[Path, typer.Argument(metavar="OUT.jsonl", help="What `decide` wrote.", show_default=False)],
    truth: Annotated[Path, typer.Argument(metavar="TRUTH.jsonl", help="What `generate --truth` noted.", show_default=False)],
    as_json: Json = False,
) -> None:
    """A model that learns from each decision, beside the rules: how many frauds each of them finds, and how often it is right."""
    from headrace_fraud.deciding import model

    scores = model.compare(decisions, truth)
    if as_json:
        typer.echo(json.dumps(scores))
        return
    table = Table("", "precision", "recall", "alerts", box=None)
    for who, score in scores.items():
        table.add_row(who, _share(score["precision"]), _share(score["recall"]), f"{score['alerts']:,}")
    Console(highlight=False).print(table)


def _sent(counts: send.Counts) -> dict[str, int]:
    return {**counts.acknowledged, "frauds": counts.frauds}


@fraud.command()
def query(
    sql: Annotated[str, typer.Argument(help="SELECT … FROM alerts, windows or decisions.", show_default=False)],
    database: Annotated[str | None, typer.Option(help="A path, postgresql://…, or env:NAME.", show_default="the last demo's")] = None,
    decisions: Annotated[Path | None, typer.Option(help="The directory of Parquet files.", show_default="the last demo's")] = None,
    limit: Annotated[int, typer.Option(help="At most so many rows.", min=1)] = 1_000,
    as_json: Json = False,
) -> None:
    """Look at what was stored, in SQL. Reads only."""
    from headrace_fraud.asking.query import query as ask
    from headrace_fraud.demo.demo import place

    answer = ask(database or str(place() / "fraud.db"), sql, decisions=decisions or place() / "decisions", limit=limit)
    if as_json:
        typer.echo(json.dumps([dict(zip(answer.columns, row, strict=True)) for row in answer.rows], default=str))
        return
    table = Table(*map(escape, answer.columns), box=None)
    for row in answer.rows:
        table.add_row(*("" if value is None else escape(str(value)) for value in row))
    console = Console(highlight=False)
    console.print(table)
    if answer.notice:
        console.print(f"[yellow]note[/] {escape(answer.notice)}")


def demo(
    seconds: Annotated[float | None, typer.Option(help="End after so long.", min=1, show_default="until Ctrl-C")] = None,
    rate: Annotated[float, typer.Option(help="Transactions a second.", min=0.1)] = 200,
    seed: Annotated[int, typer.Option(help="The same seed gives the same customers.")] = 1,
    port: Annotated[int, typer.Option(help="Of the page; 0 is any that is free.", min=0, max=65535)] = 0,
    json_file: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the result there.", show_default=False)] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page.")] = True,
    warm_up: Annotated[float, typer.Option(help="Latencies of the first so many seconds of decisions are told apart.", min=0)] = 30,
    model: Annotated[bool, typer.Option("--model", help="A model beside the rules, that learns as it goes: how right are both?")] = False,
    settings: Settings = None,
    rule: Rule = [],  # noqa: B006
) -> None:
    """Fraud decisions on a live page: a broker, three jobs, a generator and a link to look at."""
    import headrace as hr

    if missing := [package for package in ("starlette", "uvicorn") if find_spec(package) is None]:
        raise hr.errors.SetupError(f"the demo's page needs the package {missing[0]}", fix="pip install 'headrace[fraud]'")
    from headrace_fraud.deciding.model import require
    from headrace_fraud.deciding.settings import load
    from headrace_fraud.demo.demo import Demo, Options

    if model:
        require()

    console = Console(highlight=False)
    report = Demo(Options(seconds, rate, seed, port, browser, load(settings, rule), warm_up, model), console).run()
    if json_file is not None:
        json_file.write_text(json.dumps(report, indent=1) + "\n")
    console.print(_table(report))


def _table(report: dict[str, Any]) -> Table:
    table = Table(box=None, show_header=False)
    holds = "[green]nothing lost[/]" if report["conserved"] else "[red]some records have no outcome yet[/]"
    table.add_row("sent", f"{report['sent']:,} = {report['decided']:,} decided + {report['duplicates']:,} duplicates + "
                          f"{report['dead_letters']:,} dead letters: {holds}")  # fmt: skip
    for rule, score in report["rules"].items():
        table.add_row(rule, f"precision {_share(score['precision'])}, recall {_share(score['recall'])}")
    for who in ("rules", "model") if "model" in report else ():
        score = report["model"][who]
        words = f"precision {_share(score['precision'])}, recall {_share(score['recall'])}"
        table.add_row(f"{who} over all", f"{words}, of {report['model']['scored']:,} decisions that the model was told of")
    table.add_row("memory", f"{report['peak_memory_mb']:,} MB at most; first decision after {report['seconds_to_first_decision']} s")
    table.add_row("look", 'headrace fraud query "SELECT * FROM alerts ORDER BY ts DESC LIMIT 10"')
    for name, words in _latencies(report):
        table.add_row(name, words)  # last, next to the prompt
    return table


def _latencies(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The steady state first: it is what lasts."""
    warm_up = f"{report['latency_from_s']:g} s"
    for name, key, when in (
        ("latency", "latency_ms", f"in the steady state, after {warm_up} of warm-up"),
        ("", "latency_warm_up_ms", f"in the warm-up, the first {warm_up}"),
        ("", "latency_overall_ms", "overall"),
    ):
        ms = report[key]
        if ms["p50"] is not None:
            yield name, f"half within {_ms(ms['p50'])}, 99 % within {_ms(ms['p99'])}, all within {_ms(ms['max'])} {when}"
        elif key == "latency_ms":
            yield name, f"no steady state: nothing was decided after the warm-up of {warm_up}"


def _ms(value: float) -> str:
    return f"{value:,.1f} ms" if value < 10 else f"{value:,.0f} ms"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"
