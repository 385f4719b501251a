"""`headrace topics`: the topics of a Kafka cluster, and records in and out of them by hand. Each command is a call of `headrace.topics`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from headrace.errors import DefinitionError
from headrace.fronts import topics
from headrace.fronts.topics import Description, Record

app = typer.Typer(no_args_is_help=True, help="The topics of a Kafka cluster, and records in and out of them.")

Name = Annotated[str, typer.Argument(help="The topic.", show_default=False)]
Names = Annotated[list[str], typer.Argument(help="One topic or more.", show_default=False)]
Servers = Annotated[str | None, typer.Option(help="host:port of the cluster.", show_default="HEADRACE_KAFKA, else headrace's own broker")]
Options = Annotated[
    list[str],
    typer.Option("--option", help="An option of the client, librdkafka: sasl.username=ann, sasl.password=env:NAME. May be repeated."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
_EACH = 1000  # records between two looks at how many were sent


@app.command("list")
def list_topics(servers: Servers = None, options: Options = [], as_json: Json = False) -> None:  # noqa: B006
    """Show all topics but Kafka's own, with how many records they hold."""
    with _waiting():
        listed = topics.list(servers=servers, options=_pairs("--option", options))
    if as_json:
        _say_json([{"name": each.name, "partitions": len(each.partitions), "records": each.records} for each in listed])
    elif listed:
        table = _table("topic", partitions="right", records="right")
        for each in listed:
            table.add_row(Text(each.name), f"{len(each.partitions):,}", f"{each.records:,}")
        _console().print(table)
    else:
        _console().print("there is no topic yet; headrace topics create NAME makes one")


@app.command()
def create(
    names: Names,
    partitions: Annotated[int | None, typer.Option(min=1, help="How many logs it is split into.", show_default="the cluster's")] = None,
    replicas: Annotated[int | None, typer.Option(min=1, help="On how many brokers each is.", show_default="the cluster's")] = None,
    config: Annotated[list[str], typer.Option(help="An option of the topic: retention.ms=86400000. May be repeated.")] = [],  # noqa: B006
    servers: Servers = None,
    options: Options = [],  # noqa: B006
) -> None:
    """Make topics."""
    settings, client = _pairs("--config", config), _pairs("--option", options)
    with _waiting():
        topics.create(*names, partitions=partitions, replicas=replicas, config=settings, servers=servers, options=client)
    _console().print(Text(f"made {', '.join(names)}"))


@app.command()
def describe(name: Name, servers: Servers = None, options: Options = [], as_json: Json = False) -> None:  # noqa: B006
    """Show a topic: its partitions, with their offsets and brokers, and the options that were set for it."""
    with _waiting():
        description = topics.describe(name, servers=servers, options=_pairs("--option", options))
    if as_json:
        _say_json(asdict(description) | {"records": description.records})
    else:
        _show(description)


@app.command()
def send(
    name: Name,
    values: Annotated[list[str] | None, typer.Argument(help="A record each; without any, a line of standard input is one.")] = None,
    key: Annotated[str | None, typer.Option(help="The key of all of them.")] = None,
    header: Annotated[list[str], typer.Option(help="A header of all of them: name=value. May be repeated.")] = [],  # noqa: B006
    partition: Annotated[int | None, typer.Option(min=0, help="Their partition.", show_default="the key decides")] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help='A record is JSON, as `read --json` prints it: {"value": "…", "key": "…", "headers": {"a": "b"}}.'),
    ] = False,
    servers: Servers = None,
    options: Options = [],  # noqa: B006
) -> None:
    """Send records, and wait until the cluster has them."""
    headers, client = _pairs("--header", header), _pairs("--option", options)
    if as_json and (key is not None or headers or partition is not None):
        raise DefinitionError("with --json each record has its own key, headers and partition", fix="write them into the JSON")
    by_hand = not values and sys.stdin.isatty()
    if by_hand:
        _console(error=True).print("[dim]a line is a record; Ctrl-D ends[/]")
    texts = iter(values or (line.removesuffix("\n") for line in sys.stdin))
    with _waiting(quiet=by_hand) as tell:
        count = topics.send(
            name, _of_json(texts) if as_json else texts, key=key, headers=headers, partition=partition, servers=servers, options=client,
            sent=lambda count: None if count % _EACH else tell(f"{count:,} records"),
        )  # fmt: skip
    _console().print(f"sent {count:,} record{'' if count == 1 else 's'}")


