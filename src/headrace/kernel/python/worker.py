"""What runs in a Python worker: a loop that answers calls, and the user's function behind it.

This module is sent to the workers by value, so that a cluster's machines need not have headrace. It imports nothing that they may lack.

A call is a message behind its length: the arguments in the format of Python's `marshal`, which one call in C reads and one writes. The
JVM's side is Marshal.scala. What `marshal` does not know (dates, times, decimals, maps) is made of what it does by the converters below.
"""

from __future__ import annotations

import marshal
import os
import pickle
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

Convert = Callable[[Any], Any] | None
"""How a value is made of what was sent, or the other way round; None if it is sent as it is."""

_EPOCH, _NAIVE_EPOCH, _FIRST_DAY = datetime(1970, 1, 1, tzinfo=UTC), datetime(1970, 1, 1), date(1970, 1, 1).toordinal()
_MICROSECOND = timedelta(microseconds=1)

_END = -1
_QUESTION = (-1000).to_bytes(4, "big", signed=True)
"""Where the length of an answer is expected: first the JVM is to answer a question itself."""


class Loop:
    """Both serialisers of a PySpark worker. Between them, instead of batches, calls that are answered as they come."""

    def __init__(self, token: str, packed: bytes) -> None:
        self.token, self.packed = token, packed

    def load_stream(self, stream: Any) -> Any:
        return stream

    def dump_stream(self, streams: Any, out: Any) -> None:
        """Answer all calls that are there, and write the answers at once: one if one was asked, several if they were sent ahead."""
        function, loads, dumps, number = _kept(self.token, self.packed), marshal.loads, marshal.dumps, int.from_bytes
        peek, read, write, flush = streams[0].peek, streams[0].read, out.write, out.flush
        if getattr(function, "maps", ()):
            self._with_questions(function, read, out)
            return

        def answer(call: bytes) -> None:
            text = dumps(function(*loads(call)), 2)
            write(len(text).to_bytes(4, "big") + text)

        while chunk := peek():
            at, size = 0, 0
            try:
                while len(chunk) >= at + 4 and 0 <= (size := number(chunk[at : at + 4], "big", signed=True)) <= len(chunk) - at - 4:
                    answer(chunk[at + 4 : at + 4 + size])
                    at += 4 + size
                read(at)
                if size <= _END:
                    read(4)
                elif not at and (size := number(read(4), "big", signed=True)) > _END:  # a call that had not come whole
                    answer(read(size))
            finally:
                flush()
            if size <= _END:
                return

    def _with_questions(self, function: Any, read: Callable[[int], bytes], out: Any) -> None:
        """The same for a function that reads maps: one call at a time, for between a call and its answer come other messages."""

        def send(head: bytes, message: Any) -> None:
            text = marshal.dumps(message, 2)
            out.write(head + len(text).to_bytes(4, "big") + text)
            out.flush()

        def message() -> Any:
            size = int.from_bytes(read(4), "big", signed=True)
            return marshal.loads(read(size)) if size > _END else None

        def ask(*question: Any) -> list[tuple[bytes, bytes]]:
            send(_QUESTION, question)
            (entries,) = message()
            return entries  # type: ignore[no-any-return]

        function.ask = ask
        while (call := message()) is not None:
            send(b"", function(*call))


class EntryMap:
    """A map of the key at hand, from bytes to bytes. What is written goes with the answer of the call, and this call sees it already."""

    def __init__(self, number: int, ask: Callable[..., list[tuple[bytes, bytes]]]) -> None:
        self._number, self._ask = number, ask
        self._read: dict[bytes, bytes | None] = {}
        self._written: dict[bytes, bytes | None] = {}

    def get(self, key: bytes) -> bytes | None:
        """The value of a key; None if it has none."""
        if key in self._written:
            return self._written[key]
        if key not in self._read:
            self._read[key] = next((value for _, value in self._ask(self._number, False, key, None)), None)
        return self._read[key]

    def put(self, key: bytes, value: bytes) -> None:
        """Set the value of a key."""
        self._written[key] = value

    def delete(self, key: bytes) -> None:
        """Remove a key; nothing happens if it is not there."""
        self._written[key] = None

    def between(self, start: bytes | None = None, end: bytes | None = None) -> list[tuple[bytes, bytes]]:
        """The entries from `start` (included) to `end` (excluded), in the order of their keys; None: no bound on that side."""
        entries: dict[bytes, bytes | None] = dict(self._ask(self._number, True, start, end))
        entries |= {key: value for key, value in self._written.items() if (start is None or start <= key) and (end is None or key < end)}
        return sorted((key, value) for key, value in entries.items() if value is not None)

    def changes(self) -> list[tuple[int, bytes, bytes | None]]:
        """What was written, as it goes with the answer."""
        return [(self._number, key, value) for key, value in self._written.items()]


