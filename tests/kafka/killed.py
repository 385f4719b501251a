"""Writes five batches to a topic, as a job does, and kills itself on the way: `python killed.py servers topic log guard point …`.

It runs once for each failpoint, in a process of its own, and once to its end. The log stands for Spark's checkpoint: a batch is in it when
Spark has taken note that it is done. Batch n holds the values 10n to 10n + 9. The guard that is named is off.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow

from headrace.definitions import failpoints
from headrace.io.connectors import Run
from headrace.io.kafka import transactions
from headrace.io.kafka.client import KafkaClient

BATCHES, SIZE = 5, 10


def rows(*values: int) -> pyarrow.RecordBatch:
    return pyarrow.RecordBatch.from_pylist([{"value": str(value), "key": "k"} for value in values])


def run(job: str, epoch: int = 1, checkpoint: str = "c") -> Run:
    return Run(job, "o", "micro-batch", epoch, checkpoint)


def write(servers: str, topic: str, log: Path, guard: str) -> None:
    output = transactions.Output(KafkaClient(servers, {}), topic, run(f"killed-{topic}"))
    committed = output.open()
    if guard == "the batch's number":
        committed = -1
    done = len(log.read_text().splitlines()) if log.exists() else 0
    for batch in range(done, BATCHES):
        if batch > committed:
            values = range(batch * SIZE, (batch + 1) * SIZE)
            output.commit(batch, lambda values=values: iter([rows(*values[: SIZE // 2]), rows(*values[SIZE // 2 :])]))  # type: ignore[misc]
        failpoints.reach("job: written")
        with log.open("a") as file:
            file.write(f"{batch}\n")


def main() -> None:
    servers, topic, log, guard, *points = sys.argv[1:]
    if points == ["to the end"]:
        write(servers, topic, Path(log), guard)
        return
    for point in [*points, None]:  # not by fork: librdkafka has threads
        env = os.environ | ({failpoints.VARIABLE: point} if point else {})
        ended = subprocess.run([sys.executable, __file__, servers, topic, log, guard, "to the end"], env=env, check=False).returncode
        assert ended == (-signal.SIGKILL if point else 0), f"{point}: ended with {ended}"


if __name__ == "__main__":
    main()
