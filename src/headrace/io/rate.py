"""A clock that ticks rows, for trying things out.

Read   (timestamp, value): `per_second` rows a second, value counting from 0. A repeated batch gives the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headrace.definitions.guarantees import Modes, Yes
from headrace.io.connectors import Source, positive, struct


@dataclass(frozen=True, eq=False)
class RateSource(Source):
    per_second: int
    kind: ClassVar[str] = "rate"
    modes: ClassVar[Modes] = {"micro-batch": Yes("replayed after a crash")}

    def __post_init__(self) -> None:
        positive(per_second=self.per_second)

    def schema(self) -> StructType:
        return struct("timestamp timestamp, value bigint")

    def stream(self, *, real_time: bool) -> DataFrame:
        return SparkSession.active().readStream.format("rate").option("rowsPerSecond", self.per_second).load()

    def identity(self) -> dict[str, Any]:
        return {"kind": self.kind, "per_second": self.per_second}
