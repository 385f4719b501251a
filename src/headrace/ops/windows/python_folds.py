"""Aggregates of the program's own that are a Python class."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headrace.definitions import arguments, schemas
from headrace.errors import DefinitionError, user_line
from headrace.kernel.python import calls, values
from headrace.kernel.python.worker.functions import FoldCall
from headrace.ops.windows.aggregates import Folded, OwnFold


@dataclass(frozen=True)
class PythonFold(OwnFold):
    """`functions` has the methods, and the types between them."""

    functions: Any
    state: T.DataType
    output: T.DataType

    def of(self, df: DataFrame) -> Folded:
        columns = [field.dataType for field in df.select(*self.inputs).schema] if self.columns else []
        functions, state = self.functions, self.state

        def called(function: Callable[..., Any], kinds: Sequence[T.DataType], gives: T.DataType) -> Callable[..., Column]:
            taken = T.StructType([T.StructField(f"c{i}", kind) for i, kind in enumerate(kinds)])
            result = T.StructType([T.StructField("value", gives)])
            call = FoldCall(function, "fold_python", values.reading(taken), values.writing(result))
            calls.pickled(call)  # what cannot be sent is told here

            def column(*inputs: Column) -> Column:
                struct = F.struct(*[each.alias(name) for name, each in zip(taken.names, inputs, strict=True)])
                return calls.call(df, call, struct, returns=result)["value"]

            return column

        merge = called(functions.merge, [state, state], state) if hasattr(functions, "merge") else None
        return OwnFold(
            self.columns, values.literal(functions.zero(), state), called(functions.step, [state, *columns], state), merge,
            called(functions.result, [state], self.output),
        )  # fmt: skip


def fold_python(functions: Any, *columns: Column | str) -> OwnFold:
    """An aggregate of your own as a Python class, for a window's `agg`: an object with the methods of `hr.fold`.

    state, output   attributes: the types of the value that is kept, and of what goes out, as Spark spells them: `"array<double>"`.
    zero()          the value of no records.
    step(value, …)  the next value, of the columns that are named behind the object.
    merge(one, other)   the value of two windows that become one; sessions need it.
    result(value)   what goes out.

    >>> import headrace as hr
    >>> class Median:
    ...     state, output = "array<double>", "double"
    ...     def zero(self): return []
    ...     def step(self, seen, price): return sorted([*seen, price])
    ...     def result(self, seen): return seen[len(seen) // 2]
    >>> sales = hr.read.memory("at timestamp, price double").event_time("at", "1 minute")
    >>> sales.window(hr.tumbling("1 hour")).agg(middle=hr.fold_python(Median(), "price"))
    Stream[start: timestamp, end: timestamp, middle: double]

    The methods must depend on nothing but their arguments. A call takes some 30 microseconds; what Spark's expressions can say is a
    hundred times as fast with `hr.fold`. State: the value. It runs in every mode.
    """
    for name in ("zero", "step", "result"):
        if not callable(getattr(functions, name, None)):
            raise DefinitionError(
                f"fold_python: {arguments.shown(functions)} has no method {name}", fix="give an object with zero, step and result",
                where=user_line(),
            )  # fmt: skip
    arguments.function("fold_python: step", functions.step, "value", *map(arguments.shown, columns))
    state, output = (_kind(functions, name) for name in ("state", "output"))
    return PythonFold(columns, None, functions.step, None, functions.result, functions, state, output)


def _kind(functions: Any, name: str) -> T.DataType:
    spelt = getattr(functions, name, None)
    if isinstance(spelt, T.DataType):
        return spelt
    if not isinstance(spelt, str):
        raise DefinitionError(
            f"fold_python: {arguments.shown(functions)} does not say of which type its {name} is",
            fix=f'give it the attribute {name} = "double", or another type', where=user_line(),
        )  # fmt: skip
    return schemas.structure(f"fold_python: {name}", f"value {spelt}")["value"].dataType