@app.command()
def read(
    name: Name,
    start: Annotated[
        str, typer.Option("--from", help="earliest, latest, or a time: 2026-01-31T09:00, in UTC if it has no zone.")
    ] = "earliest",
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many records.", show_default="all")] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Wait for records to come, until Ctrl-C.")] = False,
    partition: Annotated[int | None, typer.Option(min=0, help="This partition alone.", show_default="all")] = None,
    as_json: Json = False,
    servers: Servers = None,
    options: Options = [],  # noqa: B006
) -> None:
    """Show the records of a topic, those of a partition in its order: partition/offset, time, key, value, headers."""
    begin, client = _position(start), _pairs("--option", options)
    with _waiting():
        records = topics.read(name, start=begin, limit=limit, follow=follow, partition=partition, servers=servers, options=client)
    console = _console()
    try:
        for record in records:
            if as_json:
                _say_json(record.as_json())
            else:
                console.print(_line(record), soft_wrap=True)
    except KeyboardInterrupt:
        if not follow:
            raise


@app.command()
def delete(
    names: Names,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    servers: Servers = None,
    options: Options = [],  # noqa: B006
) -> None:
    """Delete topics, with all records in them."""
    client = _pairs("--option", options)
    if not yes:
        with _waiting():
            descriptions = [topics.describe(name, servers=servers, options=client) for name in names]
        what = ", ".join(f"{each.name} with {each.records:,} records" for each in descriptions)
        typer.confirm(f"Delete {what}?", abort=True)
    with _waiting():
        topics.delete(*names, servers=servers, options=client)
    _console().print(Text(f"deleted {', '.join(names)}"))


def _show(description: Description) -> None:
    console = _console()
    console.print(Text.assemble((description.name, "bold"), f"  {description.records:,} records, id {description.id}"))
    table = _table("partition", begin="right", end="right", records="right", leader="right", replicas="left")
    for each in description.partitions:
        leader = "none" if each.leader is None else str(each.leader)
        brokers = ", ".join(map(str, each.replicas))
        table.add_row(str(each.number), f"{each.begin:,}", f"{each.end:,}", f"{each.records:,}", leader, brokers)
    console.print(table)
    for option, value in sorted(description.config.items()):
        console.print(Text(f"{option}={value}"), soft_wrap=True)


def _table(first: str, **columns: Any) -> Table:
    table = Table(first, box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for name, justify in columns.items():
        table.add_column(name, justify=justify)
    return table


def _line(record: Record) -> Text:
    time = "" if record.timestamp is None else record.timestamp.isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00")
    headers = " ".join(f"{name}={_shown(value)}" for name, value in record.headers)
    return Text.assemble(
        (f"{record.partition}/{record.offset}  {time}  ", "dim"),
        (_shown(record.key) if record.key is not None else "", "cyan"),
        "  " if record.key is not None else "",
        _shown(record.value),
        (f"  {headers}" if headers else "", "dim"),
    )


def _shown(value: bytes | None) -> str:
    """Bytes on one line of a terminal, which they must not steer."""
    if value is None:
        return "null"
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return f"0x{value.hex()}"
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def _of_json(lines: Iterator[str]) -> Iterator[Record]:
    for number, line in enumerate(lines, start=1):
        try:
            yield Record.of_json(line)
        except (ValueError, TypeError) as error:
            raise DefinitionError(
                f"record {number} is not one: {error}", fix='write {"value": "…"}, and key, headers or partition if you like'
            ) from None


def _position(text: str) -> str | datetime:
    try:
        return text if text in ("earliest", "latest") else datetime.fromisoformat(text)
    except ValueError:
        raise DefinitionError(
            f"--from {text} is no position", fix="--from earliest, --from latest, or a time: --from 2026-01-31T09:00"
        ) from None


def _pairs(option: str, pairs: Sequence[str]) -> dict[str, str]:
    for pair in pairs:
        if "=" not in pair:
            raise DefinitionError(f"{option} {pair} has no value", fix=f"{option} name=value")
    return dict(pair.split("=", 1) for pair in pairs)


@contextmanager
def _waiting(*, quiet: bool = False) -> Iterator[Any]:
    """Shows on a terminal that something is under way: the broker may have to start first. Gives a function to say what."""
    with Console(stderr=True, quiet=quiet).status("asking Kafka …") as status:
        try:
            yield status.update
        except DefinitionError as error:  # the line that it names is none of the user's
            raise DefinitionError(error.what, fix=error.fix) from None


def _console(*, error: bool = False) -> Console:
    return Console(stderr=error, highlight=False)


def _say_json(value: object) -> None:
    typer.echo(json.dumps(value, default=str, ensure_ascii=False))
