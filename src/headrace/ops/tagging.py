"""Several streams of one key as one, each record marked with the stream it is from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.errors import DefinitionError, user_line

_FROM = "_from"


@dataclass(frozen=True, eq=False)
class Other:
    """Another stream (of whatever kind the caller has streams), and what is wanted of it."""

    df: Any
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Merged:
    df: DataFrame
    others: tuple[Other, ...]

    def comes_from(self, other: Other | None) -> Column | None:
        """Whether a record is of that stream (None: of the one that the features are added to). None if there is but one stream."""
        if not self.others:
            return None
        return F.col(_FROM) == (0 if other is None else 1 + self.others.index(other))

    def incoming(self, other: Other) -> dict[str, Column]:
        """The columns of that stream's records, by their own names."""
        return {name: F.col(_mark(1 + self.others.index(other)))[name] for name in other.columns}


def merge(df: DataFrame, keys: Sequence[str], others: Sequence[tuple[Other, DataFrame]], shared: Sequence[str] = ()) -> Merged:
    """`df` and the others, by key. Columns that a stream does not have are null in its records; the `shared` ones, by which records are
    ordered, all must have. The others come first, so that within one batch a record finds what the other streams have said."""
    if not others:
        return Merged(df, ())
    merged = df.withColumn(_FROM, F.lit(0))
    for number, (other, table) in enumerate(others, start=1):
        together = list(dict.fromkeys((*keys, *shared)))
        missing = [name for name in (*together, *other.columns) if name not in table.columns]
        if missing:
            raise DefinitionError(
                f"latest: the other stream has no column '{missing[0]}'; it has {', '.join(table.columns)}",
                fix="name the key (and the time) there as it is named here, and columns that it has", where=user_line(),
            )  # fmt: skip
        theirs = table.select(*together, F.struct(*other.columns).alias(_mark(number)), F.lit(number).alias(_FROM))
        merged = theirs.unionByName(merged, allowMissingColumns=True)
    return Merged(merged, tuple(other for other, _ in others))


def _mark(number: int) -> str:
    return f"_other_{number}"
