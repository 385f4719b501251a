"""Summingbird in its own words: producers, stores and semigroups, run as a batch, online, or both. See docs/guide/summingbird.md."""

from headrace.fronts.summingbird.platforms import Client, run_batch, start_online
from headrace.fronts.summingbird.producers import Producer, Tail, source
from headrace.fronts.summingbird.stores import MAX, MERGE, MIN, SUM, Batcher, HoleError, KafkaStore, MemoryStore, Semigroup, Store

__all__ = [  # noqa: RUF022 - in reading order
    "source", "Producer", "Tail", "Semigroup", "SUM", "MAX", "MIN", "MERGE", "Batcher", "Store", "MemoryStore", "KafkaStore",
    "run_batch", "start_online", "Client", "HoleError",
]  # fmt: skip
