"""Tuples: values whose names the stream knows. Between operations they are plain Python tuples; user code sees them with their names."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import Any

from headrace.errors import DefinitionError, HeadraceError, user_line

Row = tuple[Any, ...]


class FailedException(Exception):  # noqa: N818 - Storm's name
    """Raised by an operation: the batch fails, and runs again with a higher attempt number. Any other exception ends the topology."""


class Fields(tuple[str, ...]):
    """Names of fields: `Fields("word", "count")`. Wherever fields are expected, a list of names or one name will do.

    >>> Fields("word", "count")
    Fields('word', 'count')
    """

    def __new__(cls, *names: Any) -> Fields:
        flat = [name for part in names for name in ([part] if isinstance(part, str) or not isinstance(part, Iterable) else part)]
        if wrong := [name for name in flat if not isinstance(name, str)]:
            raise DefinitionError(f"{wrong[0]!r} is no name of a field", fix='name fields as text: Fields("word")', where=user_line())
        if twice := [name for name in flat if flat.count(name) > 1]:
            raise DefinitionError(f"the field {twice[0]!r} is there twice", fix="give each field a name of its own", where=user_line())
        return super().__new__(cls, flat)

    def __repr__(self) -> str:
        return f"Fields({', '.join(map(repr, self))})"


class Values(list[Any]):
    """Values of a tuple: `Values(word, 1)`. A list or a tuple will do as well."""

    def __init__(self, *values: Any) -> None:
        super().__init__(values)


class TridentTuple(tuple[Any, ...]):
    """What operations get: the values of the fields that they asked for, by place (`t[0]`) or by name (`t["word"]`).

    >>> t = TridentTuple.of(("word", "count"), ("cat", 2))
    >>> t[0], t["count"], t.getStringByField("word"), t.getLong(1)
    ('cat', 2, 'cat', 2)
    """

    _names: Sequence[str] = ()

    @classmethod
    def of(cls, names: Sequence[str], values: Iterable[Any]) -> TridentTuple:
        made = cls(values)
        made._names = names
        return made

    def __getitem__(self, at: Any) -> Any:
        return super().__getitem__(self._place(at) if isinstance(at, str) else at)

    def _place(self, name: str) -> int:
        if name not in self._names:
            raise DefinitionError(f"this tuple has no field {name!r}", fix=f"it has {_named(self._names)}; ask for others in the operation")
        return list(self._names).index(name)

    def __reduce__(self) -> tuple[Any, ...]:
        return TridentTuple.of, (tuple(self._names), tuple(self))

    def getFields(self) -> Fields:
        """The names, in the order of the values."""
        return Fields(*self._names)

    def getValues(self) -> list[Any]:
        """The values."""
        return list(self)

    def size(self) -> int:
        """How many values there are."""
        return len(self)

    def getValue(self, place: int) -> Any:
        """The value at a place."""
        return self[place]

    def getValueByField(self, name: str) -> Any:
        """The value of a field."""
        return self[name]

    getString = getInteger = getLong = getDouble = getFloat = getBoolean = getBinary = getValue
    getStringByField = getIntegerByField = getLongByField = getDoubleByField = getBooleanByField = getValueByField
    get_fields, get_values, get_value, get_value_by_field = getFields, getValues, getValue, getValueByField


class TridentCollector:
    """Where operations emit: `collector.emit([value, …])`, as many values as the operation's new fields."""

    def __init__(self, operation: str, fields: Sequence[str]) -> None:
        self._operation, self._fields = operation, fields
        self._emitted: list[Row] = []

    def emit(self, values: Sequence[Any]) -> None:
        """One tuple."""
        if isinstance(values, str | bytes) or not isinstance(values, Sequence) or len(values) != len(self._fields):
            raise unfit(self._operation, values, self._fields)
        self._emitted.append(tuple(values))

    def reportError(self, error: BaseException) -> None:
        """Ends the topology with this error."""
        raise error

    report_error = reportError

    def take(self) -> list[Row]:
        """What was emitted since the last call."""
        taken, self._emitted = self._emitted, []
        return taken


def refused(operation: str, what: str, fix: str) -> DefinitionError:
    """What an operation says, at the user's line, while the topology is built."""
    return DefinitionError(f"{operation}: {what}", fix=fix, where=user_line())


def unfit(operation: str, values: Any, fields: Sequence[str]) -> HeadraceError:
    """An operation gave values that are not as its fields say."""
    return DefinitionError(
        f"{operation}: {values!r} is no list of {len(fields)} values", fix=f"give a list with a value for each of {_named(fields)}"
    )


def view(source: Sequence[str], wanted: Sequence[str]) -> Callable[[Row], TridentTuple]:
    """What makes the tuple that an operation sees of one of the stream's."""
    names, places = tuple(wanted), [list(source).index(name) for name in wanted]
    if tuple(source) == names:
        return lambda row: TridentTuple.of(names, row)
    return lambda row: TridentTuple.of(names, [row[place] for place in places])


def check_known(operation: str, wanted: Iterable[str], source: Sequence[str]) -> None:
    """DefinitionError, at the user's line, for the first field that is not among the stream's."""
    for name in wanted:
        if name not in source:
            near = get_close_matches(name, source, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise DefinitionError(
                f"{operation}: the stream has no field {name!r}", fix=f"{hint}The fields here are {_named(source)}", where=user_line()
            )


def check_new(operation: str, new: Iterable[str], source: Sequence[str]) -> None:
    """DefinitionError if a new field is called like one that stays."""
    if twice := [name for name in new if name in source]:
        raise DefinitionError(
            f"{operation}: the stream has a field {twice[0]!r} already", fix="give it another name, or project the old one away first",
            where=user_line(),
        )  # fmt: skip


def _named(names: Sequence[str]) -> str:
    return ", ".join(names) or "(none)"


def by_key(rows: Iterable[Row], places: Sequence[int], operation: str) -> dict[Row, list[Row]]:
    """Rows by the values at these places, in the order in which the keys come."""
    groups: dict[Row, list[Row]] = {}
    for row in rows:
        key = tuple(row[place] for place in places)
        try:
            groups.setdefault(key, []).append(row)
        except TypeError:
            raise DefinitionError(f"{operation}: {key!r} cannot be a key", fix="group by text, numbers or tuples of these") from None
    return groups


def stable_hash(values: Iterable[Any]) -> int:
    """The same for equal values in every process, which Python's own hash of text is not.

    >>> stable_hash(["cat", 1]) == stable_hash(("cat", 1.0))
    True
    """
    return zlib.crc32(repr([*_canonical(values)]).encode())


def _canonical(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, list | tuple):
            yield [*_canonical(value)]
        else:
            yield int(value) if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()) else value
