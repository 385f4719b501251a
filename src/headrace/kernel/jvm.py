"""The way into the JVM: our Scala objects, and columns and lists as they want them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from pyspark.errors import IllegalArgumentException, PySparkException
from pyspark.sql import Column, DataFrame, SparkSession

from headrace.definitions import refusals
from headrace.errors import DefinitionError, SetupError, user_line

_PACKAGE = "org.apache.spark.sql.headrace"
EXTENSIONS = f"{_PACKAGE}.Extensions"
_classes: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()


def java_class(spark: SparkSession, name: str) -> Any:
    """A class of this session's JVM by its full name, looked up once: as attributes, `_jvm.org.apache…`, each part of the name would be
    looked for in every jar, each time."""
    jvm: Any = spark.sparkContext._jvm
    classes = _classes.setdefault(jvm, {})
    if name not in classes:
        java_type = getattr(jvm, name)
        if type(java_type).__name__ != "JavaClass":  # what is no class is taken for the name of a package
            raise LookupError(name)
        classes[name] = java_type
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
            fix="get the session from headrace.session(), or give yours what headrace.spark.session.settings() returns",
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


def fitted(theirs: DataFrame, ours: DataFrame, name: str) -> Column | None:
    """Their column in the type that it has in ours: the same, or a narrower number made wider. None if it does not fit."""
    column = package(ours.sparkSession).Keys.fittedColumn(theirs._jdf, ours._jdf, name)
    return None if column is None else python_column(column)


def mentions(spark: SparkSession, column: Column) -> list[str]:
    """The columns that an expression names; of a field, `place.lat`, the first part."""
    try:
        return list(package(spark).Scan.mentions(spark._jsparkSession, java_column(column)))
    except PySparkException as error:
        what, fix = refusals.words(error, {})
        raise DefinitionError(f"{column}: {what}", fix=fix, where=user_line()) from None


def definition_error(
    operator: str,
    failure: IllegalArgumentException,
    columns: Mapping[str, str] | None = None,
    lines: Mapping[str, str | None] | None = None,
) -> DefinitionError:
    """The kernel's refusal as an error that points at the user's line. `columns` are those that the program could name; `lines` those of
    parts that were written elsewhere than what is called now."""
    refusal: Any = getattr(failure, "_origin", None)
    if refusal is None or refusal.getClass().getSimpleName() != "BadDefinition":
        reason = refusals.first_line(str(failure))
        return DefinitionError(f"{operator}: {reason}", fix=_fix(reason), where=user_line())
    what, fix = refusal.reason(), refusal.fix() or _fix(refusal.reason())
    if isinstance(cause := getattr(failure, "_cause", None), PySparkException):
        what, fix = refusals.words(cause, columns or {})
    at = f"{operator}: {refusal.at()}" if refusal.at() else operator
    return DefinitionError(f"{at}: {what}", fix=fix, where=(lines or {}).get(refusal.at()) or user_line())


def _fix(reason: str) -> str:
    """What to do about a reason that comes without one."""
    return next((fix for sign, fix in _FIXES.items() if sign in reason), _ELSE)


_FIXES = {
    "is late for the next": "do it all in one scan; or wait=False and no timer in the first; or put a Kafka topic between the two",
    "would make the others late": 'say it of each stream before they meet: orders.event_time("at", …).union(payments.event_time("at", …))',
    "neither keys": "select the key columns and the fields of the state, or correct their names",
    "a timestamp is needed": "make it a timestamp before: with_columns(at=F.to_timestamp('at')); in the state, give the type 'timestamp'",
    "BOOLEAN is needed": "give a condition: a column that is true or false, such as F.col('amount') > 3",
    "is needed": "cast the expression, F.col('amount').cast('int'), or give the state field that type: state={'total': 'double'}",
    "one state of all records": "key_by('column'); add one that is the same in all records: with_columns(all=F.lit(1)).key_by('all')",
    "which has no order": "order by a number, a text or a time",
    "grouped by their bytes": "key by a number, a text or a time; of a struct by a field: with_columns(id=F.col('who.id')).key_by('id')",
    "columns of the state only": "keep what it needs in the state: update={'at': F.col('at')}, timer=Timer(at='state.at', …)",
    "is not a field of the state": "name it in state, too: state={'total': 0}; or correct the name",
    "is not a column of the bag": "name it in add, too: add=['amount', 'at', F.lit(False).alias('matched')]; or correct the name",
    "has two columns named": "give one of them another name: F.col('name').alias('other')",
    "one array of structs": "give a list of columns, output=['name', …]; or, for many rows, F.array(F.struct('name', …), …)",
    "must be a batch table": "read it as a table: hr.session().read.parquet(…)",
    "there is no column": "name one of these",
    "there are two columns": "rename or drop one of them before",
    "but one value": "name one column; `*` stands for several",
    "projection": "write it with columns of the record and the state alone: F.col('amount'), F.col('state.total')",
}
_ELSE = "write this part with columns of the record, F.col('amount'), and of the state, F.col('state.total')"
