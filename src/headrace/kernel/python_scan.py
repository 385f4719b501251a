"""The scan for what cannot be an expression: a Python function `(state, record) -> (state, outputs)`.

It means what `scan` means and runs on PySpark's `transformWithState`, in batch and micro-batch. Every record visits a Python worker, which
costs an order of magnitude; real-time mode has no Python operators at all, and refuses it.

    >>> import headrace as hr
    >>> words = hr.session().createDataFrame([("to",), ("be",), ("to",)], "word string")
    >>> def count(state, record):
    ...     return {"n": state["n"] + 1}, [{"word": record["word"], "n": state["n"] + 1}]
    >>> counts = scan_python(words, keys="word", state="n int", start={"n": 0}, function=count, output="word string, n int")
    >>> sorted(tuple(row) for row in counts.collect())
    [('be', 1), ('to', 1), ('to', 2)]
"""

from __future__ import annotations

import copy
import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark import cloudpickle
from pyspark.errors import IllegalArgumentException
from pyspark.sql import DataFrame, GroupedData, Row
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from headrace.errors import DefinitionError, user_line
from headrace.kernel import given, jvm, pickles, schemas

State = dict[str, Any]
Function = Callable[[State, dict[str, Any]], tuple[State | None, Iterable[Mapping[str, Any]]]]


def scan_python(
    df: DataFrame,
    *,
    keys: str | Sequence[str],
    state: str | T.StructType,
    function: Function,
    output: str | T.StructType,
    start: Mapping[str, Any] | None = None,
    order: str | Sequence[str] = (),
    initial: DataFrame | None = None,
) -> DataFrame:
    """Carry a state along the records of each key with a Python function.

    `function(state, record)` gets two dicts, the state *before* the record and the record, and returns the new state (None: forget the key)
    and the rows to put out, zero to many. It must depend on nothing else: a batch may be run again. A state has all its fields; in a row,
    a column that is left out is null. `start` holds the first values of the fields (default: null); `keys`, `order` and `initial` are those
    of `scan`. State: one row a key, until the function forgets it: there is no event time, no timer and no `idle` here.
    """
    given.table("scan_python", df, fix="give a DataFrame; a stream has a method for it: stream.key_by('key').scan_python(…)")
    names = given.names("scan_python: key", keys)
    if not names:
        raise DefinitionError(
            "scan_python: there is no key", fix="for one state of all records, key them by a column that is the same in all",
            where=user_line(),
        )  # fmt: skip
    given.function("scan_python: function", function, "state", "record")
    fields, rows = schemas.structure("scan_python: state", state), schemas.structure("scan_python: output", output)
    by = given.names("scan_python: order", order)
    if unknown := sorted(set(given.mapping("scan_python: start", start or {})) - set(fields.names)):
        raise DefinitionError(
            f"scan_python: start names '{unknown[0]}', which is not a field of the state ({', '.join(fields.names)})",
            fix="name fields of the state only", where=user_line(),
        )  # fmt: skip
    if missing := [name for name in (*names, *by) if name not in df.columns]:
        raise DefinitionError(
            f"scan_python: there is no column '{missing[0]}'", fix=f"name one that there is: {', '.join(df.columns)}", where=user_line()
        )
    first = {name: (start or {}).get(name) for name in fields.names}
    ordered = jvm.in_order(df, by)
    known: list[str] = []
    begin = None
    if initial is not None:
        known = _known(given.table("scan_python: initial", initial), names, fields.names)
        table = initial.select(*[F.col(name).alias(name) for name in names], *[F.col(name).alias(f"state_{name}") for name in known])
        begin = _grouped(table, names)
    _travels_with_the_job(function)
    pickles.check("scan_python: the function", function)
    processor = _Processor(function, first, fields, known, rows.names, df.columns)
    return _grouped(ordered, names).transformWithState(processor, rows, "Update", "None", begin)


