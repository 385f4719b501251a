"""Windows as Spark aggregates them: for a job that puts out its whole result each time, and so keeps every window for ever."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.definitions import arguments
from headrace.kernel.ports import LATE, MAIN
from headrace.ops import merging
from headrace.ops.windows.aggregates import OwnFold
from headrace.ops.windows.kinds import Fixed, Sessions
from headrace.ops.windows.windowing import Windowing


def aggregate(df: DataFrame, windowing: Windowing, aggregates: Mapping[str, Column | OwnFold]) -> DataFrame:
    """The same columns as the kernel's. Nothing is late: no window is ever closed."""
    given = [arguments.aggregate("agg", each).alias(name) for name, each in aggregates.items()]  # type: ignore[arg-type]
    rows = df.groupBy(_cut(windowing).alias("window"), *map(merging.named, windowing.by)).agg(*given)
    columns = [F.col("window.start").alias("start"), F.col("window.end").alias("end")]
    flat = rows.select(*columns, *(merging.named(name) for name in rows.columns if name != "window"))
    late = F.lit(None).cast(df.schema)
    return flat.select(F.struct("*").alias(MAIN), late.alias(LATE))


def _cut(windowing: Windowing) -> Column:
    window, on = windowing.window, merging.named(windowing.on or "")
    if isinstance(window, Sessions):
        return F.session_window(on, window.gap)
    assert isinstance(window, Fixed)
    length, slide, offset = (f"{micros} microseconds" for micros in (window.length, window.slide, window.offset))
    return F.window(on, length, slide, offset)
