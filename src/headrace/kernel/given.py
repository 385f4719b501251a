"""What a program gives where a column, a name or a text is wanted: as such, or refused in words. `at` says where it was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from headrace.errors import DefinitionError, user_line

Condition = Column | str | bool


def condition(at: str, value: Condition | None) -> Column | None:
    """A condition, also as text (as `where` takes it), as True or as False. None is none."""
    if isinstance(value, bool):
        return F.lit(value)
    if value is None or isinstance(value, Column | str):
        return None if value is None else expression(at, value)
    raise _refused(
        at, f"{value!r} is no condition", 'give a column that is true or false, such as F.col("amount") > 3, or text: "amount > 3"'
    )


def expression(at: str, value: Column | str) -> Column:
    """A column, also as text in SQL."""
    if not isinstance(value, Column | str):
        raise _refused(
            at, f"{value!r} is neither a column nor an expression", 'give a column, such as F.col("state.at"), or text: "state.at"'
        )
    return value if isinstance(value, Column) else F.expr(value)  # which Spark reads where it is used


def value(at: str, given: Any) -> Column:
    """A column, or a plain value. Not a text, which could be a value, a name or an expression."""
    if isinstance(given, str):
        raise _refused(
            at, f"{given!r} is text", "say what it is: F.col(…) for a column, F.expr(…) for an expression, F.lit(…) for the text itself"
        )
    try:
        return given if isinstance(given, Column) else F.lit(given)
    except (PySparkException, TypeError, AttributeError):
        raise _refused(at, f"{given!r} is neither a column nor a value that Spark knows", "give a column or a plain value") from None


def first_value(at: str, given: Any) -> Column:
    """A state field's first value: a column or a plain value; a type (`"double"`) stands for null of that type."""
    if not isinstance(given, str | DataType):
        return value(at, given)
    try:
        return F.lit(None).cast(given)
    except PySparkException:
        raise _refused(at, f"{given!r} is no type", 'give a type such as "double", or the first value: F.lit("…") for a text') from None


def column(at: str, given: Column | str) -> Column:
    """A column, also by its name, as PySpark's own `select` takes it."""
    if not isinstance(given, Column | str):
        raise _refused(
            at, f"{given!r} is neither a column nor the name of one", 'give a column or its name; a value is F.lit(5).alias("five")'
        )
    return F.col(given) if isinstance(given, str) else given


def columns(at: str, given: Sequence[Column | str] | str) -> list[Column]:
    """Several columns; one name is one of them."""
    many = given if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    return [column(at, each) for each in many]


def name(at: str, given: str) -> str:
    """The name of a column."""
    if isinstance(given, Column):
        raise _refused(at, f"{given} is a column, and not the name of one", "name it; compute it before, with_columns(name=…)")
    return text(at, given)


def names(at: str, given: str | Sequence[str]) -> list[str]:
    """The names of several columns; one name is one of them."""
    return [name(at, each) for each in ([given] if isinstance(given, str) or not isinstance(given, Sequence) else given)]


def text(at: str, given: str) -> str:
    if not isinstance(given, str):
        raise _refused(at, f"{given!r} is no text", "give it as text")
    return given


def choice(at: str, given: str, choices: Sequence[str]) -> str:
    if given not in choices:
        raise _refused(at, f"{given!r} is not known", f"use one of {', '.join(choices)}")
    return given


def mapping(at: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise _refused(at, f"{given!r} is no dict", "name each field: {'n': …}")
    return given


def table(at: str, given: DataFrame) -> DataFrame:
    if not isinstance(given, DataFrame):
        raise _refused(at, f"a {type(given).__name__} is no DataFrame", "give a batch DataFrame")
    return given


def aggregate(at: str, given: Column) -> Column:
    if not isinstance(given, Column):
        raise _refused(at, f"{given!r} is no aggregate", 'give one of Spark\'s, such as F.max("amount") or F.count("*")')
    return given


def _refused(at: str, what: str, fix: str) -> DefinitionError:
    return DefinitionError(f"{at}: {what}", fix=fix, where=user_line())
