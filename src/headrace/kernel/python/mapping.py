"""Python functions of one record: `map` gives a row, `flat_map` rows, `filter` says whether the record stays. No state.

In batch and micro-batch records go to a Python worker many at a time, in Arrow's format, by Spark's own operator. In real time each goes at
once, and the next ones are sent while its answer is awaited. The function sees the same dicts and gives the same rows either way.

    >>> import headrace as hr
    >>> numbers = hr.session().createDataFrame([(1,), (2,), (3,)], "n int")
    >>> twice = map_python(numbers, kind="map", function=lambda record: {"m": 2 * record["n"]}, output="m int")
    >>> sorted(row.m for row in twice.collect())
    [2, 4, 6]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal, TypedDict, Unpack

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headrace.definitions import arguments, schemas
from headrace.kernel import jvm
from headrace.kernel.python import calls as python_calls
from headrace.kernel.python import values as python_values
from headrace.kernel.python.scanning import DEAD_LETTERS, Errors
from headrace.kernel.python.worker.functions import ArrowMap, MapCall
from headrace.kernel.scan import MAIN

Kind = Literal["map", "flat_map", "filter"]

_one_by_one: ContextVar[bool] = ContextVar("one_by_one", default=False)
_led_past: ContextVar[bool] = ContextVar("led_past", default=False)


@contextmanager
def one_by_one() -> Iterator[None]:
    """What is planned meanwhile is for real time: no record waits for another."""
    token = _one_by_one.set(True)
    try:
        yield
    finally:
        _one_by_one.reset(token)


def plans_one_by_one() -> bool:
    """Whether what is planned now is for real time."""
    return _one_by_one.get()


@contextmanager
def led_past(wanted: bool = True) -> Iterator[None]:
    """What is planned meanwhile lets a column of the record pass by that the function does not see. Spark's operator for many records would
    send it to Python."""
    token = _led_past.set(wanted)
    try:
        yield
    finally:
        _led_past.reset(token)


class PythonOptions(TypedDict, total=False):
    """`errors` and `limit` are those of `scan_python`; `limit` counts in real time only. `keep` names columns that each row has as its
    record has them: an event time stays one. (Not with dead letters.)"""

    errors: Errors
    limit: float | None
    keep: Sequence[str]


def map_python(
    df: DataFrame,
    *,
    kind: Kind,
    function: Callable[[dict[str, Any]], Any],
    output: str | T.StructType | None = None,
    **options: Unpack[PythonOptions],
) -> DataFrame:
    """What a Python function makes of each record. A filter has no `output`: it is the records'.

    With `errors="dead_letters"` the result has the struct columns `main` and `dead_letters`, of which one is not null in each row.
    """
    row = df.schema if output is None else schemas.structure(f"{kind}: output", output)
    checked = arguments.function(f"{kind}: function", function, "record")
    lenient = arguments.one_of(f"{kind}: errors", options.get("errors", "fail"), ("fail", DEAD_LETTERS)) == DEAD_LETTERS
    call = MapCall(checked, kind, kind, python_values.reading(df.schema), python_values.writing(row), lenient=lenient)
    python_calls.pickled(call)  # what cannot be sent is told here, whatever the mode
    answer = T.StructType([T.StructField("rows", T.ArrayType(row)), T.StructField("refused", python_calls.REFUSED)])
    ahead = plans_one_by_one() or _led_past.get()
    answered = _sent_ahead(df, call, answer, options.get("limit")) if ahead else _in_batches(df, call, answer)
    passed_on = [_named(name) for name in arguments.names(f"{kind}: keep", options.get("keep", ()))]
    rows = answered.select(*passed_on, F.explode("answer.rows").alias("row")).select(*passed_on, "row.*")
    if not lenient:
        return rows
    letter = F.struct("answer.refused.reason", "answer.refused.line", F.struct(*map(_named, df.columns)).alias("record"))
    main = F.transform("answer.rows", lambda one: F.struct(one.alias(MAIN), F.lit(None).cast(_letter(df)).alias(DEAD_LETTERS)))
    lost = F.array(F.struct(F.lit(None).cast(row).alias(MAIN), letter.alias(DEAD_LETTERS)))
    return answered.select(F.explode(F.when(F.col("answer.refused").isNull(), main).otherwise(lost)).alias("row")).select("row.*")


def _named(name: str) -> Any:
    return F.col(f"`{name}`")


def _letter(df: DataFrame) -> T.StructType:
    return T.StructType([*python_calls.REFUSED, T.StructField("record", df.schema)])


def _sent_ahead(df: DataFrame, call: MapCall, answer: T.StructType, limit: float | None) -> DataFrame:
    record = F.struct(*map(_named, df.columns))
    packed = python_calls.packed(df, call, (record,), answer, limit)
    java = jvm.package(df.sparkSession).PythonMap.apply(df._jdf, "answer", *packed, False)
    return jvm.data_frame(java, df.sparkSession)


def _in_batches(df: DataFrame, call: MapCall, answer: T.StructType) -> DataFrame:
    schema = T.StructType([*df.schema, T.StructField("answer", answer)])
    return df.mapInArrow(ArrowMap(call, schema.json(), python_values.from_arrow(df.schema)), schema)
