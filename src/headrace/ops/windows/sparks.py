"""Windows as Spark aggregates them: for a job that puts out its whole result each time, and so keeps every window for ever."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.errors import DefinitionError, user_line
from headrace.kernel.ports import LATE, MAIN
from headrace.ops import merging
from headrace.ops.windows import assigning
from headrace.ops.windows.aggregates import OwnFold
from headrace.ops.windows.kinds import Fixed, Sessions
from headrace.ops.windows.windowing import Windowing


def aggregate(df: DataFrame, windowing: Windowing, aggregates: Mapping[str, Column | OwnFold]) -> DataFrame:
    """The same columns as the kernel's. Nothing is late: no window is ever closed. A record without a time is in no window."""
    own = [name for name, each in aggregates.items() if isinstance(each, OwnFold)]
    if own:
        raise DefinitionError(
            f"agg: {own[0]}: Spark puts out the whole result each time, and it does not know aggregates of a program's own",
            fix='give the job the output_mode "update" or "append"', where=user_line(),
        )  # fmt: skip
    results = [each.alias(name) for name, each in aggregates.items() if isinstance(each, Column)]
    cut, borders = _cut(df, windowing)
    rows = cut.groupBy(*[border.alias(name) for name, border in borders.items()], *map(merging.named, windowing.by)).agg(*results)
    if windowing.on is None:
        return rows
    return rows.select(F.struct("*").alias(MAIN), F.lit(None).cast(df.schema).alias(LATE))


def _cut(df: DataFrame, windowing: Windowing) -> tuple[DataFrame, dict[str, Column]]:
    """The records with their windows, and the borders of these."""
    timed, time = windowing.with_time(df)
    window = windowing.window
    if isinstance(window, Fixed):
        at = assigning.assign(timed, window, time)
        start, end = windowing.borders(df, F.col(at.start), F.col(at.end))
        return at.df.where(F.col(at.start).isNotNull()), {"start": start, "end": end}
    if isinstance(window, Sessions):
        name = merging.unused("_session", timed)
        sessions = timed.withColumn(name, F.session_window(F.timestamp_micros(time), window.gap))
        start, end = windowing.borders(df, F.col(f"{name}.start"), F.col(f"{name}.end"))
        return sessions, {"start": start, "end": end}
    return timed, {}