def _kept(token: str, packed: bytes) -> Any:
    """The function, made and opened once in a worker's life: a worker is used again from batch to batch."""
    functions: dict[str, Any] = sys.__dict__.setdefault("_headrace_functions", {})
    if token not in functions:
        if not functions:
            _close_at_exit(functions)
        function = functions[token] = pickle.loads(packed)
        function.open()
    return functions[token]


def _close_at_exit(functions: Mapping[str, Any]) -> None:
    """A worker of PySpark's ends by `os._exit`, before which Python calls nothing."""
    leave = os._exit

    def close_and_leave(status: int) -> None:
        for function in functions.values():
            try:
                function.close()
            except Exception:
                traceback.print_exc()
        leave(status)

    os._exit = close_and_leave  # type: ignore[assignment]


class Called:
    """The user's function, or an object that can be called and may have `open` and `close`."""

    def __init__(self, function: Callable[..., Any], name: str, *, lenient: bool) -> None:
        self.function, self.name, self.lenient = function, name, lenient

    def open(self) -> None:
        getattr(self.function, "open", _nothing)()

    def close(self) -> None:
        getattr(self.function, "close", _nothing)()

    def refused(self, error: Exception) -> tuple[str, str | None]:
        """Why a record was refused, and the user's line; what it raised, if a failure is to end the job."""
        if not self.lenient:
            raise error
        if isinstance(error, BadAnswerError):
            return error.what, error.line
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.endswith("kernel/python/worker.py")]
        return f"{type(error).__name__}: {error}", f"{frames[-1].filename}:{frames[-1].lineno}" if frames else None

    def not_as_defined(self, what: str, value: Any, names: Sequence[str]) -> BadAnswerError:
        if not isinstance(value, Mapping):
            how = f"is {_shown(value)}, but a dict is needed"
        elif wrong := sorted(value.keys() - set(names), key=str):
            how = f"names '{wrong[0]}'"
        else:
            how = f"lacks '{next(name for name in names if name not in value)}'"
        return self.bad(f"a {what} that the function gave {how}; a {what} has {', '.join(names)}", "name them as the schema does")

    def bad(self, what: str, fix: str) -> BadAnswerError:
        code = getattr(self.function, "__code__", None)
        return BadAnswerError(f"{self.name}: {what}", fix, f"{code.co_filename}:{code.co_firstlineno}" if code else None)


class BadAnswerError(Exception):
    """What a function gave is not as it was declared. Written as the driver's own errors are, which finds it in a worker's traceback."""

    def __init__(self, what: str, fix: str, line: str | None) -> None:
        self.what, self.line = what, line
        super().__init__(f"{what}\n  at   {line}\n  fix  {fix}" if line else f"{what}\n  fix  {fix}")


BadAnswerError.__module__ = "headrace.errors"


def _nothing() -> None:
    pass


