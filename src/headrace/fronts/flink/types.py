"""Types of values, and what they are in Spark.

| Flink | Python | Spark |
|---|---|---|
| `Types.STRING()`, `INT()`, `DOUBLE()`, `BOOLEAN()`, … | `str`, `int`, `float`, `bool` | string, int, bigint, double, boolean |
| `Types.TUPLE([…])` | a tuple | struct of `f0`, `f1`, … |
| `Types.ROW([…])`, `Types.ROW_NAMED([names], […])` | a `Row` | struct of `f0`, `f1`, … or of the names |
| `Types.LIST(t)`, `MAP(k, v)`, `PRIMITIVE_ARRAY(t)` | a list, a dict | array, map |
| `Types.PICKLED_BYTE_ARRAY()`, or no type | any object | binary |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import types as T

from headrace.definitions import arguments
from headrace.errors import DefinitionError, user_line
from headrace.fronts.flink import codec
from headrace.fronts.flink.rows import Row

Convert = Callable[[Any], Any]


@dataclass(frozen=True)
class TypeInformation:
    """A type: `kind` is how Flink calls it, `spark` what it is in Spark, `parts` the types in it, `names` those of its fields."""

    kind: str
    spark: T.DataType
    parts: tuple[TypeInformation, ...] = ()
    names: tuple[str, ...] = ()

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}: {part}" for name, part in zip(self.names, self.parts, strict=True)) if self.names else ""
        return f"{self.kind}({inside or ', '.join(map(repr, self.parts))})"

    @property
    def has_fields(self) -> bool:
        """Whether its values have fields that Spark knows."""
        return self.kind in ("ROW", "TUPLE")

    @property
    def is_object(self) -> bool:
        """Whether Spark sees only bytes."""
        return self.kind == "PICKLED_BYTE_ARRAY"

    def reading(self) -> Convert:
        """How a value is made of what Spark sends."""
        return _Reader(self)

    def writing(self) -> Convert:
        """How what Spark takes is made of a value."""
        return _Writer(self)


class _Reader:
    """None stays None; else by the kind of the type."""

    def __init__(self, kind: TypeInformation) -> None:
        self.kind, self.names = kind.kind, kind.names
        self.fields = kind.spark.names if isinstance(kind.spark, T.StructType) else []
        self.parts = [_Reader(part) for part in kind.parts]
        self.plain = self.kind not in ("PICKLED_BYTE_ARRAY", "ROW", "TUPLE", "LIST", "MAP")

    def __call__(self, value: Any) -> Any:
        if self.plain or value is None:
            return value
        match self.kind:
            case "PICKLED_BYTE_ARRAY":
                return codec.loads(value)
            case "LIST":
                return [self.parts[0](each) for each in value]
            case "MAP":
                return {self.parts[0](key): self.parts[1](each) for key, each in value.items()}
        values = tuple(part(value[field]) for field, part in zip(self.fields, self.parts, strict=True))
        return values if self.kind == "TUPLE" else Row.of(self.names, values)


class _Writer(_Reader):
    def __init__(self, kind: TypeInformation) -> None:
        super().__init__(kind)
        self.parts = [_Writer(part) for part in kind.parts]
        self.declared, self.accepts = repr(kind), _PYTHON.get(kind.kind)

    def __call__(self, value: Any) -> Any:
        if value is None:
            return None
        if self.accepts is not None and not isinstance(value, self.accepts):
            raise self._unfit(value)
        if self.plain:
            return float(value) if self.kind in ("FLOAT", "DOUBLE") else value
        match self.kind:
            case "PICKLED_BYTE_ARRAY":
                return codec.dumps(value)
            case "LIST":
                return [self.parts[0](each) for each in value]
            case "MAP":
                return {self.parts[0](key): self.parts[1](each) for key, each in value.items()}
        if not isinstance(value, tuple | list) or len(value) != len(self.parts):
            raise self._unfit(value)
        values = [value[name] for name in self.names] if self.names and isinstance(value, Row) and value.names else value
        return {field: part(each) for field, part, each in zip(self.fields, self.parts, values, strict=True)}

    def _unfit(self, value: Any) -> TypeError:
        return TypeError(f"{value!r} is no {self.declared}, which output_type or type_info declares")


_PYTHON: dict[str, Any] = {
    "STRING": str, "BOOLEAN": bool, "BYTE": int, "SHORT": int, "INT": int, "LONG": int, "FLOAT": (int, float), "DOUBLE": (int, float),
    "LIST": (list, tuple), "MAP": dict,
}  # fmt: skip


class Types:
    """The types that a program declares."""

    @staticmethod
    def STRING() -> TypeInformation:
        """Text."""
        return TypeInformation("STRING", T.StringType())

    @staticmethod
    def BOOLEAN() -> TypeInformation:
        """True or False."""
        return TypeInformation("BOOLEAN", T.BooleanType())

    @staticmethod
    def BYTE() -> TypeInformation:
        """A whole number of 8 bits."""
        return TypeInformation("BYTE", T.ByteType())

    @staticmethod
    def SHORT() -> TypeInformation:
        """A whole number of 16 bits."""
        return TypeInformation("SHORT", T.ShortType())

    @staticmethod
    def INT() -> TypeInformation:
        """A whole number of 32 bits."""
        return TypeInformation("INT", T.IntegerType())

    @staticmethod
    def LONG() -> TypeInformation:
        """A whole number of 64 bits."""
        return TypeInformation("LONG", T.LongType())

    @staticmethod
    def FLOAT() -> TypeInformation:
        """A number of 32 bits."""
        return TypeInformation("FLOAT", T.FloatType())

    @staticmethod
    def DOUBLE() -> TypeInformation:
        """A number of 64 bits."""
        return TypeInformation("DOUBLE", T.DoubleType())

    @staticmethod
    def BIG_DEC() -> TypeInformation:
        """A `Decimal`, with 38 digits of which 18 are behind the point."""
        return TypeInformation("BIG_DEC", T.DecimalType(38, 18))

    @staticmethod
    def SQL_DATE() -> TypeInformation:
        """A `date`."""
        return TypeInformation("SQL_DATE", T.DateType())

    @staticmethod
    def SQL_TIMESTAMP() -> TypeInformation:
        """A `datetime` without a zone."""
        return TypeInformation("SQL_TIMESTAMP", T.TimestampNTZType())

    @staticmethod
    def INSTANT() -> TypeInformation:
        """A moment: a `datetime` in UTC."""
        return TypeInformation("INSTANT", T.TimestampType())

    @staticmethod
    def PRIMITIVE_ARRAY(element_type: TypeInformation) -> TypeInformation:
        """A list; of bytes, `bytes`."""
        if _type("Types.PRIMITIVE_ARRAY", element_type).kind == "BYTE":
            return TypeInformation("BYTES", T.BinaryType())
        return Types.LIST(element_type)

    @staticmethod
    def PICKLED_BYTE_ARRAY() -> TypeInformation:
        """Any object: what a function gives that declares no type."""
        return TypeInformation("PICKLED_BYTE_ARRAY", T.BinaryType())

    @staticmethod
    def LIST(element_type: TypeInformation) -> TypeInformation:
        """A list."""
        element = _type("Types.LIST", element_type)
        return TypeInformation("LIST", T.ArrayType(element.spark), (element,))

    @staticmethod
    def MAP(key_type: TypeInformation, value_type: TypeInformation) -> TypeInformation:
        """A dict."""
        key, value = _type("Types.MAP", key_type), _type("Types.MAP", value_type)
        return TypeInformation("MAP", T.MapType(key.spark, value.spark), (key, value))

    @staticmethod
    def TUPLE(field_types: Sequence[TypeInformation]) -> TypeInformation:
        """A tuple; in Spark its fields are f0, f1 and so on."""
        return _struct("TUPLE", (), field_types)

    @staticmethod
    def ROW(field_types: Sequence[TypeInformation]) -> TypeInformation:
        """A `Row` without names; in Spark its fields are f0, f1 and so on."""
        return _struct("ROW", (), field_types)

    @staticmethod
    def ROW_NAMED(field_names: Sequence[str], field_types: Sequence[TypeInformation]) -> TypeInformation:
        """A `Row` with names, which are also those of Spark's fields."""
        return _struct("ROW", tuple(arguments.names("Types.ROW_NAMED", field_names)), field_types)


