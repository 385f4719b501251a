"""Each batch to a Python function of the user's, on the driver.

Write  at-least-once: the function is called again with the same rows and the same batch number when a batch is repeated after a crash.
       Remember the number together with what you write, and skip one that you have, and it is exactly-once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from pyspark.sql import DataFrame

from headrace.definitions.guarantees import Guarantee, Modes, Yes
from headrace.io.connectors import Calls, Run, Sink, Writer, computed


@dataclass(frozen=True, eq=False)
class CallbackSink(Sink):
    """`function(rows, batch)`: the batch is computed before the call, so the function may use it any number of times, or not at all."""

    function: Callable[[DataFrame, int], object]
    name: str
    kind: ClassVar[str] = "callback"
    modes: ClassVar[Modes] = {"batch": Yes("one call", Guarantee.AT_LEAST_ONCE), "micro-batch": Guarantee.AT_LEAST_ONCE}

    def open(self, run: Run) -> Writer:
        return Calls(self._call)

    def _call(self, frame: DataFrame, batch: int) -> None:
        with computed(frame) as rows:
            self.function(rows, batch)
