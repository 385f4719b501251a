"""Lines of text from a TCP socket, for trying things out.

Read   at-most-once: a socket cannot be asked twice, so lines that were received but not processed when the job stops are lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headrace.io.connectors import Source, struct


@dataclass(frozen=True, eq=False)
class SocketSource(Source):
    host: str
    port: int
    kind: ClassVar[str] = "socket"

    def schema(self) -> StructType:
        return struct("value string")

    def stream(self, *, real_time: bool) -> DataFrame:
        return SparkSession.active().readStream.format("socket").option("host", self.host).option("port", self.port).load()

    def identity(self) -> dict[str, Any]:
        return {"kind": self.kind, "host": self.host, "port": self.port}
