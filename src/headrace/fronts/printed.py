"""Rows as a table, on the terminal or in a notebook."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, NumericType, StructField

from headrace.ops.merging import named

_WIDEST = 60  # characters of a cell
_NO_LIMIT = 1_000_000


def show(rows: DataFrame, *, asked: int, hint: str = "") -> None:
    """Print rows of which at most so many were asked for; and if there is none, the hint.

    Values as Spark writes them: times in UTC; bytes as text if they are text, else in hexadecimal digits.
    """
    from rich import box  # here, for a program that prints nothing need not wait for it
    from rich.console import Console, Group
    from rich.table import Table
    from rich.text import Text

    cells = rows.select(*map(_text, rows.schema)).collect()
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for field in rows.schema:
        right = isinstance(field.dataType, NumericType)
        table.add_column(
            Text(_printable(field.name)), justify="right" if right else "left", no_wrap=True, overflow="ellipsis", max_width=_WIDEST
        )
    for row in cells:
        table.add_row(*(Text("null", style="dim") if cell is None else Text(_printable(cell)) for cell in row))
    console = Console()
    if not console.is_terminal:  # which has a width; what reads a pipe, or shows a notebook, need not have columns cut
        console.width = max(console.width, console.measure(table, options=console.options.update(max_width=_NO_LIMIT)).maximum)
    console.print(Group(table, Text(_summary(len(cells), asked, hint), style="dim")))


def _text(field: StructField) -> Column:
    column = named(field.name)
    text = column.cast("string")
    if isinstance(field.dataType, BinaryType):
        text = F.when(F.is_valid_utf8(text), text).otherwise(F.concat(F.lit("0x"), F.hex(column)))
    return text.alias(field.name)


def _printable(text: str) -> str:
    """In one line, and without what would do something to a terminal."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _summary(rows: int, asked: int, hint: str) -> str:
    if not rows:
        return f"no rows{hint and '; ' + hint}"
    words = "1 row" if rows == 1 else f"{rows:,} rows"
    return f"the first {words}; there may be more" if rows == asked else words
