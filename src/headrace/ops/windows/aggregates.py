"""The aggregates of a window: any of Spark's, several at once, and those of one's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.definitions import arguments
from headrace.errors import DefinitionError, user_line
from headrace.kernel.folds import Fold
from headrace.ops.windows.flags import Fields, Known


class Folded(Protocol):
    """An aggregate, taken apart: see `Fold`."""

    @property
    def inputs(self) -> list[Column]: ...
    @property
    def initial(self) -> list[Column]: ...
    def update(self, buffers: Sequence[Column], inputs: Sequence[Column]) -> list[Column]: ...
    def merge(self, left: Sequence[Column], right: Sequence[Column]) -> list[Column]: ...
    def result(self, buffers: Sequence[Column]) -> Column: ...


@dataclass(frozen=True)
class OwnFold:
    """An aggregate of the program's own, as functions of columns. `fold` makes one."""

    columns: tuple[Column | str, ...]
    zero: Any
    step: Callable[..., Column]
    together: Callable[[Column, Column], Column] | None
    value: Callable[[Column], Column]

    def of(self, df: DataFrame) -> Folded:  # noqa: ARG002 - one in Python asks for their types
        """The same for records with the columns of `df`."""
        return self

    @property
    def inputs(self) -> list[Column]:
        return [column for each in self.columns for column in arguments.columns("fold", each)]

    @property
    def initial(self) -> list[Column]:
        return [arguments.value("fold: zero", self.zero)]

    def update(self, buffers: Sequence[Column], inputs: Sequence[Column]) -> list[Column]:
        return [self.step(buffers[0], *inputs)]

    def merge(self, left: Sequence[Column], right: Sequence[Column]) -> list[Column]:
        if self.together is None:
            raise DefinitionError(
                "fold: these windows become one when they touch, and it is not known how two values do",
                fix="give merge=lambda one, other: …", where=user_line(),
            )  # fmt: skip
        return [self.together(left[0], right[0])]

    def result(self, buffers: Sequence[Column]) -> Column:
        return self.value(buffers[0])


def fold(
    *columns: Column | str,
    zero: Any,
    step: Callable[..., Column],
    merge: Callable[[Column, Column], Column] | None = None,
    result: Callable[[Column], Column] | None = None,
) -> OwnFold:
    """An aggregate of your own, for a window's `agg`: a value to begin with, and what a record makes of it.

    zero    the value of no records: a column or a plain value.
    step    `step(value, *columns)` is the next value, of the same type: a function of columns that returns one.
    merge   `merge(one, other)` is the value of two windows that become one; sessions need it.
    result  what goes out of a value; the value itself if it is not given.

    >>> import headrace as hr
    >>> from pyspark.sql import functions as F
    >>> sales = hr.read.memory("at timestamp, price double, pieces int").event_time("at", "1 minute")
    >>> spent = hr.fold("price", "pieces", zero=0.0, step=lambda total, price, pieces: total + price * pieces)
    >>> sales.window(hr.tumbling("1 hour")).agg(spent=spent)
    Stream[start: timestamp, end: timestamp, spent: double]

    State: the value.
    """
    for name, function in {"step": step, "merge": merge, "result": result}.items():
        if function is not None and not callable(function):
            raise DefinitionError(
                f"fold: {name}: {arguments.shown(function)} is no function",
                fix="give a function of columns: step=lambda total, amount: total + amount", where=user_line(),
            )  # fmt: skip
    return OwnFold(columns, zero, step, merge, result or (lambda value: value))


class Totals:
    """All aggregates of a window over the columns of `df`, as fields of a state that are called `b0`, `b1`, …"""

    def __init__(self, df: DataFrame, aggregates: Mapping[str, Column | OwnFold]) -> None:
        self.folds: dict[str, Folded] = {
            name: each.of(df) if isinstance(each, OwnFold) else Fold(df, each, growing=True, at="agg") for name, each in aggregates.items()
        }
        self._places: dict[str, list[str]] = {}
        self.initial: Fields = {}
        for name, each in self.folds.items():
            first = len(self.initial)
            self._places[name] = [f"b{first + i}" for i in range(len(each.initial))]
            self.initial |= dict(zip(self._places[name], each.initial, strict=True))

    @property
    def inputs(self) -> list[Column]:
        """What they read of a record."""
        return [column for each in self.folds.values() for column in each.inputs]

    def added(self, known: Known, inputs: Sequence[Column] | None = None) -> Fields:
        """The fields after a record: the one at hand, or that of these inputs."""
        rest = iter(self.inputs if inputs is None else inputs)

        def of(name: str, each: Folded) -> Fields:
            values = [next(rest) for _ in each.inputs]
            return dict(zip(self._places[name], each.update(self._of(name, known), values), strict=True))

        return {field: value for name, each in self.folds.items() for field, value in of(name, each).items()}

    def merged(self, one: Known, other: Known) -> Fields:
        """The fields of what two have seen."""
        return {
            field: value
            for name, each in self.folds.items()
            for field, value in zip(self._places[name], each.merge(self._of(name, one), self._of(name, other)), strict=True)
        }

    def results(self, known: Known) -> list[Column]:
        return [self.result(name, known).alias(name) for name in self.folds]

    def result(self, name: str, known: Known) -> Column:
        return self.folds[name].result(self._of(name, known))

    def _of(self, name: str, known: Known) -> list[Column]:
        return [known[field] for field in self._places[name]]


def named(df: DataFrame, columns: Sequence[Column], more: Mapping[str, Column | OwnFold]) -> dict[str, Column | OwnFold]:
    """The aggregates by the names that they come out under: their own, or those that they are given."""
    if any(isinstance(each, OwnFold) for each in columns):
        raise DefinitionError("agg: a fold has no name of its own", fix="give it one: agg(total=hr.fold(…))", where=user_line())
    for each in more.values():
        if not isinstance(each, OwnFold):
            arguments.aggregate("agg", each)
    aggregated = arguments.aggregates("agg", columns) if columns or not more else []
    names = df.groupBy(F.lit(True)).agg(*aggregated).columns[1:] if aggregated else []
    twice = [name for name in names if names.count(name) > 1] + [name for name in names if name in more]
    if twice:
        raise DefinitionError(f"agg: there are two columns {twice[0]!r}", fix='give one another name: .alias("other")', where=user_line())
    return {**dict(zip(names, aggregated, strict=True)), **more}


def fields_of(at: str, names: Sequence[str]) -> Fields:
    """The fields of a state, a bag's row or another struct, as columns."""
    return {name: F.col(f"{at}.{name}") for name in names}
