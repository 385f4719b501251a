"""Outputs by name: what a scan puts out beside its main rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.definitions.arguments import Condition

Columns = Sequence[Column | str] | Column | str
"""Columns of one row, or one column of type array<struct>: as many rows as it has elements."""

MAIN, LATE = "main", "late"
REFUSED = "refused"
"""The port of records that the scan takes, for they are not behind its watermark, and that a step finds too late all the same. They are
counted with the late ones."""


@dataclass(frozen=True, kw_only=True)
class Port:
    """Rows that a scan puts out under a name of their own, beside its main ones: `output` and `when` are those of `scan`. With `timed`, the
    column `time_out` of the scan is the time of these rows, too."""

    output: Columns
    when: Condition | None = None
    timed: bool = False


def port(df: DataFrame, name: str) -> DataFrame:
    """The rows of one port of a scan that has several."""
    return df.where(F.col(f"`{name}`").isNotNull()).select(f"`{name}`.*")


def has_rows(output: Columns) -> bool:
    """Whether anything was given to put out."""
    return isinstance(output, Column) or output != ()


def names(output: Columns, ports: Mapping[str, Port]) -> list[str]:
    """The names of what a step puts out."""
    return [*([MAIN] if has_rows(output) else []), *ports]
