"""What a stream of the program is in headrace: rows of a value, its time, and functions that are still to be called with them.

Functions of single records are collected until something needs their result, and are then one call for each record: a chain. A union is
left as its parts until then, so that each part has a time of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headrace.errors import DefinitionError, user_line
from headrace.fronts.flink.running.chain import Chain, Link, chain, same
from headrace.fronts.flink.types import OBJECT, Convert, TypeInformation
from headrace.fronts.stream import Stream
from headrace.kernel.python.mapping import map_python
from headrace.planning import recipe

TIME = T.StructField("time", T.TimestampType())
_SIDE = T.StructType([T.StructField("tag", T.StringType()), T.StructField("value", T.BinaryType())])

Columns = Mapping[str, tuple[Any, Convert, T.DataType]]
"""Further columns by name: a function of the value and its time, how its answer is written, and the type."""


@dataclass(frozen=True, eq=False)
class Part:
    """
    stream  rows with the columns `value` and `time`
    kind    what `value` is
    links   functions that are still to be called
    result  what they make of it
    timed   whether it has a watermark
    idle    whether its strategy has an idleness
    has_time whether its records have a time, though it may not go on
    """

    stream: Stream
    kind: TypeInformation
    links: tuple[Link, ...] = ()
    result: TypeInformation | None = None
    timed: bool = False
    idle: bool = False
    has_time: bool = False

    @property
    def type(self) -> TypeInformation:
        return self.result or self.kind

    def then(self, link: Link, result: TypeInformation | None = None) -> Part:
        return replace(self, links=(*self.links, link), result=result or self.type)

    def made(self, columns: Columns | None = None) -> Part:
        """The same with nothing left to be called, and with further columns."""
        further = columns or {}
        if not self.links and not further:
            return self
        kept = {} if "time" in further else {"keep": ["time"]}
        row = T.StructType(
            [T.StructField("value", self.type.spark), *(T.StructField(name, kind) for name, (_, _, kind) in further.items())]
        )
        calls = {name: (call, write) for name, (call, write, _) in further.items()}
        called = chain(self.kind.reading(), self.links, self.type.writing(), calls)
        stream = self.stream.flat_map(called, row, **kept)  # type: ignore[arg-type]
        return replace(self, stream=stream, kind=self.type, links=(), result=None)

    def parted(self, link: Link, result: TypeInformation) -> tuple[Part, Stream]:
        """The same behind a process function, and what it puts out at the side."""
        links = (*self.links, link)
        called: Chain = chain(self.kind.reading(), links, result.writing(), {})
        output = T.StructType([T.StructField("main", T.StructType([T.StructField("value", result.spark)])), T.StructField("side", _SIDE)])

        def apply(df: DataFrame) -> DataFrame:
            return map_python(df, kind="flat_map", function=called, output=output, keep=["time"])

        both = Stream(recipe.grow("process", apply, self.stream.step, row="flat_map"))
        main = both.where("main is not null").select("time", F.col("main.value").alias("value"))
        side = both.where("side is not null").select("time", F.col("side.tag").alias("tag"), F.col("side.value").alias("value"))
        return replace(self, stream=main, kind=result, links=(), result=None), side


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of a stream; it is their union. All have one type."""

    parts: tuple[Part, ...]

    @property
    def type(self) -> TypeInformation:
        return self.parts[0].type

    @property
    def timed(self) -> bool:
        return all(part.timed for part in self.parts)

    @property
    def has_time(self) -> bool:
        return all(part.has_time for part in self.parts)

    def then(self, link: Link, result: TypeInformation | None = None) -> Parts:
        return Parts(tuple(part.then(link, result) for part in self.parts))

    def made(self, columns: Columns | None = None) -> Part:
        """One stream, with these further columns."""
        made = [part.made(columns) for part in self.parts]
        one = made[0]
        for other in made[1:]:
            one = replace(one, stream=one.stream.union(other.stream))
        return replace(one, timed=self.timed, has_time=self.has_time)

    def also(self, other: Parts, at: str) -> Parts:
        """The union with another."""
        if other.type.spark != self.type.spark:
            raise DefinitionError(
                f"{at}: one stream is of {self.type}, and the other of {other.type}", fix="map one of them to the type of the other",
                where=user_line(),
            )  # fmt: skip
        check_together(at, self, other)
        return Parts((*self.parts, *other.parts))


def check_together(at: str, *streams: Parts) -> None:
    """Refuse streams whose time could not go on together."""
    parts = [part for stream in streams for part in stream.parts]
    if any(part.timed for part in parts) and not all(part.timed for part in parts):
        raise DefinitionError(
            f"{at}: only one of the streams has watermarks, and the records of the other would be late",
            fix="call assign_timestamps_and_watermarks on each of them, or on neither and behind it", where=user_line(),
        )  # fmt: skip
    if any(part.idle for part in parts):
        raise DefinitionError(
            f"{at}: with_idleness: of several sources a silent one holds time up here, and cannot be left out",
            fix="leave out with_idleness; let the quiet source send a record now and then", where=user_line(),
        )  # fmt: skip


def objects(stream: Stream, tag: TypeInformation, *, timed: bool, has_time: bool) -> Part:
    """A side output: bytes of any object, as the type that its tag declares."""
    part = Part(stream, OBJECT, timed=timed, has_time=has_time)
    return part if tag.is_object else part.then(Link("map", same, None), tag)
