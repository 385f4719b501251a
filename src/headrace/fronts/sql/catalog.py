"""Statements one after the other, as a prompt has them: streams get names, and queries use them.

    CREATE STREAM clicks FROM kafka.clicks (page string, at timestamp) EVENT TIME at DELAY 10 seconds

| statement                                                   | does                                                                   |
|-------------------------------------------------------------|------------------------------------------------------------------------|
| `CREATE STREAM clicks FROM kafka.clicks …`                  | names a topic, or files; without columns they are guessed             |
| `CREATE STREAM dear AS SELECT …`                            | names a query                                                          |
| `CREATE TABLE countries FROM files.countries.csv`           | names a static table                                                   |
| `SHOW STREAMS`, `SHOW TOPICS`, `DESCRIBE name`, `DROP name` | what there is                                                          |
| `EXPLAIN SELECT …`                                          | steps, modes, state                                                    |
| `SELECT …`, `WITH …`                                        | a stream                                                               |
| `INSERT INTO kafka.topic SELECT …`                          | an output                                                              |
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from importlib import import_module
from pathlib import Path

from headrace.definitions import durations, schemas
from headrace.embedded import kafka
from headrace.errors import DefinitionError, HeadraceError, QueryError
from headrace.fronts import read as reading
from headrace.fronts.sql import Given, sql
from headrace.fronts.sql.explain import explain
from headrace.fronts.sql.reading.tokens import Query, Token, closing, read, shown
from headrace.fronts.stream import Stream
from headrace.fronts.tables import table
from headrace.io.tables import Table
from headrace.planning.recipe import Output
from headrace.spark.session import session

_GUESSED_FROM = 100  # records
_CREATE = "write CREATE STREAM name FROM kafka.topic (column type, …) EVENT TIME column DELAY 10 seconds, or CREATE STREAM name AS SELECT …"
WORDS = """
    SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT WITH AS JOIN LEFT RIGHT FULL SEMI ANTI ON USING UNION ALL DISTINCT CASE WHEN THEN ELSE
    END AND OR NOT NULL IS IN BETWEEN INTERVAL SECOND MINUTE HOUR DAY TABLE TUMBLE HOP CUMULATE SESSION DESCRIPTOR window_start window_end
    window session_window EMIT FINAL CHANGES EARLY LATE EVERY RECORDS LATENESS OVER PARTITION ROW_NUMBER RANK ROWS RANGE PRECEDING CURRENT
    ROW MATCH_RECOGNIZE MEASURES PATTERN DEFINE WITHIN SUBSET AFTER MATCH SKIP PAST NEXT FIRST LAST PREV CLASSIFIER INSERT INTO CREATE
    STREAM SHOW STREAMS TOPICS DESCRIBE DROP EXPLAIN EVENT TIME DELAY
