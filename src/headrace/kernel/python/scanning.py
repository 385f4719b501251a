"""The scan for what cannot be an expression: a Python function `(state, record) -> (state, rows)`.

It is the scan, with one expression that calls a Python worker for each record: same meaning, all three modes, slower. A call takes some 30
microseconds on top of what the function takes, less than half of it where a batch has several records of a key and they are sent together.

    >>> import headrace as hr
    >>> words = hr.session().createDataFrame([("to",), ("be",), ("to",)], "word string")
    >>> def count(state, record):
    ...     return {"n": state["n"] + 1}, [{"word": record["word"], "n": state["n"] + 1}]
    >>> counts = scan_python(words, keys="word", state="n int", start={"n": 0}, function=count, output="word string, n int")
    >>> sorted(tuple(row) for row in counts.collect())
    [('be', 1), ('to', 1), ('to', 2)]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Required, Unpack

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headrace.definitions import arguments, schemas
from headrace.errors import DefinitionError, user_line
from headrace.kernel.python import calls as python_calls
from headrace.kernel.python import values as python_values
from headrace.kernel.python.worker.functions import Fields, ScanCall
from headrace.kernel.scan import LATE, MAIN, Port, ScanOptions, TimeOptions, Timer, scan_by_call

State = dict[str, Any]
Rows = Iterable[Mapping[str, Any]]
Function = Callable[[State, dict[str, Any]], tuple[State | None, Rows | Mapping[str, Rows]]]
OnTimer = Callable[[State, dict[str, Any], dict[str, Any]], tuple[State | None, Rows | Mapping[str, Rows]]]
Errors = Literal["fail", "dead_letters"]

DEAD_LETTERS = "dead_letters"

_CHANGE = T.StructType(
    [T.StructField("map", T.IntegerType()), T.StructField("key", T.BinaryType()), T.StructField("value", T.BinaryType())]
)


@dataclass(frozen=True, kw_only=True)
class PythonTimer:
    """An alarm whose work is a Python function: `function(state, key, timer)` with the key's columns and `timer["time"]`, and the answer of
    any scan in Python. `at` is that of `Timer`, a column over the state."""

    at: Column | str
    function: OnTimer


class PythonScanOptions(TimeOptions, total=False):
    """What a scan in Python is told besides its keys, and what `TimeOptions` lists.

    state     the fields of the state, `name type, …`; `start` holds their first values (default: null).
    function  `function(state, record)` gets two dicts, the state *before* the record and the record, and returns the new state (None:
              forget the key) and the rows to put out, zero to many. It must depend on nothing else: a batch may be run again. A state has
              all its fields; in a row, a column that is left out is null. A `timestamp` is a datetime in UTC (one without a zone is taken
              for that).
              It may also be an object that can be called and has `open()`, `close()` or both: it is made and opened once in each worker
              process, stays there from batch to batch, and is closed when its query ends: the process ends then, too. (On a cluster,
              within some minutes of that.)
    maps      names of maps from bytes to bytes that a key has besides its state. The function finds each in `state[name]`, with
              `get(key)`, `put(key, value)`, `delete(key)` and `between(start, end)`: the entries from start (included) to end (excluded;
              None: no bound), in the order of their keys. A call costs what it reads and writes, however large the maps are. The new
              state need not have them. To forget the key empties them. In `initial` each may have a column of its name, of the type
              array<struct<key: binary, value: binary>>.
    output    the columns of a row, `name type, …`.
    ports     name -> columns, for rows that go out under names of their own; the function then gives, instead of rows, a dict of rows
              by port, `{"main": […], name: […]}`.
    timer     an alarm with a Python function, a PythonTimer; or a Timer, whose expressions are over the same state.
    errors    "fail": a record for which the function raises stops the job. "dead_letters": it goes out of that port, with the reason,
              the line of the program and the record, and the state stays as it was.
    limit     seconds that one call may take; then its process is ended, and the job fails.
    watermark a name: the record has a field of it, the time up to which everything is taken to have arrived when the record is taken. With
              `event_time` only; what it is in a batch, and at the end of the input, is said at `scan`.
    """

    state: Required[str | T.StructType]
    function: Required[Function]
    output: Required[str | T.StructType]
    start: Mapping[str, Any] | None
    maps: Sequence[str]
    ports: Mapping[str, str | T.StructType]
    timer: PythonTimer | Timer | None
    errors: Errors
    limit: float | None
    watermark: str | None


def scan_python(df: DataFrame, *, keys: str | Sequence[str], **options: Unpack[PythonScanOptions]) -> DataFrame:
    """Carry a state along the records of each key with a Python function. The options are those of `PythonScanOptions`.

    With several ports the result has a struct column for each, as `scan`'s has. State: one row a key, as large as its fields, until the
    function forgets it or it is `idle`; with `event_time` also the records that wait.
    """
    arguments.table("scan_python", df, fix="give a DataFrame; a stream has a method for it: stream.key_by('key').scan_python(…)")
    names = arguments.names("scan_python: key", keys)
    if not names:
        raise DefinitionError(
            "scan_python: there is no key", fix="for one state of all records, key them by a column that is the same in all",
            where=user_line(),
        )  # fmt: skip
    if missing := [name for name in (*names, *arguments.names("scan_python: order", options.get("order", ()))) if name not in df.columns]:
        raise DefinitionError(
            f"scan_python: there is no column '{missing[0]}'", fix=f"name one that there is: {', '.join(df.columns)}", where=user_line()
        )
    return _PythonScan(df, names, options).plan()


def ports_of_python(options: PythonScanOptions) -> list[str]:
    """The names of what a scan in Python with these options puts out."""
    lost = [DEAD_LETTERS] if options.get("errors") == DEAD_LETTERS else []
    return [MAIN, *options.get("ports", {}), *lost, *([LATE] if options.get("event_time") is not None else [])]


class _PythonScan:
    def __init__(self, df: DataFrame, keys: list[str], options: PythonScanOptions) -> None:
        self.df, self.keys, self.options = df, keys, options
        self.state = schemas.structure("scan_python: state", options["state"])
        self.rows = {MAIN: schemas.structure("scan_python: output", options["output"])} | {
            name: schemas.structure(f"scan_python: ports.{name}", row) for name, row in options.get("ports", {}).items()
        }
        self.lenient = arguments.one_of("scan_python: errors", options.get("errors", "fail"), ("fail", DEAD_LETTERS)) == DEAD_LETTERS
        self.maps = arguments.names("scan_python: maps", options.get("maps", ()))
        if twice := [name for name in self.maps if name in self.state.names or self.maps.count(name) > 1]:
            raise DefinitionError(f"scan_python: maps: {twice[0]!r} is there twice", fix="give the map another name", where=user_line())
        changes = [T.StructField("changes", T.ArrayType(_CHANGE))] if self.maps else []
        self.answer = T.StructType(
            [T.StructField("state", self.state), *_arrays(self.rows), T.StructField("refused", python_calls.REFUSED), *changes]
        )

    def plan(self) -> DataFrame:
        start = arguments.mapping("scan_python: start", self.options.get("start") or {})
        if unknown := sorted(set(start) - set(self.state.names)):
            raise DefinitionError(
                f"scan_python: start names '{unknown[0]}', which is not a field of the state ({', '.join(self.state.names)})",
                fix="name fields of the state only", where=user_line(),
            )  # fmt: skip
        record = F.struct(*(F.col(f"record.`{name}`").alias(name) for name in self.df.columns))
        call = self._call(self.options["function"], *self._record())
        timer = self.options.get("timer")
        time: TimeOptions = {name: self.options[name] for name in TimeOptions.__annotations__ if name in self.options}  # type: ignore
        step = _Answer(self.state, list(self.rows), self.lenient)
        scan: ScanOptions = {
            **time,  # type: ignore[typeddict-item]
            "state": {field.name: python_values.literal(start.get(field.name), field.dataType) for field in self.state},
            "update": step.update,
            "output": step.rows(MAIN),
            "ports": {name: Port(output=step.rows(name)) for name in self.rows if name != MAIN} | step.letters(record),
            "forget": step.forget,
            "timer": self._timer(timer, step) if isinstance(timer, PythonTimer) else timer,
        }
        return scan_by_call(self.df, keys=self.keys, call=call, ring=self._ring(timer), maps=self.maps, options=scan)

    def _record(self) -> tuple[list[Column], list[T.StructType]]:
        """What the function is called with besides the state."""
        columns, fields = [F.col(f"record.`{name}`").alias(name) for name in self.df.columns], list(self.df.schema)
        if (name := self.options.get("watermark")) is not None:
            columns.append(F.col("scan.watermark").alias(name))
            fields.append(T.StructField(name, T.TimestampType()))
        return [F.struct(*columns)], [T.StructType(fields)]

    def _timer(self, timer: PythonTimer, step: _Answer) -> Timer:
        ports = {name: Port(output=step.rows(name)) for name in self.rows if name != MAIN}
        return Timer(at=timer.at, update=step.update, output=step.rows(MAIN), ports=ports, forget=step.forget)

    def _ring(self, timer: PythonTimer | Timer | None) -> Column | None:
        if not isinstance(timer, PythonTimer):
            return None
        key = F.struct(*(F.col(f"record.`{name}`").alias(name) for name in self.keys))
        rung = F.struct(F.col("timer.time").alias("time"))
        keys, time = T.StructType([self.df.schema[name] for name in self.keys]), T.StructType([T.StructField("time", T.TimestampType())])
        return self._call(timer.function, [key, rung], [keys, time], lenient=False)

    def _call(self, function: Any, structs: Sequence[Column], kinds: Sequence[T.StructType], *, lenient: bool | None = None) -> Column:
        state = F.struct(*(F.col(f"state.`{name}`").alias(name) for name in self.state.names))
        checked = arguments.function("scan_python: function", function, "state", *("record",) if len(kinds) == 1 else ("key", "timer"))
        called = ScanCall(
            checked, "scan_python", (_read(self.state), python_values.writing(self.state), python_values.returning(self.state)),
            [_read(kind) for kind in kinds], {name: python_values.writing(row) for name, row in self.rows.items()},
            lenient=self.lenient if lenient is None else lenient, alone=len(self.rows) == 1, maps=self.maps,
        )  # fmt: skip
        return python_calls.call(self.df, called, state, *structs, returns=self.answer, limit=self.options.get("limit"))


@dataclass(frozen=True)
class _Answer:
    """What a scan makes of the answer of a call."""

    state: T.StructType
    ports: list[str]
    lenient: bool

    @property
    def update(self) -> dict[str, Column]:
        return {name: F.col(f"scan.call.state.`{name}`") for name in self.state.names}

    @property
    def forget(self) -> Column:
        return F.col("scan.call.state").isNull()

    def rows(self, port: str) -> Column:
        return F.col(f"scan.call.`rows_{port}`")

    def letters(self, record: Column) -> dict[str, Port]:
        if not self.lenient:
            return {}
        refused = F.col("scan.call.refused")
        output = [refused["reason"].alias("reason"), refused["line"].alias("line"), record.alias("record")]
        return {DEAD_LETTERS: Port(output=output, when=refused.isNotNull())}


def _arrays(rows: Mapping[str, T.StructType]) -> list[T.StructField]:
    return [T.StructField(f"rows_{name}", T.ArrayType(row)) for name, row in rows.items()]


def _read(struct: T.StructType) -> Fields:
    return python_values.reading(struct)