def _known(initial: DataFrame, keys: Sequence[str], fields: Sequence[str]) -> list[str]:
    """The fields of the state that a table to begin with has; it must have the keys, and may have nothing else."""
    sensitive = initial.sparkSession.conf.get("spark.sql.caseSensitive") == "true"

    def same(name: str) -> str:
        return name if sensitive else name.lower()

    columns = {same(name): name for name in initial.columns}
    if missing := [name for name in keys if same(name) not in columns]:
        raise DefinitionError(
            f"scan_python: the table to begin with has no column '{missing[0]}'; it has {', '.join(initial.columns)}",
            fix="give it the key columns, and any fields of the state", where=user_line(),
        )  # fmt: skip
    if unknown := [columns[name] for name in columns if name not in map(same, (*keys, *fields))]:
        raise DefinitionError(
            f"scan_python: the table to begin with has columns that are neither keys ({', '.join(keys)}) "
            f"nor fields of the state ({', '.join(fields)}): {', '.join(unknown)}",
            fix="select the key columns and the fields of the state, or correct their names", where=user_line(),
        )  # fmt: skip
    return [name for name in fields if same(name) in columns]


def _grouped(df: DataFrame, names: Sequence[str]) -> GroupedData:
    """The records by key. Where keys that differ in their bytes are the same, by a column of its own: the record stays as it is."""
    try:
        normal = {f"__key_{name}": jvm.normal_key(df, name) for name in names}
    except IllegalArgumentException as failure:
        raise jvm.definition_error("scan_python", failure) from None
    added = {name: column for name, column in normal.items() if column is not None}
    return df.withColumns(added).groupBy(*(f"__key_{name}" if f"__key_{name}" in added else name for name in names))


class _Processor(StatefulProcessor):
    def __init__(
        self, function: Function, first: State, fields: T.StructType, known: list[str], output: list[str], record: list[str]
    ) -> None:
        self.function, self.first, self.fields, self.known, self.output, self.record = function, first, fields, known, output, record

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.states = handle.getValueState("state", self.fields)

    def handleInitialState(self, key: Any, initialState: Row, timerValues: Any) -> None:  # noqa: ARG002, N802, N803 - PySpark's names
        known = {name: initialState[f"state_{name}"] for name in self.known}
        self.states.update(tuple((self.first | known).values()))

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: ARG002, N802, N803 - PySpark's names
        found = self.states.get()
        state = None if found is None else dict(zip(self.first, found, strict=True))
        places: list[int] = []
        columns = frozenset(self.output)
        for row in rows:
            places = places or [row.__fields__.index(name) for name in self.record]
            record = {name: row[place] for name, place in zip(self.record, places, strict=True)}
            result = self.function(copy.deepcopy(self.first) if state is None else state, record)
            if not isinstance(result, tuple) or len(result) != 2:
                raise self._refused(f"the function gave {given.shown(result)}", "return two things: the new state, and a list of rows")
            state, outputs = result
            if state is not None and (not isinstance(state, Mapping) or state.keys() != self.first.keys()):
                raise self._not_as_defined("state", state, list(self.first))
            for out in outputs:
                if not isinstance(out, Mapping) or not columns.issuperset(out):
                    raise self._not_as_defined("row", out, self.output)
                yield Row(**{name: out.get(name) for name in self.output})
        if state is None:
            self.states.clear()
        else:
            self.states.update(tuple(state[name] for name in self.first))

    def close(self) -> None:
        pass

    def _not_as_defined(self, what: str, wrong: Any, names: Sequence[str]) -> DefinitionError:
        if not isinstance(wrong, Mapping):
            how = f"is {given.shown(wrong)}, and no dict"
        elif unknown := sorted(wrong.keys() - set(names), key=str):
            how = f"names '{unknown[0]}'"
        else:
            how = f"lacks '{next(name for name in names if name not in wrong)}'"
        return self._refused(f"a {what} that the function gave {how}; a {what} has {', '.join(names)}", "name them as the schema does")

    def _refused(self, what: str, fix: str) -> DefinitionError:
        code = getattr(self.function, "__code__", None)
        return DefinitionError(f"scan_python: {what}", fix=fix, where=code and f"{code.co_filename}:{code.co_firstlineno}")


def _travels_with_the_job(function: Function) -> None:
    """A worker can import what is installed, but not the user's own script: that is sent by value."""
    while isinstance(function, functools.partial):
        function = function.func
    module = sys.modules.get(function.__module__)
    file = getattr(module, "__file__", None)
    if module is not None and file is not None and module.__name__ != "__main__" and not _is_installed(module.__name__, file):
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]


def _is_installed(name: str, file: str) -> bool:
    """By value, modules of Python itself could not be sent, and for the rest of the process nothing that has to do with them."""
    return name.partition(".")[0] in sys.stdlib_module_names or not {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts)
