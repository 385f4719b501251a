"""What functions make of the matches of a pattern, in Spark's Python workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace.fronts.flink import codec
from headrace.fronts.flink.running.chain import ElementContext, parted
from headrace.fronts.flink.times import to_millis
from headrace.fronts.flink.types import Convert


class Matched:
    """The rows of a match: the lists of its steps, by the program's names; steps without a record are left out."""

    def __init__(self, call: Callable[..., Any], names: Mapping[str, str], read: Convert, write: Convert) -> None:
        self.call, self.names, self.read, self.write = call, dict(names), read, write

    def __call__(self, record: dict[str, Any]) -> list[dict[str, Any]]:
        match = {name: [self.read(value) for value in record[step]] for step, name in self.names.items() if record[step]}
        main, sides = parted(self.call(match, ElementContext(to_millis(record["time"]))) or ())
        return [{"value": self.write(value)} for value in main] + [{"tag": tag.tag_id, "side": codec.dumps(value)} for tag, value in sides]
