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

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from headrace.errors import DefinitionError, user_line
from headrace.kernel import jvm

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
    and the rows to put out, zero to many. It must depend on nothing else: a batch may be run again. `start` holds the first values of the
    fields (default: null); `keys`, `order` and `initial` are those of `scan`. State: one row a key.
    """
    names = [keys] if isinstance(keys, str) else list(keys)
    fields, rows = _structure(state), _structure(output)
    if unknown := sorted(set(start or {}) - set(fields.names)):
        raise DefinitionError(
            f"scan_python: start names '{unknown[0]}', which is not a field of the state ({', '.join(fields.names)})",
            fix="name fields of the state only", where=user_line(),
        )  # fmt: skip
    if missing := [name for name in (*names, *([order] if isinstance(order, str) else order)) if name not in df.columns]:
        raise DefinitionError(
            f"scan_python: there is no column '{missing[0]}'; there are {', '.join(df.columns)}", fix="correct the name", where=user_line()
        )
    first = {name: (start or {}).get(name) for name in fields.names}
    ordered = jvm.in_order(df, [order] if isinstance(order, str) else list(order))
    begin = None if initial is None else initial.select(*names, *[F.col(n).alias(f"state_{n}") for n in fields.names]).groupBy(*names)
    _travels_with_the_job(function)
    processor = _Processor(function, first, fields, rows.names, df.columns)
    return ordered.groupBy(*names).transformWithState(processor, rows, "Update", "None", begin)


class _Processor(StatefulProcessor):
    def __init__(self, function: Function, first: State, fields: T.StructType, output: list[str], record: list[str]) -> None:
        self.function, self.first, self.fields, self.output, self.record = function, first, fields, output, record

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.states = handle.getValueState("state", self.fields)

    def handleInitialState(self, key: Any, initialState: Row, timerValues: Any) -> None:  # noqa: ARG002, N802, N803 - PySpark's names
        self.states.update(tuple(initialState[f"state_{name}"] for name in self.fields.names))

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: ARG002, N802, N803 - PySpark's names
        found = self.states.get()
        state = None if found is None else dict(zip(self.fields.names, found, strict=True))
        for row in rows:
            record = {name: row[name] for name in self.record}
            state, outputs = self.function(dict(self.first) if state is None else state, record)
            for out in outputs:
                yield Row(**{name: out.get(name) for name in self.output})
        if state is None:
            self.states.clear()
        else:
            self.states.update(tuple(state[name] for name in self.fields.names))

    def close(self) -> None:
        pass


def _travels_with_the_job(function: Function) -> None:
    """A worker can import what is installed, but not the user's own script: that is sent by value."""
    module = sys.modules.get(function.__module__)
    file = getattr(module, "__file__", None)
    if module is not None and file is not None and module.__name__ != "__main__" and "site-packages" not in file:
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]


def _structure(schema: str | T.StructType) -> T.StructType:
    if isinstance(schema, T.StructType):
        return schema
    parsed = T.DataType.fromDDL(schema)
    assert isinstance(parsed, T.StructType)
    return parsed
