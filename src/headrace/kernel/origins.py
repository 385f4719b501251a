"""What a row was made of: `topic/partition/offset` of a record, and, where one row became several, which of them it is.

    >>> import headrace as hr
    >>> records = hr.session().createDataFrame([("words", 0, 7, "to be")], "topic string, partition int, offset bigint, text string")
    >>> words = records.selectExpr("explode(split(text, ' ')) AS word")
    >>> [tuple(row) for row in shown(words).collect()]
    [('to', 'words/0/7/0'), ('be', 'words/0/7/1')]

It is led through a plan that is complete, so a program that selects columns neither sees it nor loses it. A record that is read again gives
rows of the same origins, in whatever batch, if the program makes the same rows of it, in the same order.
"""

from __future__ import annotations

from typing import Any

from pyspark.errors import IllegalArgumentException
from pyspark.sql import Column, DataFrame, SparkSession

from headrace.kernel import jvm


def column() -> Column:
    """Stands for the origin of a row until `placed` has put it there."""
    return jvm.python_column(_scala(SparkSession.active()).column())


def placed(df: DataFrame) -> DataFrame:
    """The rows with their origins in the place of what stands for them."""
    return jvm.data_frame(_scala(df.sparkSession).placed(df._jdf), df.sparkSession)


def shown(df: DataFrame) -> DataFrame:
    """The rows with their origin as the last column, for what is computed apart from where they come from."""
    return _named(placed(to_be_shown(df)))


def to_be_shown(df: DataFrame) -> DataFrame:
    """The same, when `placed` has been called on what is made of these rows."""
    return df.select("*", column().alias(_SHOWN))


def hidden(df: DataFrame) -> DataFrame:
    """Such rows as they were before; `placed` finds what is hidden here. Others stay the same DataFrame: it may be one that is kept."""
    name = _scala(df.sparkSession).name()
    return _named(df).drop(name) if {_SHOWN, name} & {*df.columns} else df


_SHOWN = "__origin_shown"  # not the name by which it is found: of several streams in one plan each has its own


def _named(df: DataFrame) -> DataFrame:
    return df.withColumnRenamed(_SHOWN, _scala(df.sparkSession).name())


def refusal(df: DataFrame) -> str | None:
    """Why rows have no origin, if they have none."""
    try:
        shown(df)
    except IllegalArgumentException as failure:
        refused: Any = getattr(failure, "_origin", None)
        if refused is None or refused.getClass().getSimpleName() != "BadDefinition":
            raise
        return str(refused.reason())
    return None


def _scala(spark: SparkSession) -> Any:
    return jvm.package(spark).Origins
