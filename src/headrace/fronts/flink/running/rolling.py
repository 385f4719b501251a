"""`reduce` of a keyed stream, in Spark's Python workers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.fronts.flink.types import Convert

State = dict[str, Any]


@dataclass(frozen=True)
class Rolling:
    """What the records of a key are reduced to, put out for each of them unless it is silent."""

    reduce: Callable[[Any, Any], Any]
    read: Convert
    write: Convert
    silent: bool = False

    def __call__(self, state: State, record: dict[str, Any]) -> tuple[State, list[dict[str, Any]]]:
        row = {"value": record["value"], "time": record["time"]}
        if state["any"]:
            row["value"] = self.write(self.reduce(self.read(state["value"]), self.read(row["value"])))
        return {**row, "any": True}, [] if self.silent else [row]


class Final:
    """At the end of a batch, the last value of each key."""

    def __call__(self, state: State, key: State, timer: State) -> tuple[None, list[State]]:
        return None, [{"value": state["value"], "time": state["time"]}]
