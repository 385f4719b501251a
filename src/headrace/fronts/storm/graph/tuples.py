"""Tuples: named lists of values, and what the acker must know of them.

A tuple that comes from a tracked one has, for each root (the spout's tuple that it comes from), the id of the edge by which it came. Who
acks it tells the acker, for each root, that id XOR the ids of the tuples that were anchored to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

DEFAULT = "default"
SYSTEM, TICK = "__system", "__tick"
"""The component and the stream of tick tuples."""


class Tuple:
    """What a bolt gets. `values` by place, `tup["word"]` by name; both of Storm's spellings work, Python's and Java's."""

    __slots__ = ("_names", "ack_val", "component", "roots", "stream", "task", "values")

    def __init__(
        self, component: str, stream: str, task: int, values: Sequence[Any], names: Sequence[str], roots: Mapping[int, int] | None = None
    ) -> None:
        self.component, self.stream, self.task, self.values, self._names = component, stream, task, list(values), names
        self.roots, self.ack_val = dict(roots or {}), 0

    @property
    def fields(self) -> list[str]:
        return list(self._names)

    @property
    def id(self) -> str:
        """Of the tuple, as text: the same for a tuple and nothing else. That of an untracked tuple is empty."""
        return "-".join(f"{root:x}.{edge:x}" for root, edge in self.roots.items())

    def is_tick(self) -> bool:
        return self.component == SYSTEM and self.stream == TICK

    def __getitem__(self, at: str | int) -> Any:
        return self.values[at if isinstance(at, int) else self._place(at)]

    def _place(self, name: str) -> int:
        if name not in self._names:
            raise KeyError(f"a tuple of {self.component!r} (stream {self.stream!r}) has no field {name!r}: {', '.join(self._names)}")
        return list(self._names).index(name)

    def select(self, fields: Iterable[str]) -> list[Any]:
        return [self[name] for name in fields]

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}: {value!r}" for name, value in zip(self._names, self.values, strict=False))
        return f"{self.component}[{self.task}].{self.stream} {{{shown}}}"

    # -- as Storm's Java has it --

    def getValue(self, i: int) -> Any:  # noqa: N802
        return self.values[i]

    def getValueByField(self, name: str) -> Any:  # noqa: N802
        return self[name]

    getString = getInteger = getLong = getDouble = getBoolean = getBinary = getValue  # noqa: N815
    getStringByField = getIntegerByField = getLongByField = getDoubleByField = getValueByField  # noqa: N815

    def getValues(self) -> list[Any]:  # noqa: N802
        return self.values

    def getFields(self) -> list[str]:  # noqa: N802
        return self.fields

    def getSourceComponent(self) -> str:  # noqa: N802
        return self.component

    def getSourceStreamId(self) -> str:  # noqa: N802
        return self.stream

    def getSourceTask(self) -> int:  # noqa: N802
        return self.task

    def getMessageId(self) -> dict[int, int]:  # noqa: N802
        return self.roots

    def size(self) -> int:
        return len(self.values)
