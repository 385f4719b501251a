"""A row: values in their order, and by name if it has names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


class Row(tuple[Any, ...]):
    """`Row("ann", 3)`, or with names `Row(name="ann", n=3)`: `row[1]`, `row["n"]` and `row.n` are then the same.

    >>> Row(name="ann", n=3).n, Row("ann", 3)[1], Row("ann", 3) == Row(name="ann", n=3)
    (3, 3, True)
    """

    names: tuple[str, ...]

    def __new__(cls, *values: Any, **named: Any) -> Row:
        if values and named:
            raise TypeError("Row: give values, or names with values, but not both")
        return cls.of(tuple(named), tuple(named.values()) if named else values)

    @classmethod
    def of(cls, names: Sequence[str], values: Iterable[Any]) -> Row:
        """A row of these names (none: by place only) and values."""
        row = tuple.__new__(cls, values)
        row.names = tuple(names)
        return row

    def __getitem__(self, place: Any) -> Any:
        return super().__getitem__(self.names.index(place) if isinstance(place, str) else place)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "names" or name not in self.names:
            raise AttributeError(name)
        return self[self.names.index(name)]

    def as_dict(self) -> dict[str, Any]:
        """The values by name."""
        return dict(zip(self.names, self, strict=True))

    def __repr__(self) -> str:
        if self.names:
            return f"Row({', '.join(f'{name}={value!r}' for name, value in zip(self.names, self, strict=True))})"
        return f"Row({', '.join(map(repr, self))})"
