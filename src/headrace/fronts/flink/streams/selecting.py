"""Which field a program means: by place, by name, or by a function that does nothing but take it."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from headrace.definitions import arguments
from headrace.errors import DefinitionError, user_line
from headrace.fronts.flink.types import TypeInformation


def name(at: str, kind: TypeInformation, position: Any) -> str:
    """The field at a place, or of a name, as Spark calls it."""
    fields: list[str] = kind.spark.names  # type: ignore[attr-defined]
    if isinstance(position, int) and not isinstance(position, bool) and 0 <= position < len(fields):
        return fields[position]
    if isinstance(position, str) and position in fields:
        return position
    raise DefinitionError(
        f"{at}: {arguments.shown(position)} is no field of {kind}",
        fix=f"give a place from 0 to {len(fields) - 1}, or a name: {', '.join(fields)}", where=user_line(),
    )  # fmt: skip


def field(kind: TypeInformation, selector: Any) -> tuple[TypeInformation, Column] | None:
    """The field that a selector takes, as a column of Spark's; None if only Python knows."""
    if isinstance(selector, int | str):
        if not kind.has_fields:
            raise DefinitionError(
                f"key_by: {kind} has no fields that Spark knows", fix="give a function: key_by(lambda value: value[0])", where=user_line()
            )
        return _at(kind, name("key_by", kind, selector))
    if kind.is_object or not callable(selector):
        return None
    value: Any = _Probe(kind)
    try:
        chosen = selector(value)
    except Exception:  # it does something with the value: Python will
        return None
    if chosen is value and not kind.has_fields:
        return kind, F.col("value")
    return _at(kind, chosen.name) if isinstance(chosen, _Taken) else None


def _at(kind: TypeInformation, called: str) -> tuple[TypeInformation, Column] | None:
    part = kind.parts[kind.spark.names.index(called)]  # type: ignore[attr-defined]
    if part.is_object or part.kind == "MAP":
        return None
    return part, F.col(f"value.`{called}`")


class _Taken:
    """A field that was taken of a probe. It can do nothing else."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class _Probe:
    """In the place of a value: it tells which field is taken, and refuses everything else."""

    __slots__ = ("_kind",)

    def __init__(self, kind: TypeInformation) -> None:
        self._kind = kind

    def __getitem__(self, place: Any) -> _Taken:
        if not self._kind.has_fields or isinstance(place, slice):
            raise TypeError
        return _Taken(name("key_by", self._kind, place))

    def __getattr__(self, called: str) -> _Taken:
        if called not in self._kind.names:
            raise AttributeError(called)
        return _Taken(called)

    def __bool__(self) -> bool:
        raise TypeError

    __eq__ = __hash__ = __str__ = __repr__ = None  # type: ignore[assignment]
