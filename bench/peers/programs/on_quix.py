"""On Quix Streams: state in RocksDB and in a topic, a commit every ten seconds, a process for each partition."""

from __future__ import annotations

import multiprocessing
import sys
from pathlib import Path

from quixstreams import Application, State

from bench.peers.programs import work

WORKERS = 2


def serve(index: int, name: str, servers: str, source: str, result: str, place: str) -> None:
    step = work.STEPS[name]

    def one(record: work.Record, state: State) -> work.Record:
        memory, row = step(state.get("memory"), record)
        state.set("memory", memory)
        return row

    app = Application(
        servers, consumer_group=source, auto_offset_reset="earliest", commit_interval=float(work.EVERY), state_dir=Path(place) / str(index),
        producer_extra_config={"linger.ms": work.LINGER[name]}, loglevel="WARNING",
    )  # fmt: skip
    app.dataframe(app.topic(source)).apply(one, stateful=True).to_topic(app.topic(result))
    app.run()


if __name__ == "__main__":
    for other in range(1, WORKERS):
        multiprocessing.Process(target=serve, args=(other, *sys.argv[1:])).start()
    serve(0, *sys.argv[1:])
