"""Which systems there are, by the name that they have in the results."""

from __future__ import annotations

from dataclasses import dataclass

from bench.peers.on_java import OnJava
from bench.peers.on_python import OnPython
from bench.peers.ours import Headrace
from bench.peers.systems import System, Work


@dataclass(frozen=True)
class Entry:
    """`works`: what it is measured at. `share`: of the two million records of the rules, how much it gets, where it is slow."""

    system: System
    works: tuple[Work, ...] = ("count", "rules")
    share: float = 1.0


_PYTHON = 0.1

SYSTEMS: dict[str, Entry] = {
    "headrace": Entry(Headrace()),
    "headrace, 10 s": Entry(Headrace("10 seconds"), works=("count",)),
    "flink": Entry(OnJava("OnFlink", "flink.lock", "Apache Flink")),
    "flink, heap": Entry(OnJava("OnFlink", "flink.lock", "Apache Flink", ("-Dstate=hashmap",)), works=("rules",)),
    "kafka-streams": Entry(OnJava("OnKafkaStreams", "kafka-streams.lock", "Kafka Streams")),
    "bytewax": Entry(OnPython("bytewax"), share=_PYTHON),
    "quix": Entry(OnPython("quix"), share=_PYTHON),
    "pyflink": Entry(OnPython("pyflink", "flink.lock"), share=_PYTHON),
}
