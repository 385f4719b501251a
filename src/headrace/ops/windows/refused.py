"""Records that no window takes: they come out of the port `late`, as they came."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headrace.kernel.ports import LATE, MAIN, REFUSED, Port
from headrace.ops import merging
from headrace.ops.windows.flags import Flag, column
from headrace.ops.windows.windowing import Windowing


def refused_records(own: DataFrame, when: Flag) -> Port:
    """The records as they came, with the columns that they had before they were assigned to windows."""
    return Port(output=[merging.named(name, of="record").alias(name) for name in own.columns], when=column(when))


def late_as_they_came(result: DataFrame, own: DataFrame, windowing: Windowing) -> DataFrame:
    """The ports `main` and `late`, if there is a time: all that was refused is late."""
    if windowing.on is None:
        return result
    refused = [F.col(REFUSED)] if REFUSED in result.columns else []
    as_it_came = F.struct(*[merging.named(name, of=LATE).alias(name) for name in own.columns])
    late = [F.when(F.col(LATE).isNotNull(), as_it_came)] if windowing.timed else []
    return result.select(MAIN, F.coalesce(*late, *refused).alias(LATE))
