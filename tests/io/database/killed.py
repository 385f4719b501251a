"""A program that writes ten batches, as a job does, and kills itself on the way: `python killed.py log guard point …`.

It runs once for each failpoint, in a process of its own, and once to its end. The log stands for Spark's checkpoint: a batch is in it when
Spark has taken note that it is done. Batch n holds the ids 10n to 10n + 9. The guard that is named is off.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from tests.io.database.places import from_environment, rows_table, run

from headrace.definitions import failpoints
from headrace.io.database import transactions

BATCHES, SIZE = 10, 10


def write(log: Path, guard: str) -> None:
    place, table = from_environment(), rows_table()
    database = place.database
    transactions.prepare(database, table, make=True)
    if guard == "the transaction":
        database.begin = database.commit = "SELECT 1"
    output = transactions.Output(database, table, run(epoch=1))
    committed = output.open()
    if guard == "the batch's number":
        committed, transactions.is_there = -1, lambda last, batch: False  # noqa: ARG005
    done = len(log.read_text().splitlines()) if log.exists() else 0
    for batch in range(done, BATCHES):
        if batch > committed:
            rows = [(number, batch, "x") for number in range(batch * SIZE, (batch + 1) * SIZE)]
            output.commit(batch, place.batches(rows[: SIZE // 2], rows[SIZE // 2 :]))
        failpoints.reach("job: written")
        with log.open("a") as file:
            file.write(f"{batch}\n")


def main() -> None:
    log, guard, *points = sys.argv[1:]
    for point in [*points, None]:
        child = os.fork()
        if child == 0:
            os.environ.update({failpoints.VARIABLE: point} if point else {})
            write(Path(log), guard)
            os._exit(0)
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert ended == (-signal.SIGKILL if point else 0), f"{point}: ended with {ended}"


if __name__ == "__main__":
    main()
