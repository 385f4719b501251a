"""Rows on the terminal, for trying things out.

Write  at-least-once: a batch that is repeated after a crash is printed again. In real time rows appear when a batch ends, not before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from headrace.definitions.guarantees import Guarantee, Modes, Yes, promised
from headrace.io.connectors import Calls, Run, Sink, Writer, computed, positive


@dataclass(frozen=True, eq=False)
class ConsoleSink(Sink):
    name: str = "console"
    rows: int = 20
    kind: ClassVar[str] = "console"
    modes: ClassVar[Modes] = {
        "batch": Yes(guarantee=Guarantee.AT_LEAST_ONCE),
        "micro-batch": Guarantee.AT_LEAST_ONCE,
        "real-time": promised(Guarantee.AT_LEAST_ONCE, "at the end of each batch"),
    }

    def __post_init__(self) -> None:
        positive(rows=self.rows)

    def open(self, run: Run) -> Writer:
        return Calls(self._show_all if run.mode == "batch" else self._show)

    def _show_all(self, frame: DataFrame, batch: int) -> None:
        frame.show(self.rows, truncate=False)

    def _show(self, frame: DataFrame, batch: int) -> None:
        with computed(frame) as rows:
            print(f"{self.name}, batch {batch}")  # noqa: T201
            self._show_all(rows, batch)

    def spark_writer(self, frame: DataFrame) -> DataStreamWriter:
        return frame.writeStream.format("console").option("truncate", False).option("numRows", self.rows)
