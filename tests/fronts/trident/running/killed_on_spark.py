"""A topology on Spark that dies in its second batch, the first time: its states have changed, and Spark has not taken note of the batch."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import headrace as hr
from headrace.trident import Count, SqliteMapState, StormSubmitter, TridentTopology, TridentTuple


def main(topic: str, servers: str, home: Path) -> None:
    driver = os.getpid()

    def die(t: TridentTuple) -> None:
        if t["txid 2"] and not (home / "died").exists():
            (home / "died").touch()
            os.killpg(driver, signal.SIGKILL)  # the driver, its JVM, and this task

    topology = TridentTopology()
    words = topology.newStream("words", hr.read.kafka(topic, schema="word string, last boolean", cap=4, servers=servers)).parallelismHint(1)
    for kind in ("transactional", "nonTransactional"):
        factory = getattr(SqliteMapState, kind)(home / "state.db", kind)
        counts = words.groupBy(["word", "last"]).persistentAggregate(factory, Count(), ["count"])
    counts.newValuesStream().project(["last"]).map(lambda t: [t[0]], ["txid 2"]).peek(die)
    with StormSubmitter.submitTopology("killed", {}, topology, trigger="once", checkpoint=home / "checkpoint") as running:
        running.wait()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
