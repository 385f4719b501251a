"""Functions of single records, one after the other, as one call: what Flink calls a chain. It runs in Spark's Python workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from headrace.fronts.flink import codec, functions
from headrace.fronts.flink.functions import OutputTag
from headrace.fronts.flink.running.state import RuntimeContext
from headrace.fronts.flink.times import MIN_TIMESTAMP, to_millis, to_time
from headrace.fronts.flink.types import Convert

Record = dict[str, Any]


@dataclass(frozen=True)
class Link:
    """A function of a chain: `kind` says what its answer is: map (a value), flat_map (values), filter (whether it stays), process (values,
    or values of side outputs; the function is called with the context, too)."""

    kind: str
    call: Callable[..., Any]
    function: Any  # what may want to be opened


class ElementContext:
    """The context of a process function without a key."""

    def __init__(self, timestamp: int | None) -> None:
        self._timestamp = timestamp

    def timestamp(self) -> int | None:
        """The record's time; None if it has none."""
        return self._timestamp


class Chain:
    """Rows of a record. `columns` are further ones, by name: functions of the value and the record's time, and how they are written."""

    def __init__(self, read: Convert, links: tuple[Link, ...], write: Convert, columns: dict[str, tuple[Any, Convert]]) -> None:
        self.read, self.links, self.write, self.columns = read, links, write, columns
        self.opened = not any(functions.is_rich(link.function) for link in links)
        self.has_sides = any(link.kind == "process" for link in links)

    def __call__(self, record: Record) -> list[Record]:
        if not self.opened:
            self.opened = True
            for link in self.links:
                if functions.is_rich(link.function):
                    link.function.open(RuntimeContext(None))
        timestamp = to_millis(record["time"])
        values, sides = [self.read(record["value"])], []
        for link in self.links:
            values, more = _applied(link, values, timestamp)
            sides += more
        rows = [
            {"value": self.write(value), **{name: write(call(value, timestamp)) for name, (call, write) in self.columns.items()}}
            for value in values
        ]
        if not self.has_sides:
            return rows
        return [{"main": row} for row in rows] + [{"side": {"tag": tag.tag_id, "value": codec.dumps(value)}} for tag, value in sides]


class ClosedChain(Chain):
    """One whose functions are to be closed: it keeps its process, and is told of its end."""

    def open(self) -> None:
        """Nothing: functions are opened with the first record."""

    def close(self) -> None:
        """The end of the process."""
        for link in self.links:
            if functions.is_rich(link.function):
                link.function.close()


def chain(read: Convert, links: tuple[Link, ...], write: Convert, columns: dict[str, tuple[Any, Convert]]) -> Chain:
    """A chain, which keeps its process only if something is to be closed."""
    closes = any(functions.defines(link.function, "close") for link in links)
    return (ClosedChain if closes else Chain)(read, links, write, columns)


def _applied(link: Link, values: list[Any], timestamp: int | None) -> tuple[list[Any], list[tuple[OutputTag, Any]]]:
    if link.kind == "map":
        return [link.call(value) for value in values], []
    if link.kind == "filter":
        return [value for value in values if link.call(value)], []
    if link.kind == "flat_map":
        return [each for value in values for each in link.call(value) or ()], []
    return parted(each for value in values for each in link.call(value, ElementContext(timestamp)) or ())


def parted(answers: Iterable[Any]) -> tuple[list[Any], list[tuple[OutputTag, Any]]]:
    """What goes to the stream, and what to side outputs."""
    main: list[Any] = []
    sides: list[tuple[OutputTag, Any]] = []
    for answer in answers:
        is_side = type(answer) is tuple and len(answer) == 2 and type(answer[0]).__name__ == OutputTag.__name__
        (sides if is_side else main).append(answer)
    return main, sides


class Assign:
    """The time of a value, as Spark has it."""

    def __init__(self, assigner: Callable[[Any, int], int]) -> None:
        self.assigner = assigner

    def __call__(self, value: Any, timestamp: int | None) -> Any:
        assigned = self.assigner(value, MIN_TIMESTAMP if timestamp is None else timestamp)
        if not isinstance(assigned, int) or isinstance(assigned, bool):
            raise TypeError(
                f"the timestamp assigner gave {assigned!r} for {value!r}, but milliseconds since 1970 are needed, as a whole number"
            )
        return to_time(assigned)


class Key:
    """The key of a value."""

    def __init__(self, select: Callable[[Any], Any]) -> None:
        self.select = select

    def __call__(self, value: Any, timestamp: int | None) -> Any:
        return self.select(value)


def same(value: Any) -> Any:
    """The value as it is."""
    return value