class Fields:
    """The fields of a struct by name, each with its converter."""

    def __init__(self, names: Sequence[str], converters: Sequence[Convert]) -> None:
        self.names, self.known = list(names), frozenset(names)
        self.converters = {name: convert for name, convert in zip(names, converters, strict=True) if convert is not None}
        self._places = [(self.names.index(name), convert) for name, convert in self.converters.items()]

    def read(self, values: Sequence[Any]) -> dict[str, Any]:
        record = dict(zip(self.names, values, strict=True))
        for name, convert in self.converters.items():
            if record[name] is not None:
                record[name] = convert(record[name])
        return record

    def write(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        """The row as it is sent; a field that it lacks is null."""
        values = [row.get(name) for name in self.names]
        for place, convert in self._places:
            if values[place] is not None:
                values[place] = convert(values[place])
        return tuple(values)


class ScanCall(Called):
    """`function(state, record)`, or at an alarm `function(state, key, time)`, which gives the new state and rows."""

    def __init__(
        self, function: Callable[..., Any], name: str, state: Sequence[Fields], arguments: Sequence[Fields], ports: Mapping[str, Fields], *,
        lenient: bool, alone: bool, maps: Sequence[str] = (),
    ) -> None:  # fmt: skip
        super().__init__(function, name, lenient=lenient)
        self.state_in, self.state_out = state
        self.arguments, self.ports, self.alone, self.maps = list(arguments), dict(ports), alone, list(maps)
        self.ask: Any = None

    def __call__(self, state: tuple[Any, ...], *values: tuple[Any, ...]) -> Any:
        maps = {name: EntryMap(number, self.ask) for number, name in enumerate(self.maps)}
        try:
            answer = self.function(
                self.state_in.read(state) | maps, *[fields.read(value) for fields, value in zip(self.arguments, values, strict=True)]
            )
            after, rows = self._parts(answer)
            if maps and after is not None:
                after = {name: value for name, value in after.items() if name not in maps}
            written = ([change for each in maps.values() for change in each.changes()],) if maps else ()
            return (self._state(after), *[self._rows(name, rows.get(name, ())) for name in self.ports], None, *written)
        except Exception as error:
            return (state, *[[] for _ in self.ports], self.refused(error), *([[]] if maps else []))

    def _parts(self, answer: Any) -> tuple[Any, Mapping[str, Iterable[Mapping[str, Any]]]]:
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise self.bad(
                f"the function gave {_shown(answer)}, but (state, rows) is needed", "return two things: the new state, and a list of rows"
            )
        after, rows = answer
        if self.alone:
            return after, {next(iter(self.ports)): rows}
        if not isinstance(rows, Mapping) or not rows.keys() <= self.ports.keys():
            what = f"the function gave the rows {_shown(rows)}, but a dict of rows by port is needed"
            raise self.bad(what, f"give {{'main': […]}}, with the ports {', '.join(self.ports)}")
        return after, rows

    def _state(self, after: Any) -> Any:
        if after is None:
            return None
        if not isinstance(after, Mapping) or after.keys() != self.state_out.known:
            raise self.not_as_defined("state", after, self.state_out.names)
        return self.state_out.write(after)

    def _rows(self, name: str, rows: Iterable[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
        fields = self.ports[name]
        written = []
        for row in rows:
            if not isinstance(row, Mapping) or not fields.known.issuperset(row):
                raise self.not_as_defined("row", row, fields.names)
            written.append(fields.write(row))
        return written


class MapCall(Called):
    """`function(record)`, whose answer `kind` turns into rows: a row, several, or the record itself if it is true."""

    def __init__(self, function: Callable[..., Any], name: str, kind: str, record: Fields, row: Fields, *, lenient: bool) -> None:
        super().__init__(function, name, lenient=lenient)
        self.kind, self.record, self.row = kind, record, row

    def __call__(self, record: tuple[Any, ...]) -> Any:
        try:
            return [self.row.write(row) for row in self.rows(self.record.read(record))], None
        except Exception as error:
            return [], self.refused(error)

    def rows(self, record: dict[str, Any]) -> Iterable[Mapping[str, Any]]:
        answer = self.function(record)
        if self.kind == "filter":
            return [record] if answer else []
        rows = [answer] if self.kind == "map" else list(answer)  # once: it may be a generator
        for row in rows:
            if not isinstance(row, Mapping) or not self.row.known.issuperset(row):
                raise self.not_as_defined("row", row, self.row.names)
        return rows


class FoldCall(Called):
    """`function(*values)`, which gives one value."""

    def __init__(self, function: Callable[..., Any], name: str, values: Fields, answer: Fields) -> None:
        super().__init__(function, name, lenient=False)
        self.values, self.answer = values, answer

    def __call__(self, values: tuple[Any, ...]) -> Any:
        return self.answer.write({"value": self.function(*self.values.read(values).values())})


class ArrowMap:
    """The same for records that come many at a time: a column `answer` is added to theirs."""

    def __init__(self, call: MapCall, schema: str, read: Callable[[Any], Any] | None) -> None:
        self.call, self.schema, self.read = call, schema, read or _same

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import json

        import pyarrow as pa
        from pyspark.sql.pandas.types import to_arrow_schema
        from pyspark.sql.types import StructType

        schema = to_arrow_schema(StructType.fromJson(json.loads(self.schema)), timezone="UTC")
        answer = pa.schema([schema.field("answer")])
        self.call.open()
        try:
            for batch in batches:
                answers = [{"answer": self._answer(record)} for record in batch.to_pylist(maps_as_pydicts="strict")]
                added = pa.RecordBatch.from_pylist(answers, schema=answer)
                yield pa.RecordBatch.from_arrays([*batch.columns, *added.columns], schema=schema)
        finally:
            self.call.close()

    def _answer(self, record: dict[str, Any]) -> dict[str, Any]:
        try:
            return {"rows": list(self.call.rows(self.read(record))), "refused": None}
        except Exception as error:
            reason, line = self.call.refused(error)
            return {"rows": [], "refused": {"reason": reason, "line": line}}


def _shown(value: Any) -> str:
    return f"{value!r} ({type(value).__name__})"[:200]


# -- converters ------------------------------------------------------------------------------------------------------------------------


def in_utc(time: datetime) -> datetime:
    """A time as Arrow gives it, whose zone is UTC under another name."""
    return time.replace(tzinfo=UTC)


def read_date(days: int) -> date:
    return date.fromordinal(days + _FIRST_DAY)


def write_date(day: date) -> int:
    return day.toordinal() - _FIRST_DAY


def read_time(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


def write_time(time: datetime) -> int:
    return ((time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH) // _MICROSECOND


def read_local_time(micros: int) -> datetime:
    return _NAIVE_EPOCH + timedelta(microseconds=micros)


def write_local_time(time: datetime) -> int:
    return (time.replace(tzinfo=None) - _NAIVE_EPOCH) // _MICROSECOND


def write_decimal(number: Decimal) -> str:
    return format(number, "f") if isinstance(number, Decimal) else str(number)


def write_bytes(value: Any) -> bytes:
    return bytes(value)


class Elements:
    """All elements of an array."""

    def __init__(self, convert: Callable[[Any], Any]) -> None:
        self.convert = convert

    def __call__(self, values: Iterable[Any]) -> list[Any]:
        return [None if value is None else self.convert(value) for value in values]


class Values:
    """The fields of a dict that have a converter, each by its own; the others as they are."""

    def __init__(self, converters: Mapping[str, Callable[[Any], Any]]) -> None:
        self.converters = converters

    def __call__(self, fields: dict[str, Any]) -> dict[str, Any]:
        changed = {name: convert(fields[name]) for name, convert in self.converters.items() if fields[name] is not None}
        return fields | changed


class ReadDict:
    """The keys and values of a dict."""

    def __init__(self, key: Convert, value: Convert) -> None:
        self.key, self.value = key or _same, value or _same

    def __call__(self, entries: Mapping[Any, Any]) -> dict[Any, Any]:
        return {self.key(key): None if value is None else self.value(value) for key, value in entries.items()}


class ReadMap:
    def __init__(self, key: Convert, value: Convert) -> None:
        self.key, self.value = key or _same, value or _same

    def __call__(self, pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
        return {self.key(key): None if value is None else self.value(value) for key, value in pairs}


class WriteMap(ReadMap):
    def __call__(self, pairs: Any) -> Any:
        return [(self.key(key), None if value is None else self.value(value)) for key, value in pairs.items()]


def _same(value: Any) -> Any:
    return value