""".split()  # noqa: SIM905 - it is read as a text


class Catalog:
    """The streams and tables of a prompt, by name."""

    def __init__(self, **names: Given) -> None:
        self.names: dict[str, Given] = dict(names)

    def run(self, text: str) -> Stream | Output | str:
        """What a statement gives: a stream, an output, or words."""
        query, tokens = read(text)
        words = [token.word for token in tokens]
        match words[:2]:
            case ["CREATE", "STREAM" | "TABLE"]:
                return self._create(query, tokens)
            case ["SHOW", "STREAMS" | "TABLES"]:
                return "\n".join(f"{name}  {value}" for name, value in self.names.items()) or "none yet: CREATE STREAM …"
            case ["SHOW", "TOPICS"]:
                topics = import_module("headrace.fronts.topics")  # a Kafka client, which other statements do not need
                return "\n".join(f"{topic.name}  {topic.records} records" for topic in topics.list()) or "there are no topics"
            case ["DESCRIBE" | "DESC", _]:
                return repr(self._known(query, tokens[-1]))
            case ["DROP", *_] if len(tokens) > 1:
                self._known(query, tokens[-1])
                self.names = {name: value for name, value in self.names.items() if name.lower() != tokens[-1].name.lower()}
                return "dropped"
            case ["EXPLAIN", *_]:
                stream = self._sql(text[tokens[1].start :] if len(tokens) > 1 else "")
                return explain(stream) if isinstance(stream, Stream) else f"{stream!r}"
        return self._sql(text)

    def completions(self, start: str) -> list[str]:
        """Words, names and columns that begin like this; behind `kafka.`, the topics; behind the name of a stream, its columns."""
        kind, dot, last = start.rpartition(".")
        if start.lower().startswith("kafka."):
            return [name for topic in _topics() if (name := f"{start[:5]}.{topic}").startswith(start)]
        known = self.names.get(kind.lower())
        columns = [
            column
            for value in (self.names.values() if known is None else [known]) if isinstance(value, Stream)
            for column in value.columns
        ]  # fmt: skip
        if dot:
            return [f"{kind}.{column}" for column in dict.fromkeys(columns) if column.startswith(last)]
        own = [name for name in dict.fromkeys([*self.names, *columns]) if name.startswith(start)]
        return own or [word for word in WORDS if word.startswith(start.upper())]

    def _sql(self, text: str) -> Stream | Output:
        """What a query gives; a name that it does not know is one to create here."""
        try:
            return sql(text, **self.names)  # type: ignore[no-any-return]
        except QueryError as error:
            if any(sign in error.what for sign in ("there is no table or view", "there is no stream in the query")):
                error.fix = f"{self._there_are()}; make one: CREATE STREAM name FROM kafka.topic"
            elif "there is no sink" in error.what:
                error.fix = "write kafka.topic, files.`/path`, memory.name or console"
            raise

    def _known(self, query: Query, token: Token) -> Given:
        known = {name.lower(): value for name, value in self.names.items()}
        if token.name.lower() not in known:
            raise query.error(token, f"there is no {token.name!r}", self._there_are())
        return known[token.name.lower()]

    def _there_are(self) -> str:
        return f"the names are {', '.join(self.names) or 'none yet'}"

    def _create(self, query: Query, tokens: list[Token]) -> str:
        if len(tokens) < 5 or not tokens[2].is_name or tokens[3].word not in ("FROM", "AS"):
            raise query.error(tokens[:4], "this names nothing", _CREATE)
        name = tokens[2].name.lower()
        if tokens[3].word == "AS":
            result = self._sql(query.text[tokens[4].start :])
            if isinstance(result, Output):
                raise query.error(tokens[4:], "this goes to a sink, and leaves no stream to name", "name the query: … AS SELECT …")
            made: Stream | Table = result
        elif tokens[1].word == "TABLE":
            made = table(_target(tokens[4:], query))
        else:
            made = self._source(query, tokens[4:])
        self.names[name] = made
        return f"{name}  {made}"

    def _source(self, query: Query, tokens: list[Token]) -> Stream:
        written: list[Token] = []
        time, at = [], next((i for i, token in enumerate(tokens) if token.text == "("), -1)
        target = tokens if at < 0 else tokens[:at]
        rest: list[Token] = []
        if at >= 0:
            end = closing(tokens, at, query)
            written, rest = tokens[at + 1 : end], tokens[end + 1 :]
        else:
            split = next((i for i, token in enumerate(tokens) if token.word == "EVENT"), len(tokens))
            target, rest = tokens[:split], tokens[split:]
        if rest:
            words = [token.word for token in rest]
            if words[:2] != ["EVENT", "TIME"] or len(rest) < 3:
                raise query.error(rest, "a stream is not declared like this", _CREATE)
            time = rest[2:]
        stream = self._read(query, target, written)
        if not time:
            return stream
        delay = (
            "0 seconds"
            if len(time) < 2
            else " ".join(token.text.strip("'\"") for token in time[1:] if token.word not in ("DELAY", "INTERVAL"))
        )
        with query.pointing(time[1:] or time):
            durations.delay(delay.lower(), "DELAY")
        with query.pointing(time[0]):
            return stream.event_time(time[0].name, delay.lower())

    def _read(self, query: Query, target: list[Token], written: list[Token]) -> Stream:
        kind, place, columns = target[0].name.lower(), _target(target, query), shown(written, query)
        if columns:
            session()
            with query.pointing(written):
                schemas.structure("the columns", columns)
        with query.pointing(target):
            if kind == "kafka":
                return reading.kafka(place, schema=columns or guessed(place))
            if kind == "files":
                name = Path(place)
                kinds = {".json": "json", ".jsonl": "json", ".csv": "csv", ".parquet": "parquet"}
                return reading.files(place, schema=columns, format=kinds.get(name.suffix, "json"))  # type: ignore[arg-type]
        raise query.error(target, f"a stream cannot be read from {target[0].text}", "write kafka.topic, or files.`/path`")


def _target(tokens: list[Token], query: Query) -> str:
    if len(tokens) < 3 or tokens[1].text != ".":
        raise query.error(tokens, "this says not where", "write kafka.topic, or files.`/path`")
    first, last = tokens[2], tokens[-1]
    return first.name if first is last else query.text[first.start : last.end]


def _topics() -> list[str]:
    """The topics of the cluster; of none, if no broker runs: Tab shall not start one."""
    if not os.environ.get("HEADRACE_KAFKA") and kafka.status() is None:
        return []
    with contextlib.suppress(HeadraceError):
        return [topic.name for topic in import_module("headrace.fronts.topics").list()]
    return []


def guessed(topic: str) -> str:
    """The columns that the first records of a topic have, as JSON."""
    topics = import_module("headrace.fronts.topics")
    values = [record.value for record in topics.read(topic, limit=_GUESSED_FROM) if record.value]
    lines = [line for line in (value.decode(errors="replace") for value in values) if _is_object(line)]
    if not lines:
        raise DefinitionError(
            f"the topic {topic} has no records to guess its columns from", fix="name them: (page string, at timestamp)", where=None
        )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "records.json"
        file.write_text("\n".join(lines))
        schema = session().read.option("inferTimestamp", True).json(str(file)).schema
    return ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in schema)


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False
