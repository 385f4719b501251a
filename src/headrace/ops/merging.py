"""Several streams of one key as one, each record marked with the stream it is from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.errors import DefinitionError, user_line
from headrace.kernel import jvm


@dataclass(frozen=True, eq=False)
class Other:
    """Another stream (of whatever kind the caller has streams), and what is wanted of it."""

    df: Any
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Merged:
    """The records of all streams. `stream` is the column with the number of a record's stream, `prefix` begins the names of those with
    what the others say. The others have the lower numbers, so that by this number they come first."""

    df: DataFrame
    others: tuple[Other, ...]
    stream: str
    prefix: str

    def comes_from(self, other: Other | None) -> Column | None:
        """Whether a record is of that stream (None: of the one that the features are added to). None if there is but one stream."""
        return self.is_of(other, F.col(self.stream)) if self.others else None

    def is_of(self, other: Other | None, number: Column) -> Column:
        return number == (len(self.others) if other is None else self.others.index(other))

    def incoming(self, other: Other) -> dict[str, Column]:
        """The columns of that stream's records, by their own names."""
        return {name: F.col(f"{self.prefix}{self.others.index(other)}")[name] for name in other.columns}


def check(other: Any, kind: type, words: str) -> None:
    """Refuse another stream that is not of the kind that the records' own is."""
    if not isinstance(other, kind):
        raise DefinitionError(
            f"latest: the other stream is a {type(other).__name__}, but {words}, is needed", fix=f"give {words}", where=user_line()
        )


def merge(df: DataFrame, keys: Sequence[str], others: Sequence[tuple[Other, DataFrame]], shared: Sequence[str] = ()) -> Merged:
    """`df` and the others, by key. Columns that a stream does not have are null in its records; the `shared` ones, by which records are
    ordered, all must have. The others come first, so that within one batch a record finds what the other streams have said."""
    stream, prefix = unused("_stream", df), unused("_said_", df)
    merged = df.withColumn(stream, F.lit(len(others))) if others else df
    for number, (other, table) in enumerate(others):
        together = list(dict.fromkeys((*keys, *shared)))
        missing = [name for name in (*together, *other.columns) if name not in table.columns]
        if missing:
            raise DefinitionError(
                f"latest: the other stream has no column '{missing[0]}'; it has {', '.join(table.columns)}",
                fix="name the key (and the time) there as it is named here, and columns that it has", where=user_line(),
            )  # fmt: skip
        values = F.struct(*map(named, other.columns)).alias(f"{prefix}{number}")
        theirs = table.select(*(_fitted(table, df, name) for name in together), values, F.lit(number).alias(stream))
        merged = theirs.unionByName(merged, allowMissingColumns=True)
    return Merged(merged, tuple(other for other, _ in others), stream, prefix)


def _fitted(table: DataFrame, df: DataFrame, name: str) -> Column:
    """The other stream's key or time as it is typed here. (Spark would find a type for both, and so change that of our own records.)"""
    fitted = jvm.fitted(table, df, name)
    if fitted is None:
        theirs, ours = (each.schema[name].dataType.simpleString().upper() for each in (table, df))
        raise DefinitionError(
            f"latest: in the other stream '{name}' is of type {theirs}, but here of type {ours}",
            fix="cast one of the two, so that equal keys and times are equal", where=user_line(),
        )  # fmt: skip
    return fitted.alias(name)


def named(name: str, of: str = "") -> Column:
    """The column (or, with `of`, the field of that column) of exactly this name, whatever characters are in it."""
    return F.col(f"{of and of + '.'}`{name.replace('`', '``')}`")


def unused(name: str, df: DataFrame) -> str:
    """A name that no column of the records begins with."""
    while any(column.lower().startswith(name) for column in df.columns):
        name = f"_{name}"
    return name
