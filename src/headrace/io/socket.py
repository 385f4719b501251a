"""Lines of text from a TCP socket, for trying things out.

Read   at-most-once: a socket cannot be asked twice, so lines that were received but not processed when the job stops are lost, and a job
       that has stopped cannot go on from its checkpoint.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Any, ClassVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headrace.definitions.guarantees import Guarantee, Modes
from headrace.errors import DefinitionError, JobError, user_line
from headrace.io.connectors import Source, struct


@dataclass(frozen=True, eq=False)
class SocketSource(Source):
    host: str
    port: int
    kind: ClassVar[str] = "socket"
    modes: ClassVar[Modes] = {"micro-batch": Guarantee.AT_MOST_ONCE}

    def __post_init__(self) -> None:
        if not isinstance(self.port, int) or not 0 < self.port < 1 << 16:
            raise DefinitionError(f"there is no port {self.port!r}", fix="give a number from 1 to 65535", where=user_line())

    def schema(self) -> StructType:
        return struct("value string")

    def check(self) -> None:
        # Only the name is looked up: many a server takes one connection, or sends its lines to the first.
        try:
            socket.getaddrinfo(self.host, self.port)
        except OSError as error:
            raise JobError(f"there is no host {self.host!r}: {error.strerror}", fix="give the name or address of one") from None

    def resume(self, checkpoint: str) -> None:
        raise JobError(
            f"the job has read from {self.host}:{self.port} before, and a socket has no place to go on from",
            fix=f"give the job another name, or move {checkpoint} away to start anew",
        )

    def stream(self, *, real_time: bool) -> DataFrame:
        return SparkSession.active().readStream.format("socket").option("host", self.host).option("port", self.port).load()

    def identity(self) -> dict[str, Any]:
        return {"kind": self.kind, "host": self.host, "port": self.port}
