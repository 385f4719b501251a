"""`Schema`: which columns a table has that is made of a DataStream, and which of them is its time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import functions as F

from headrace.definitions import arguments
from headrace.errors import DefinitionError, user_line
from headrace.fronts.flink.tables.declaring import timed, watermark
from headrace.fronts.flink.tables.spelling import spark_type
from headrace.fronts.sql.reading.tokens import quote, read
from headrace.fronts.stream import Stream

_SOURCE = "SOURCE_WATERMARK()"


@dataclass(frozen=True)
class Schema:
    """`Schema.new_builder().column("page", "STRING").column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)").watermark("rowtime",
    "SOURCE_WATERMARK()").build()`. Types are text, as in SQL. Without any `column` the table has all fields of the stream."""

    columns: tuple[tuple[str, str], ...] = ()
    computed: tuple[tuple[str, str], ...] = ()
    rowtime: str | None = None
    time: tuple[str, str] | None = None

    @staticmethod
    def new_builder() -> Schema:
        """A schema to say more of."""
        return Schema()

    def column(self, column_name: str, data_type: str) -> Schema:
        """A field of the stream, as this type."""
        query, tokens = read(arguments.text("column: data_type", data_type))
        return replace(self, columns=(*self.columns, (arguments.text("column", column_name), spark_type(tokens, query))))

    def column_by_expression(self, column_name: str, expr: str) -> Schema:
        """A column that is computed of others, in SQL."""
        arguments.text("column_by_expression: expr", expr)
        return replace(self, computed=(*self.computed, (arguments.text("column_by_expression", column_name), expr)))

    def column_by_metadata(self, column_name: str, data_type: Any, metadata_key: str | None = None, is_virtual: bool = False) -> Schema:
        """The time of the records: `rowtime`, and no other."""
        if (metadata_key or column_name) != "rowtime":
            raise _refused(f"column_by_metadata: {metadata_key or column_name!r} is not known", 'the time of the records is "rowtime"')
        return replace(self, rowtime=column_name)

    def watermark(self, column_name: str, watermark_expr: str) -> Schema:
        """How late records may be: "SOURCE_WATERMARK()", which is the stream's, or `at - INTERVAL '5' SECOND`."""
        if watermark_expr.upper().replace(" ", "") == _SOURCE:
            return replace(self, time=(column_name, _SOURCE))
        query, tokens = read(watermark_expr)
        return replace(self, time=(column_name, watermark(tokens, column_name, query)))

    def primary_key(self, *column_names: str) -> Schema:
        """Nothing: Flink does not enforce it either."""
        return self

    def build(self) -> Schema:
        """The schema."""
        if self.time is not None and self.time[1] == _SOURCE and self.time[0] != self.rowtime:
            raise _refused(
                f"watermark: SOURCE_WATERMARK() is that of the stream's time, and {self.time[0]!r} is not it",
                f'column_by_metadata("{self.time[0]}", "TIMESTAMP_LTZ(3)", "rowtime") before, or {self.time[0]} - INTERVAL \'5\' SECOND',
            )
        return self

    def applied(self, stream: Stream, time: str | None) -> Stream:
        """The stream with these columns; `time` is the column of the records' time."""
        fields = [name for name in stream.columns if name != time]
        for name, _ in self.columns:
            if name not in fields:
                raise _refused(f"from_data_stream: the stream has no field {name!r}", f"its fields are {', '.join(fields)}")
        if self.rowtime is not None and time is None:
            raise _refused(
                f"from_data_stream: the stream has no time for {self.rowtime!r}", "stream.assign_timestamps_and_watermarks(…) before"
            )
        cells = [F.col(quote(name)).cast(kind).alias(name) for name, kind in self.columns] or [F.col(quote(name)) for name in fields]
        shown = [*cells, *([F.col(quote(str(time))).alias(self.rowtime)] if self.rowtime is not None else [])]
        made = stream.select(*shown)
        for name, expression in self.computed:
            made = made.select("*", F.expr(expression).alias(name))
        return timed(made, *self.time) if self.time is not None and self.time[1] != _SOURCE else made


def _refused(what: str, fix: str) -> DefinitionError:
    return DefinitionError(what, fix=fix, where=user_line())
