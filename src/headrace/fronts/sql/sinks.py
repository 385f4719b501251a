"""INSERT INTO: where the rows go. A name that the program gave, or `kafka.topic`, `files.`/path``, `console`, `memory.name`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from headrace.fronts.sql.reading.tokens import Query, Token
from headrace.fronts.stream import Stream
from headrace.planning.recipe import Output

_KINDS = ("kafka", "files", "console", "memory")


def output(stream: Stream, name: list[Token], outputs: Mapping[str, Callable[[Stream], Output]], query: Query) -> Output:
    kind = name[0].name.lower()
    if len(name) == 1 and kind in outputs:
        return outputs[kind](stream)
    target = "".join(token.name if token.is_name else token.text for token in name[2:])
    with query.pointing(name):
        match kind:
            case "kafka" if target:
                return stream.to.kafka(target, create=True)
            case "files" if target:
                return stream.to.files(target)
            case "memory":
                return stream.to.memory(target or "memory")
            case "console" if not target:
                return stream.to.console()
    raise query.error(
        name, f"there is no sink {name[0].name!r}",
        "give it: hr.sql(…, totals=lambda rows: rows.to.kafka('totals')); or write kafka.topic, files.`/path`, memory.name or console",
    )  # fmt: skip
