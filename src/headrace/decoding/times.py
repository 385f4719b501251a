"""How the times of a schema are written, where that is not ISO 8601: which forms there are, and for which fields they are declared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from pyspark.sql.types import ArrayType, DataType, DateType, MapType, StructType, TimestampNTZType, TimestampType

from headrace.decoding import native
from headrace.errors import DefinitionError, user_line

Times = str | Mapping[str, str]
"""One form for all timestamps of a schema, or a form for each of some fields; a nested one by its path, `order.placed`.

"iso"            text, `YYYY-MM-DDTHH:MM:SS…`: what a field has that is not named
"epoch_seconds"  a number of seconds since 1970-01-01 UTC, and so `epoch_millis` and `epoch_micros`
any other        text by a pattern of Spark's, as `to_timestamp` takes it: "dd/MM/yyyy HH:mm"
"""

ISO = "iso"
EPOCHS = ("epoch_seconds", "epoch_millis", "epoch_micros")
_PATTERN = "a pattern of Spark's, such as 'dd/MM/yyyy HH:mm'"


def forms(times: Times | None, schema: StructType) -> dict[str, str]:
    """The form of each field that is declared to have another than ISO's; DefinitionError for a field or a form that there is not."""
    if times is None:
        return {}
    fields = {path: of for path, of in _fields(schema) if isinstance(of, DateType | TimestampType | TimestampNTZType)}
    if isinstance(times, str):
        times = dict.fromkeys((path for path, of in fields.items() if not isinstance(of, DateType)), times)
        if not times:
            raise _refuse("times: the schema has no timestamp", "leave it out, or give the field the type timestamp")
    if not isinstance(times, Mapping):
        raise _refuse(f"times: {times!r} is no form", "give one, 'epoch_millis', or one for each field: {'at': 'epoch_millis'}")
    for path, form in times.items():
        _check_field(path, fields, schema)
        _check_form(path, form, fields[path])
    return {path: form for path, form in times.items() if form != ISO}


def _fields(of: DataType, path: str = "") -> Iterator[tuple[str, DataType]]:
    """All that is in a type, by its path. What an array or a map holds goes by the name of that."""
    if isinstance(of, ArrayType | MapType):
        yield from _fields(of.elementType if isinstance(of, ArrayType) else of.valueType, path)
    elif isinstance(of, StructType):
        for field in of:
            yield from _fields(field.dataType, f"{path}.{field.name}" if path else field.name)
    else:
        yield path, of


def _check_field(path: str, times: Mapping[str, DataType], schema: StructType) -> None:
    if path in times:
        return
    here = f"The times of the schema are {', '.join(times)}" if times else "The schema has no timestamp and no date"
    if other := dict(_fields(schema)).get(path):
        raise _refuse(f"times: {path} is {other.simpleString()} and no time", here)
    nearest = get_close_matches(str(path), times, n=1)
    raise _refuse(f"times: there is no field {path!r}", f"did you mean {nearest[0]!r}? {here}" if nearest else here)


def _check_form(path: str, form: str, of: DataType) -> None:
    if form == ISO:
        return
    if isinstance(of, DateType) and form in EPOCHS:
        raise _refuse(f"times: {path} is a date, and {form!r} is for timestamps", f"give the field the type timestamp, or {_PATTERN}")
    if form in EPOCHS:
        return
    fault = native.time_fault(form) if isinstance(form, str) and form else "it is no text"
    if fault is not None:
        nearest = get_close_matches(str(form), EPOCHS, n=1)
        hint = f"did you mean {nearest[0]!r}? " if nearest else ""
        raise _refuse(f"times: {form!r} is no form for {path}: {fault}", f"{hint}Use 'iso', {', '.join(map(repr, EPOCHS))}, or {_PATTERN}")


def _refuse(what: str, fix: str) -> DefinitionError:
    return DefinitionError(what, fix=fix, where=user_line())