OBJECT = Types.PICKLED_BYTE_ARRAY()


def _struct(kind: str, names: tuple[str, ...], field_types: Sequence[TypeInformation]) -> TypeInformation:
    if isinstance(field_types, TypeInformation) or not field_types:
        raise DefinitionError(f"Types.{kind}: give a list of types", fix=f"Types.{kind}([Types.STRING(), Types.INT()])", where=user_line())
    parts = tuple(_type(f"Types.{kind}", each) for each in field_types)
    fields = names or tuple(f"f{place}" for place in range(len(parts)))
    if len(fields) != len(parts):
        raise DefinitionError(
            f"Types.ROW_NAMED: there are {len(fields)} names and {len(parts)} types", fix="give a type for each name", where=user_line()
        )
    spark = T.StructType([T.StructField(name, part.spark) for name, part in zip(fields, parts, strict=True)])
    return TypeInformation(kind, spark, parts, names)


def _type(at: str, argument: object) -> TypeInformation:
    if not isinstance(argument, TypeInformation):
        raise DefinitionError(f"{at}: {arguments.shown(argument)} is no type", fix="give one of Types: Types.STRING()", where=user_line())
    return argument


def declared(at: str, argument: object) -> TypeInformation:
    """The type that a program declares; any object if it declares none."""
    return OBJECT if argument is None else _type(at, argument)
