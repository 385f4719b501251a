"""The user's function, and what it is called for: a scan's records and alarms, a stream's records, a fold's values."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from headrace.kernel.python.worker.converters import Again, Convert, same
from headrace.kernel.python.worker.maps import EntryMap


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
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "kernel/python/worker/" not in frame.filename]
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
        self, function: Callable[..., Any], name: str, state: tuple[Fields, Fields, Again], arguments: Sequence[Fields],
        ports: Mapping[str, Fields], *, lenient: bool, alone: bool, maps: Sequence[str] = (),
    ) -> None:  # fmt: skip
        super().__init__(function, name, lenient=lenient)
        self.state_in, self.state_out, self.state_again = state
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

    def in_turn(self, state: tuple[Any, ...], records: Iterable[tuple[Any, ...]], send: Callable[[Any], None]) -> bool:
        """Answer for records of a key that come one after the other, each with the state that the one before left. False if only the scan
        can say which state that is; the records behind it are not answered for."""
        before: tuple[Any, ...] | None = state
        for record in records:
            if before is None:
                return False
            answer = self(before, record)
            send(answer)  # written at once: the next call may change what is in it
            before = self._back(answer[0])
        return True

    def _back(self, after: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
        try:
            return None if after is None else self.state_again(after)
        except Exception:  # it is not what the schema says, and that is for the scan to tell, which reads the answer
            return None

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
        self.call, self.schema, self.read = call, schema, read or same

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
