"""The way into the JVM: our Scala objects, and columns and lists as they want them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from pyspark.sql import Column, DataFrame, SparkSession

from headrace.errors import DefinitionError, SetupError, user_line

_PACKAGE = "org.apache.spark.sql.headrace"
EXTENSIONS = f"{_PACKAGE}.Extensions"
_found: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()


def java_class(spark: SparkSession, name: str) -> Any:
    """A class of this session's JVM by its full name, looked up once: as attributes, `_jvm.org.apache…`, each part of the name would be
    looked for in every jar, each time."""
    jvm: Any = spark.sparkContext._jvm
    classes = _found.setdefault(jvm, {})
    if name not in classes:
        found = getattr(jvm, name)
        if type(found).__name__ != "JavaClass":  # what is no class is taken for the name of a package
            raise LookupError(name)
        classes[name] = found
    return classes[name]


@dataclass(frozen=True)
class _Package:
    spark: SparkSession

    def __getattr__(self, name: str) -> Any:
        return java_class(self.spark, f"{_PACKAGE}.{name}")


def package(spark: SparkSession) -> Any:
    """The Scala package of the kernel in this session's JVM."""
    try:
        java_class(spark, EXTENSIONS)
    except LookupError:
        raise SetupError(
            "this Spark session was started without the headrace kernel",
            fix="get the session from headrace.session(), or give yours what headrace.run.session.settings() returns",
        ) from None
    return _Package(spark)


def java_column(value: Column | None) -> Any:
    return None if value is None else value._jc


def java_columns(values: Iterable[Column | None]) -> list[Any]:
    return [java_column(value) for value in values]


def python_column(java: Any) -> Column:
    return Column(java)


def data_frame(java: Any, spark: SparkSession) -> DataFrame:
    return DataFrame(java, spark)


def in_order(df: DataFrame, columns: list[str]) -> DataFrame:
    """`df` with the marked columns by which a keyed operator sorts the records of a key: these, or else their arrival."""
    return data_frame(package(df.sparkSession).Arrival.ordered(df._jdf, columns), df.sparkSession)


def normal_key(df: DataFrame, name: str) -> Column | None:
    """The key in the one form that the same keys share (0.0 and -0.0, and all NaNs, are one key each); None if it has no other."""
    found = package(df.sparkSession).Keys.normalColumn(df._jdf, name)
    return None if found is None else python_column(found)


def fitted(theirs: DataFrame, ours: DataFrame, name: str) -> Column | None:
    """Their column in the type that it has in ours: the same, or a narrower number made wider. None if it does not fit."""
    found = package(ours.sparkSession).Keys.fittedColumn(theirs._jdf, ours._jdf, name)
    return None if found is None else python_column(found)


def definition_error(operator: str, failure: Exception) -> DefinitionError:
    """The JVM's refusal (`part|reason`) as an error that points at the user's line."""
    text = getattr(failure, "desc", None) or str(failure)
    at, _, reason = text.partition("|")
    reason = re.sub(r" SQLSTATE: \w+.*", "", reason, flags=re.DOTALL)
    reason = re.sub(r"^\[[A-Z_.]+\] ", "", reason.strip().splitlines()[0] if reason.strip() else text)
    return DefinitionError(f"{operator}: {at}: {reason}", fix=_fix(reason), where=user_line())


def _fix(reason: str) -> str:
    if "cannot be resolved" in reason:
        return "correct the name: record columns by their name, fields of the state as state.<field>"
    if "is late for the next" in reason:
        return "do it all in one scan; or wait=False and no timer in the first; or write the first to a topic and read it in another job"
    if "would make the others late" in reason:
        return 'say it of each stream before they meet: orders.event_time("at", …).union(payments.event_time("at", …))'
    if "neither keys" in reason:
        return "select the key columns and the fields of the state, or correct their names"
    if "is needed" in reason:
        return "cast the expression, or change the type of the state field"
    return "change the expression as the message says"
