"""Values as Flink prints them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.fronts.flink.types import TypeInformation


def written(kind: TypeInformation, value: Any) -> str:
    """A value of a type in Java's words: `(Apache,3)`, `+I[Apache, 3]`, `null`; an object in Python's.

    >>> from headrace.fronts.flink.types import Types
    >>> written(Types.TUPLE([Types.STRING(), Types.BOOLEAN()]), ("Apache", True))
    '(Apache,true)'
    """
    if kind.is_object:
        return str(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if kind.has_fields:
        parts = [written(part, each) for part, each in zip(kind.parts, value, strict=True)]
        return f"({','.join(parts)})" if kind.kind == "TUPLE" else f"+I[{', '.join(parts)}]"
    if kind.kind == "LIST":
        return f"[{', '.join(written(kind.parts[0], each) for each in value)}]"
    if kind.kind == "MAP":
        return "{" + ", ".join(f"{written(kind.parts[0], key)}={written(kind.parts[1], each)}" for key, each in value.items()) + "}"
    return str(value)


def row(values: Iterable[Any]) -> str:
    """A row of a table, whatever its types.

    >>> row(("Apache", 3, None, True, [1, 2]))
    '+I[Apache, 3, null, true, [1, 2]]'
    """
    return f"+I[{', '.join(plain(value) for value in values)}]"


def plain(value: Any) -> str:
    """A value of a table."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
