"""Rows on the terminal, for trying things out.

Write  at-least-once: a batch that is repeated after a crash is printed again. In real time rows appear when a batch ends, not before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from headrace.io.connectors import Sink, computed, positive


@dataclass(frozen=True, eq=False)
class ConsoleSink(Sink):
    name: str = "console"
    rows: int = 20
    kind: ClassVar[str] = "console"

    def __post_init__(self) -> None:
        positive(rows=self.rows)

    def save(self, frame: DataFrame) -> None:
        frame.show(self.rows, truncate=False)

    def add(self, frame: DataFrame, batch: int) -> None:
        with computed(frame) as rows:
            print(f"{self.name}, batch {batch}")  # noqa: T201
            self.save(rows)

    def writer(self, frame: DataFrame) -> DataStreamWriter:
        return frame.writeStream.format("console").option("truncate", False).option("numRows", self.rows)
