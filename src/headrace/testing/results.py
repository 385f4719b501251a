"""What a run gave: rows with their schema, compared as multisets and shown side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import types as T

from headrace.testing.cells import ExactFloat, exact, render


@dataclass(frozen=True)
class Result:
    """The rows that an operator put out, in the order in which it did."""

    schema: T.StructType
    rows: tuple[Row, ...]

    @staticmethod
    def of(rows: DataFrame | Result | Sequence[Row]) -> Result:
        """Any of the ways to hold rows. A plain list of Rows has no types: its columns are as its first values that are not null."""
        if isinstance(rows, Result):
            return rows
        if isinstance(rows, DataFrame):
            return Result(rows.schema, tuple(rows.collect()))
        names = rows[0].__fields__ if rows else []
        return Result(T.StructType([T.StructField(name, _kind([row[name] for row in rows])) for name in names]), tuple(rows))

    def select(self, names: Sequence[str]) -> Result:
        """The same rows with these columns only, in this order."""
        return Result(
            T.StructType([self.schema[name] for name in names]), tuple(Row(*names)(*(row[name] for name in names)) for row in self.rows)
        )

    def latest_by(self, keys: Sequence[str]) -> Result:
        """Read the rows as updates of a table: of those with the same `keys` only the last one stays."""
        last = {exact(tuple(row[key] for key in keys)): row for row in self.rows}
        return Result(self.schema, tuple(last.values()))

    def __add__(self, later: Result) -> Result:
        return Result(self.schema, self.rows + later.rows)

    def __str__(self) -> str:
        return "\n".join(_lines(self.schema, self.rows))


def difference(
    want: Result, got: Result, *, ordered: bool = False, tolerance: float = 0.0, titles: tuple[str, str] = ("expected", "got")
) -> str:
    """Nothing if the rows are the same, else both tables side by side: `=` in both, `<` only left, `>` only right."""
    pairs = _in_order(want, got, tolerance) if ordered else _as_multisets(want, got, tolerance)
    if all(left is not None and right is not None for left, right in pairs):
        return ""
    missing = sum(right is None for _, right in pairs)
    extra = sum(left is None for left, _ in pairs)
    lefts = _lines(want.schema, [left for left, _ in pairs])
    rights = _lines(got.schema, [right for _, right in pairs])
    marks = [" ", *("=" if left is not None and right is not None else "<" if right is None else ">" for left, right in pairs)]
    width = max(len(titles[0]), *(len(line) for line in lefts))
    lines = [f"{left:<{width}}  {mark}  {right}".rstrip() for left, mark, right in zip(lefts, marks, rights, strict=True)]
    head = f"{titles[0]:<{width}}     {titles[1]}"
    return "\n".join([f"the rows differ: {missing} only {titles[0]}, {extra} only {titles[1]}", head, *lines])


Pair = tuple[Row | None, Row | None]


def _in_order(want: Result, got: Result, tolerance: float) -> list[Pair]:
    pairs: list[Pair] = []
    for i in range(max(len(want.rows), len(got.rows))):
        left = want.rows[i] if i < len(want.rows) else None
        right = got.rows[i] if i < len(got.rows) else None
        same = left is not None and right is not None and _alike(_exact(left, want), _exact(right, got), tolerance)
        pairs += [(left, right)] if same else [pair for pair in ((left, None), (None, right)) if pair != (None, None)]
    return pairs


def _as_multisets(want: Result, got: Result, tolerance: float) -> list[Pair]:
    left_over = [(_exact(row, got), row) for row in got.rows]
    if tolerance == 0.0 and Counter(_exact(row, want) for row in want.rows) == Counter(value for value, _ in left_over):
        return [(row, row) for row in want.rows]
    same: list[Pair] = []
    missing: list[Pair] = []
    for row in want.rows:
        value = _exact(row, want)
        match = next((i for i, (other, _) in enumerate(left_over) if _alike(value, other, tolerance)), None)
        if match is None:
            missing.append((row, None))
        else:
            same.append((row, left_over.pop(match)[1]))
    return [*same, *missing, *((None, row) for _, row in left_over)]


def _exact(row: Row, result: Result) -> Any:
    return exact(row, result.schema)


def _alike(left: Any, right: Any, tolerance: float) -> bool:
    if left == right:
        return True
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(_alike(a, b, tolerance) for a, b in zip(left, right, strict=True))
    return tolerance > 0 and isinstance(left, ExactFloat) and isinstance(right, ExactFloat) and abs(float(left) - float(right)) <= tolerance


def _lines(schema: T.StructType, rows: Sequence[Row | None]) -> list[str]:
    cells = [
        schema.names,
        *([_cell(v, f.dataType) for v, f in zip(row, schema.fields, strict=True)] if row is not None else None for row in rows),
    ]
    widths = [max(len(line[i]) for line in cells if line is not None) for i in range(len(schema.names))]
    return ["" if line is None else " | ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)) for line in cells]


def _cell(value: Any, kind: T.DataType) -> str:
    return render(exact(value, kind) if isinstance(value, datetime) else value)


_KINDS: dict[type, T.DataType] = {
    bool: T.BooleanType(),
    int: T.LongType(),
    float: T.DoubleType(),
    str: T.StringType(),
    datetime: T.TimestampType(),
    date: T.DateType(),
    Decimal: T.DecimalType(38, 18),
    bytearray: T.BinaryType(),
}


def _kind(values: Sequence[Any]) -> T.DataType:
    first = next((value for value in values if value is not None), "")
    if isinstance(first, Row):
        return T.StructType([T.StructField(name, _kind([first[name]])) for name in first.__fields__])
    if isinstance(first, list):
        return T.ArrayType(_kind([item for value in values if value for item in value]))
    return _KINDS.get(type(first), T.StringType())
