"""Classes and DDL as Spark types, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, Optional

import pydantic
import pytest
from annotated_types import Ge, Gt, Interval, MinLen
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from headrace.definitions import schemas
from headrace.errors import DefinitionError


@dataclass
class Address:
    city: str
    floor: Annotated[int | None, T.ShortType(), Ge(0)] = None


@dataclass
class Line:
    sku: str
    count: Annotated[int, T.IntegerType]


@dataclass
class Order:
    id: str
    paid: bool
    count: int
    weight: Annotated[float, Gt(0)]
    price: Decimal
    photo: bytes
    at: datetime
    day: date
    home: Address
    tags: list[str]
    scores: dict[str, float | None]
    lines: list[Line | None] | None
    note: Optional[str] = None  # noqa: UP045


class AddressModel(pydantic.BaseModel):
    city: str
    floor: Annotated[int | None, T.ShortType(), pydantic.Field(ge=0)] = None


class LineModel(pydantic.BaseModel):
    sku: str
    count: Annotated[int, T.IntegerType]


class OrderModel(pydantic.BaseModel):
    id: str
    paid: bool
    count: int
    weight: float = pydantic.Field(gt=0)
    price: Decimal
    photo: bytes
    at: datetime
    day: date
    home: AddressModel
    tags: list[str]
    scores: dict[str, float | None]
    lines: list[LineModel | None] | None
    note: str | None = None


ADDRESS = "STRUCT<city: STRING NOT NULL, floor: SMALLINT>"
ORDER = f"""id STRING NOT NULL, paid BOOLEAN NOT NULL, count BIGINT NOT NULL, weight DOUBLE NOT NULL, price DECIMAL(38,18) NOT NULL,
            photo BINARY NOT NULL, at TIMESTAMP NOT NULL, day DATE NOT NULL, home {ADDRESS} NOT NULL, tags ARRAY<STRING> NOT NULL,
            scores MAP<STRING, DOUBLE> NOT NULL, lines ARRAY<STRUCT<sku: STRING NOT NULL, count: INT NOT NULL>>, note STRING"""


def test_a_class_and_its_ddl_are_the_same_schema(spark: SparkSession) -> None:
    ddl = schemas.schema(ORDER)
    ddl["tags"].dataType.containsNull = False  # type: ignore[attr-defined]  # DDL cannot say it
    assert spark is not None
    assert schemas.schema(Order) == ddl
    assert schemas.schema(OrderModel) == ddl
    assert schemas.schema(ddl) is ddl


def test_bounds_are_found_by_path() -> None:
    class Money(pydantic.BaseModel):
        amount: Annotated[Decimal, pydantic.Field(gt=0, max_digits=10, decimal_places=2)]
        rate: Annotated[float, Interval(ge=0, lt=1)]

    assert schemas.bounds(Order) == {"weight": {"gt": 0}, "home.floor": {"ge": 0}}
    assert schemas.bounds(Money) == {"amount": {"gt": 0}, "rate": {"ge": 0, "lt": 1}}
    assert schemas.schema(Money)["amount"].dataType == T.DecimalType(10, 2)


def with_field(hint: Any, **options: Any) -> type:
    return dataclass(type("Record", (), {"__annotations__": {"x": hint}, **options}))


class Checked(pydantic.BaseModel):
    x: int

    @pydantic.field_validator("x")
    @classmethod
    def even(cls, value: int) -> int:
        return value


class Renamed(pydantic.BaseModel):
    x: int = pydantic.Field(alias="y")


class Closed(pydantic.BaseModel, extra="forbid"):
    x: int


class Patterned(pydantic.BaseModel):
    x: str = pydantic.Field(pattern="a+")


@dataclass
class Tree:
    x: Tree | None


@dataclass
class Lost:
    x: Unknown  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("of", "what"),
    [
        (with_field(complex), "Record.x is of the type complex, which cannot be decoded"),
        (with_field(int | str), "Record.x is of the type int | str, which cannot be decoded"),
        (with_field(list), "Record.x is of the type list, which cannot be decoded"),
        (with_field(dict[int, str]), "Record.x is of the type dict[int, str], which cannot be decoded"),
        (with_field(list[set[int]]), "Record.x[] is of the type set[int], which cannot be decoded"),
        (with_field(Literal["a"]), "Record.x is of the type typing.Literal['a'], which cannot be decoded"),
        (with_field(Annotated[str, MinLen(1)]), "Record.x has the constraint min_length=1, which is not checked"),
        (with_field(list[Annotated[int, Gt(0)]]), "Record.x[] has the constraint gt=0, which is not checked"),
        (with_field(list[Address]), "Record.x[].floor has the constraint ge=0, which is not checked"),
        (with_field(Annotated[int, T.NullType()]), "Record.x is of the type void, which cannot be decoded"),
        (with_field(int, x=5), "Record.x has a default, and defaults are not put into records"),
        (with_field(int | None, x=5), "Record.x has a default, and defaults are not put into records"),
        (with_field(list[int], x=field(default_factory=list)), "Record.x has a default, and defaults are not put into records"),
        (dataclass(type("Nothing", (), {})), "Nothing has no fields"),
        (int, "int is neither a dataclass nor a pydantic model"),
        (Checked, "Checked has the validator even, and no Python runs on records"),
        (Renamed, "Renamed.x is read from another name, 'y'"),
        (Closed, "Closed forbids extra fields, and those are ignored in records"),
        (Patterned, "Patterned.x has the constraint pattern='a+', which is not checked"),
        (Tree, "Tree.x is a Tree within a Tree, and so on without end"),
        (Lost, "Lost has a field whose type is not known: name 'Unknown' is not defined"),
        (5, "5 is no schema"),
        ("x INTERVAL DAY", "the schema.x is of the type interval day, which cannot be decoded"),
        ("x MAP<INT, STRING>", "the schema.x is of the type map<int,string>, which cannot be decoded"),
        ("x INT, X INT", "the schema has the fields x and X, which Spark cannot tell apart"),
        ("ARRAY<INT>", "'ARRAY<INT>' is a type and no record"),
    ],
)  # fmt: skip
def test_what_is_no_schema_is_refused_by_name(spark: SparkSession, of: Any, what: str) -> None:
    assert spark is not None
    with pytest.raises(DefinitionError) as error:
        schemas.schema(of)
    assert error.value.what == what
    assert error.value.fix
    assert (error.value.where or "").startswith(__file__)


def test_broken_ddl_says_where(spark: SparkSession) -> None:
    assert spark is not None
    with pytest.raises(DefinitionError) as error:
        schemas.schema("x INT NOT")
    assert error.value.what.startswith("'x INT NOT' is no DDL: Syntax error")
