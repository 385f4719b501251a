"""On Bytewax: state in memory, a snapshot of it into SQLite every ten seconds, two processes of one worker."""

from __future__ import annotations

import json
import multiprocessing
import socket
import sys
from datetime import timedelta
from pathlib import Path

import bytewax.operators as op
from bytewax.connectors.kafka import KafkaSinkMessage, KafkaSourceMessage
from bytewax.connectors.kafka import operators as kafka
from bytewax.dataflow import Dataflow
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.run import cli_main

from bench.peers.programs import work

WORKERS = 2


def flow(name: str, servers: str, source: str, result: str) -> Dataflow:
    step = work.STEPS[name]

    def read(message: KafkaSourceMessage) -> tuple[str, work.Record]:
        record = json.loads(message.value)
        return record["customer"], record

    def write(row: tuple[str, work.Record]) -> KafkaSinkMessage:
        return KafkaSinkMessage(row[0].encode(), json.dumps(row[1]).encode())

    made = Dataflow(name)
    records = op.map("read", kafka.input("given", made, brokers=[servers], topics=[source]).oks, read)
    rows = op.map("write", op.stateful_map("step", records, step), write)
    kafka.output("result", rows, brokers=[servers], topic=result, add_config={"linger.ms": str(work.LINGER[name])})
    return made


def serve(index: int, addresses: list[str], name: str, servers: str, source: str, result: str, place: str) -> None:
    recovery = RecoveryConfig(Path(place))
    every = timedelta(seconds=work.EVERY)
    cli_main(flow(name, servers, source, result), process_id=index, addresses=addresses, epoch_interval=every, recovery_config=recovery)


def free_ports(wanted: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(wanted)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


if __name__ == "__main__":
    init_db_dir(Path(sys.argv[-1]), WORKERS)
    processes = [f"127.0.0.1:{port}" for port in free_ports(WORKERS)]
    for other in range(1, WORKERS):
        multiprocessing.Process(target=serve, args=(other, processes, *sys.argv[1:])).start()
    serve(0, processes, *sys.argv[1:])
