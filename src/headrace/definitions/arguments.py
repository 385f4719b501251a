"""What a program gives where a column, a name or a text is wanted: as such, or refused in words. `at` says where it was given."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from headrace.errors import DefinitionError, user_line

Condition = Column | str | bool
Called = TypeVar("Called", bound=Callable[..., Any])


def condition(at: str, value: Condition | None) -> Column | None:
    """A condition, also as text (as `where` takes it), as True or as False. None is none."""
    if isinstance(value, bool):
        return F.lit(value)
    if value is None or isinstance(value, Column | str):
        return None if value is None else expression(at, value)
    raise _refused(
        at, f"{shown(value)} is no condition", 'give a column that is true or false, such as F.col("amount") > 3, or text: "amount > 3"'
    )


def expression(at: str, value: Column | str) -> Column:
    """A column, also as text in SQL."""
    if not isinstance(value, Column | str):
        raise _refused(
            at,
            f"{shown(value)} is neither a column nor an expression",
            'give a column, such as F.col("amount") > 3, or an expression in text: "amount > 3"',
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
        raise _refused(
            at,
            f"{shown(given)} is neither a column nor a value that Spark knows",
            'give a column, such as F.col("amount"), or a number, text, time, list or dict',
        ) from None


def first_value(at: str, given: Any) -> Column:
    """A state field's first value: a column or a plain value; a type (`"double"`) stands for null of that type."""
    if given is None:
        raise _refused(at, "None has no type", 'give the type, such as "double", which begins as null')
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
            at, f"{shown(given)} is neither a column nor the name of one", 'give a column or its name; a value is F.lit(5).alias("five")'
        )
    return F.col(given) if isinstance(given, str) else given


def columns(at: str, given: Sequence[Column | str] | Column | str) -> list[Column]:
    """Several columns; one name is one of them."""
    many = given if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    return [column(at, each) for each in many]


def name(at: str, given: str) -> str:
    """The name of a column."""
    if isinstance(given, Column):
        raise _refused(at, f"{given} is a column, and not the name of one", "name it; compute it before, with_columns(name=…)")
    if not isinstance(given, str):
        one_by_one = "name the columns one by one" if isinstance(given, list | tuple) else "name it as text"
        raise _refused(at, f"{shown(given)} is not the name of a column", f'{one_by_one}, such as "amount"')
    return given


def names(at: str, given: str | Sequence[str]) -> list[str]:
    """The names of several columns; one name is one of them."""
    return [name(at, each) for each in ([given] if isinstance(given, str) or not isinstance(given, Sequence) else given)]


def text(at: str, given: str) -> str:
    if not isinstance(given, str):
        raise _refused(
            at,
            f"{shown(given)} is no text",
            f"write it in quotes: {str(given)!r}" if isinstance(given, int | float) else "give text, in quotes",
        )
    return given


def path(at: str, given: str | Path) -> str:
    if not isinstance(given, str | Path) or not str(given):
        raise _refused(at, f"{shown(given)} is no path", 'give the path of a directory or file, such as "/data/orders"')
    return str(given)


def flag(at: str, given: bool) -> bool:
    if not isinstance(given, bool):
        raise _refused(at, f"{shown(given)} is neither True nor False", "give True or False")
    return given


def mapping(at: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise _refused(at, f"{shown(given)} is no dict with names for keys", "give a dict from each name to its value: {'n': …}")
    return given


A_TABLE = "give a DataFrame of Spark's: hr.session().createDataFrame(…) makes one of rows, or of a pandas DataFrame"


def table(at: str, given: object, *, fix: str = A_TABLE) -> DataFrame:
    if not isinstance(given, DataFrame):
        raise _refused(at, f"{shown(given)} is no DataFrame", fix)
    return given


def aggregate(at: str, given: Column) -> Column:
    if not isinstance(given, Column):
        raise _refused(at, f"{shown(given)} is no aggregate", 'give one of Spark\'s, such as F.max("amount") or F.count("*")')
    return given


def aggregates(at: str, given: Sequence[Column]) -> Sequence[Column]:
    """At least one."""
    if not given:
        raise _refused(at, "no aggregate is given", 'give one or more of Spark\'s, such as F.max("amount") or F.count("*")')
    return [aggregate(at, each) for each in given]


def function(at: str, given: Called, *arguments: str, **named: Any) -> Called:
    """What can be called with such arguments."""
    parameters = f"({', '.join([*arguments, *(f'{name}=…' for name in named)])})"
    if not callable(given):
        raise _refused(at, f"{shown(given)} cannot be called", f"give a function of {parameters}")
    called = getattr(given, "__name__", type(given).__name__)
    try:
        inspect.signature(given).bind(*arguments, **named)
    except TypeError as error:
        fix = f"give it the parameters {parameters}"
        raise _refused(at, f"{called} cannot be called with {parameters}: {error}", fix) from None
    except ValueError:  # one that is written in C need not tell its parameters
        pass
    return given


def one_of(at: str, given: str, choices: Iterable[str]) -> str:
    if given not in choices:
        raise _refused(at, f"{shown(given)} is not known", f"use one of {', '.join(choices)}")
    return given


def whole(at: str, given: int, *, least: int, most: int | None = None) -> int:
    """A whole number, with both bounds in it."""
    if isinstance(given, bool) or not isinstance(given, int) or given < least or (most is not None and given > most):
        bounds = f"from {least} on" if most is None else f"from {least} to {most}"
        raise _refused(at, f"{shown(given)} is no number that it can take", f"give a whole number {bounds}")
    return given


def options(at: str, given: Mapping[str, Any], kind: Any) -> None:
    """Refuse what is none of the options that a TypedDict lists, and miss none that it requires."""
    for name in given:
        one_of(f"{at}: the option", name, kind.__annotations__)
    if missing := sorted(kind.__required_keys__ - given.keys()):
        raise _refused(at, f"there is no {missing[0]}=", f"give {', '.join(f'{name}=…' for name in sorted(kind.__required_keys__))}")


def shown(given: object) -> str:
    """A value in an error: as it is written, if that is short and tells something, or else what it is."""
    plain = given is None or isinstance(given, str | int | float | list | tuple | dict | Column)
    if plain and len(repr(given)) <= _SHORT:
        return repr(given)
    if isinstance(given, type):
        return f"the class {given.__name__}"
    package, kind = type(given).__module__.partition(".")[0], type(given).__name__
    whole = kind if package in ("builtins", "headrace", "__main__") else f"{package} {kind}"
    return f"{'an' if whole[0].lower() in 'aeio' else 'a'} {whole}"


_SHORT = 80


def _refused(at: str, what: str, fix: str) -> DefinitionError:
    return DefinitionError(f"{at}: {what}", fix=fix, where=user_line())
