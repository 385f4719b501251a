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


def value(at: str, argument: Any) -> Column:
    """A column, or a plain value. Not a text, which could be a value, a name or an expression."""
    if isinstance(argument, str):
        raise _refused(
            at, f"{argument!r} is text", "say what it is: F.col(…) for a column, F.expr(…) for an expression, F.lit(…) for the text itself"
        )
    try:
        return argument if isinstance(argument, Column) else F.lit(argument)
    except (PySparkException, TypeError, AttributeError):
        raise _refused(
            at,
            f"{shown(argument)} is neither a column nor a value that Spark knows",
            'give a column, such as F.col("amount"), or a number, text, time, list or dict',
        ) from None


def first_value(at: str, argument: Any) -> Column:
    """A state field's first value: a column or a plain value; a type (`"double"`) stands for null of that type."""
    if argument is None:
        raise _refused(at, "None has no type", 'give the type, such as "double", which begins as null')
    if not isinstance(argument, str | DataType):
        return value(at, argument)
    try:
        return F.lit(None).cast(argument)
    except PySparkException:
        raise _refused(at, f"{argument!r} is no type", 'give a type such as "double", or the first value: F.lit("…") for a text') from None


def column(at: str, argument: Column | str) -> Column:
    """A column, also by its name, as PySpark's own `select` takes it."""
    if not isinstance(argument, Column | str):
        raise _refused(
            at, f"{shown(argument)} is neither a column nor the name of one", 'give a column or its name; a value is F.lit(5).alias("five")'
        )
    return F.col(argument) if isinstance(argument, str) else argument


def columns(at: str, argument: Sequence[Column | str] | Column | str) -> list[Column]:
    """Several columns; one name is one of them."""
    many = argument if isinstance(argument, Sequence) and not isinstance(argument, str) else [argument]
    return [column(at, each) for each in many]


def name(at: str, argument: str) -> str:
    """The name of a column."""
    if isinstance(argument, Column):
        raise _refused(at, f"{argument} is a column, and not the name of one", "name it; compute it before, with_columns(name=…)")
    if not isinstance(argument, str):
        one_by_one = "name the columns one by one" if isinstance(argument, list | tuple) else "name it as text"
        raise _refused(at, f"{shown(argument)} is not the name of a column", f'{one_by_one}, such as "amount"')
    return argument


def names(at: str, argument: str | Sequence[str]) -> list[str]:
    """The names of several columns; one name is one of them."""
    return [name(at, each) for each in ([argument] if isinstance(argument, str) or not isinstance(argument, Sequence) else argument)]


def text(at: str, argument: str) -> str:
    if not isinstance(argument, str):
        raise _refused(
            at,
            f"{shown(argument)} is no text",
            f"write it in quotes: {str(argument)!r}" if isinstance(argument, int | float) else "give text, in quotes",
        )
    return argument


def path(at: str, argument: str | Path) -> str:
    if not isinstance(argument, str | Path) or not str(argument):
        raise _refused(at, f"{shown(argument)} is no path", 'give the path of a directory or file, such as "/data/orders"')
    return str(argument)


def flag(at: str, argument: bool) -> bool:
    if not isinstance(argument, bool):
        raise _refused(at, f"{shown(argument)} is neither True nor False", "give True or False")
    return argument


def mapping(at: str, argument: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(argument, Mapping) or not all(isinstance(key, str) for key in argument):
        raise _refused(at, f"{shown(argument)} is no dict with names for keys", "give a dict from each name to its value: {'n': …}")
    return argument


A_TABLE = "give a DataFrame of Spark's: hr.session().createDataFrame(…) makes one of rows, or of a pandas DataFrame"


def table(at: str, argument: object, *, fix: str = A_TABLE) -> DataFrame:
    if not isinstance(argument, DataFrame):
        raise _refused(at, f"{shown(argument)} is no DataFrame", fix)
    return argument


def aggregate(at: str, argument: Column) -> Column:
    if not isinstance(argument, Column):
        raise _refused(at, f"{shown(argument)} is no aggregate", 'give one of Spark\'s, such as F.max("amount") or F.count("*")')
    return argument


def aggregates(at: str, argument: Sequence[Column]) -> Sequence[Column]:
    """At least one."""
    if not argument:
        raise _refused(at, "no aggregate is given", 'give one or more of Spark\'s, such as F.max("amount") or F.count("*")')
    return [aggregate(at, each) for each in argument]


def function(at: str, argument: Called, *arguments: str, **named: Any) -> Called:
    """What can be called with such arguments."""
    parameters = f"({', '.join([*arguments, *(f'{name}=…' for name in named)])})"
    if not callable(argument):
        raise _refused(at, f"{shown(argument)} cannot be called", f"give a function of {parameters}")
    called = getattr(argument, "__name__", type(argument).__name__)
    try:
        inspect.signature(argument).bind(*arguments, **named)
    except TypeError as error:
        fix = f"give it the parameters {parameters}"
        raise _refused(at, f"{called} cannot be called with {parameters}: {error}", fix) from None
    except ValueError:  # one that is written in C need not tell its parameters
        pass
    return argument


def one_of(at: str, argument: str, choices: Iterable[str]) -> str:
    if argument not in choices:
        raise _refused(at, f"{shown(argument)} is not known", f"use one of {', '.join(choices)}")
    return argument


def whole(at: str, argument: int, *, least: int, most: int | None = None) -> int:
    """A whole number, with both bounds in it."""
    if isinstance(argument, bool) or not isinstance(argument, int) or argument < least or (most is not None and argument > most):
        bounds = f"from {least} on" if most is None else f"from {least} to {most}"
        raise _refused(at, f"{shown(argument)} is no number that it can take", f"give a whole number {bounds}")
    return argument


def options(at: str, argument: Mapping[str, Any], kind: Any) -> None:
    """Refuse what is none of the options that a TypedDict lists, and miss none that it requires."""
    for name in argument:
        one_of(f"{at}: the option", name, kind.__annotations__)
    if missing := sorted(kind.__required_keys__ - argument.keys()):
        raise _refused(at, f"there is no {missing[0]}=", f"give {', '.join(f'{name}=…' for name in sorted(kind.__required_keys__))}")


def shown(argument: object) -> str:
    """A value in an error: as it is written, if that is short and tells something, or else what it is."""
    plain = argument is None or isinstance(argument, str | int | float | list | tuple | dict | Column)
    if plain and len(repr(argument)) <= _SHORT:
        return repr(argument)
    if isinstance(argument, type):
        return f"the class {argument.__name__}"
    package, kind = type(argument).__module__.partition(".")[0], type(argument).__name__
    whole = kind if package in ("builtins", "headrace", "__main__") else f"{package} {kind}"
    return f"{'an' if whole[0].lower() in 'aeio' else 'a'} {whole}"


_SHORT = 80


def _refused(at: str, what: str, fix: str) -> DefinitionError:
    return DefinitionError(f"{at}: {what}", fix=fix, where=user_line())
