"""Dataclasses and pydantic models as Spark types, with the bounds that their fields declare."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import types
import typing
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from pyspark.sql import types as T

from headrace.errors import DefinitionError, user_line

Bounds = dict[str, int | float | Decimal]
"""`gt`, `ge`, `lt`, `le`: what a value must be greater than, and so on."""

SUPPORTED = (
    "str, bool, int, float, Decimal, bytes, datetime, date, list[X], dict[str, X], a dataclass or pydantic model, X | None where the value "
    "may be missing, Annotated[X, <a Spark type>] for another width; bounds gt, ge, lt, le; for Decimal max_digits and decimal_places"
)

_SCALARS: dict[Any, T.DataType] = {
    str: T.StringType(),
    bool: T.BooleanType(),
    int: T.LongType(),
    float: T.DoubleType(),
    decimal.Decimal: T.DecimalType(38, 18),
    bytes: T.BinaryType(),
    dt.datetime: T.TimestampType(),
    dt.date: T.DateType(),
}


def is_record(cls: Any) -> bool:
    return isinstance(cls, type) and (dataclasses.is_dataclass(cls) or hasattr(cls, "__pydantic_fields__"))


def read(cls: type) -> tuple[T.StructType, dict[str, Bounds]]:
    """The fields of a class, and the bounds of those that have any, by path (`address.floor`)."""
    reader = _Reader(cls.__name__)
    return reader.struct(cls, ""), reader.bounds


class _Reader:
    def __init__(self, root: str) -> None:
        self._root = root
        self._within: list[Any] = []
        self.bounds: dict[str, Bounds] = {}

    def struct(self, cls: Any, path: str) -> T.StructType:
        if not is_record(cls):
            raise self._refuse(
                path, "is neither a dataclass nor a pydantic model", "decorate it with @dataclass, or derive it from BaseModel"
            )
        if cls in self._within:
            raise self._refuse(
                path, f"is a {cls.__name__} within a {cls.__name__}, and so on without end", "say how deep it is: a class a level"
            )
        self._within.append(cls)
        fields = self._model(cls, path) if hasattr(cls, "__pydantic_fields__") else self._dataclass(cls, path)
        struct_fields = [self._field(name, hint, default, f"{path}{name}") for name, hint, default in fields]
        self._within.pop()
        return T.StructType(struct_fields)

    def _dataclass(self, cls: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
        try:
            hints = typing.get_type_hints(cls, include_extras=True)
        except NameError as error:
            fix = "define that type at module level, before it is used"
            raise self._refuse(path, f"has a field whose type is not known: {error}", fix) from None
        for field in dataclasses.fields(cls):
            made = field.default_factory is not dataclasses.MISSING
            yield field.name, hints[field.name], field.default_factory if made else field.default

    def _model(self, cls: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
        decorators = cls.__pydantic_decorators__
        for kind in ("validators", "field_validators", "root_validators", "model_validators"):
            for name in getattr(decorators, kind):
                raise self._refuse(path, f"has the validator {name}, and no Python runs on records", "write it as a condition for check()")
        if getattr(cls, "model_config", {}).get("extra") == "forbid":
            raise self._refuse(path, "forbids extra fields, and those are ignored in records", "leave extra='forbid' out")
        for name, field in cls.__pydantic_fields__.items():
            if (field.validation_alias or name) != name:
                fix = "name the field as the record does, and rename the column afterwards"
                raise self._refuse(path + name, f"is read from another name, {field.validation_alias!r}", fix)
            hint = typing.Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
            yield name, hint, dataclasses.MISSING if field.is_required() else field.get_default()

    def _field(self, name: str, hint: Any, default: Any, path: str) -> T.StructField:
        inner, nullable = _optional(hint)
        if default is not dataclasses.MISSING and not (nullable and default is None):
            fix = f"write `{name}: ... | None = None`, and fill it in afterwards with F.coalesce"
            raise self._refuse(path, "has a default, and defaults are not put into records", fix)
        bounds = None if "[]" in path else self.bounds.setdefault(path, {})  # what is within a list has no column to check
        return T.StructField(name, self._type(inner, path, bounds), nullable)

    def _type(self, hint: Any, path: str, bounds: Bounds | None) -> T.DataType:
        origin, args = typing.get_origin(hint), typing.get_args(hint)
        if origin is typing.Annotated:
            return self._annotated(args[0], list(args[1:]), path, bounds)
        if origin is list and len(args) == 1:
            inner, nullable = _optional(args[0])
            return T.ArrayType(self._type(inner, f"{path}[]", None), nullable)
        if origin is dict and len(args) == 2 and args[0] is str:
            inner, nullable = _optional(args[1])
            return T.MapType(T.StringType(), self._type(inner, f"{path}[]", None), nullable)
        if is_record(hint):
            return self.struct(hint, f"{path}.")
        if origin is None and hint in _SCALARS:
            return _SCALARS[hint]
        shown = hint.__name__ if isinstance(hint, type) and not args else str(hint)
        raise self._refuse(path, f"is of the type {shown}, which cannot be decoded", f"use one of: {SUPPORTED}")

    def _annotated(self, inner: Any, notes: list[Any], path: str, bounds: Bounds | None) -> T.DataType:
        declared: T.DataType | None = None
        digits: dict[str, int] = {}
        while notes:
            note = notes.pop(0)
            if isinstance(note, T.DataType) or (isinstance(note, type) and issubclass(note, T.DataType)):
                declared = note() if isinstance(note, type) else note
            elif isinstance(getattr(note, "metadata", None), list):  # pydantic's Field(...) within Annotated
                notes = [*note.metadata, *notes]
            elif type(note).__module__.partition(".")[0] in ("annotated_types", "pydantic"):
                self._constraint(note, path, bounds, digits)
        if digits:
            declared = T.DecimalType(digits.get("max_digits", 38), digits.get("decimal_places", 18))
        return declared or self._type(inner, path, bounds)

    def _constraint(self, note: Any, path: str, bounds: Bounds | None, digits: dict[str, int]) -> None:
        """A constraint is checked on every record, or refused here: none is passed over in silence."""
        for name, value in {
            **{slot: getattr(note, slot) for slot in getattr(note, "__slots__", ())},
            **getattr(note, "__dict__", {}),
        }.items():
            if value is None or name in ("strict", "__weakref__"):
                continue
            if name in ("max_digits", "decimal_places"):
                digits[name] = value
            elif name in ("gt", "ge", "lt", "le") and bounds is not None and isinstance(value, int | float | Decimal):
                bounds[name] = value
            else:
                raise self._refuse(
                    path, f"has the constraint {name}={value!r}, which is not checked", "write it as a condition for check()"
                )

    def _refuse(self, path: str, what: str, fix: str) -> DefinitionError:
        return DefinitionError(f"{'.'.join(filter(None, (self._root, path.rstrip('.'))))} {what}", fix=fix, where=user_line())


def _optional(hint: Any) -> tuple[Any, bool]:
    """`X | None` as X and true, also within Annotated."""
    if typing.get_origin(hint) is typing.Annotated:
        inner, *notes = typing.get_args(hint)
        bare, nullable = _optional(inner)
        return typing.Annotated[bare, *notes], nullable
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        others = [arg for arg in typing.get_args(hint) if arg is not type(None)]
        if len(others) == 1 and len(typing.get_args(hint)) == 2:
            return others[0], True
    return hint, False
