"""The fields that a scan keeps of each key, as they change from one start of a job to the next.

What is new begins with its first value; what is gone or called otherwise the program has to say, for with it goes what was known. Features
are taken as wholes: one has the fields that it had, or begins anew. A key stays stored as it is until it comes again: each change is one
more place in the store, and a layout says where the fields of today are among those of then.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame

from headrace.kernel.former import go_on

GROWING = frozenset({"scan", "scan_python", "with_features"})
"""Operators whose fields have the names that the program gave them, and whose first values are those of a key that had no record."""

_FEATURES = "with_features"

PLACE = "state"
"""What the first place of a scan's fields is called; the second is `state 2`."""

Columns = Sequence[Sequence[str]]
"""Names and types."""


@dataclass(frozen=True)
class Changes:
    """What a program says of fields and features that are not there any more: `removed`, or `renamed`, from the new name to the old one."""

    removed: frozenset[str] = frozenset()
    renamed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Grown:
    """The fields of today among those of the last start: for each the place it had there, or -1; and what is missing, in words."""

    places: list[int]
    missing: list[tuple[str, str]]

    @property
    def same(self) -> bool:
        return self.places == list(range(len(self.places)))


def grown(operator: str, before: Columns, now: Columns, changes: Changes) -> Grown:
    """Which fields are kept; `missing` are those of which the program says too little, and what it could say."""
    old, new = _parts(operator, before), _parts(operator, now)
    what = "feature" if operator == _FEATURES else "field"
    index = {name: i for i, (name, _) in enumerate(before)}
    places: dict[str, int] = {}
    missing, used = [], set()
    for part, fields in new.items():
        origin = changes.renamed.get(part, part)
        origin = part if part in old or origin not in old else origin
        if origin not in old:
            continue  # it is new
        used.add(origin)
        kept, wanted = ([(name.removeprefix(of), kind) for name, kind in each] for of, each in ((origin, old[origin]), (part, fields)))
        if sorted(kept) == sorted(wanted):
            places |= {name: index[origin + name.removeprefix(part)] for name, _ in fields}
        elif origin not in changes.removed:
            missing.append((
                f"the {what} {part!r} keeps {_shown(wanted)}, and kept {_shown(kept)}",
                f"give it another name, and say that this one is gone; or let it begin anew: Job(…, removed=[{part!r}])",
            ))  # fmt: skip
    missing += [(f"the {what} {part!r} is gone", _gone(part)) for part in old.keys() - used - changes.removed]
    return Grown([places.get(name, -1) for name, _ in now], sorted(missing))


def _gone(part: str) -> str:
    return f"say that it may be forgotten, Job(…, removed=[{part!r}]), or what it is called now, Job(…, renamed={{'new name': {part!r}}})"


def _parts(operator: str, columns: Columns) -> dict[str, list[tuple[str, str]]]:
    """The fields by what the program calls them: a feature has one or more."""
    parts: dict[str, list[tuple[str, str]]] = {}
    for name, kind in columns:
        parts.setdefault(name.rpartition("__")[0] if operator == _FEATURES else name, []).append((name, kind))
    return parts


def _shown(fields: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{name.strip('_')} {kind}".strip() for name, kind in fields)


@dataclass(frozen=True)
class Layout:
    """One place of a scan's fields, by its name in the store. `places`: where the fields of today are among its own."""

    place: str
    schema: str
    places: tuple[int, ...]

    @classmethod
    def first(cls, schema: str) -> Layout:
        return cls(PLACE, schema, tuple(range(len(json.loads(schema)["fields"]))))

    @classmethod
    def read(cls, noted: Mapping[str, Any]) -> Layout:
        return cls(noted["place"], noted["schema"], tuple(noted["places"]))


def follow(layouts: Sequence[Layout], schema: str, places: Sequence[int]) -> list[Layout]:
    """The layouts of a scan, oldest first, and a new one behind them, whose fields are in these places of the last one."""
    before = [Layout(each.place, each.schema, tuple(-1 if at < 0 else each.places[at] for at in places)) for each in layouts]
    return [*before, Layout(f"{PLACE} {len(layouts) + 1}", schema, tuple(range(len(places))))]


def gone_on(frame: DataFrame, layouts: Sequence[Sequence[Layout]]) -> DataFrame:
    """A query whose scans keep their fields in the last of these places each, and find what is older in the others."""
    if all(len(each) == 1 for each in layouts):
        return frame
    former = [[(layout.place, layout.schema, layout.places) for layout in each[-2::-1]] for each in layouts]
    return go_on(frame, [each[-1].place for each in layouts], former)
