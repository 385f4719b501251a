"""The platforms: a batch run over history, a stream, and the client that adds what they have.

Both run the same functions and the same scan; a batch run is told up to which batch of time it may look, and the stream sums each batch of
time on its own. So what the client adds is each record once.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from functools import reduce
from pathlib import Path
from typing import Any, Literal

from pyspark import cloudpickle
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import headrace.fronts.summingbird as front
from headrace.definitions import durations
from headrace.errors import DefinitionError, user_line
from headrace.fronts.stream import Stream
from headrace.fronts.summingbird.producers import Branch, Chain, Tail
from headrace.fronts.summingbird.stores import HoleError, KafkaStore, Semigroup, Store
from headrace.io.kafka.topics import Topic
from headrace.job import Job
from headrace.planning.recipe import Output
from headrace.planning.triggers import Trigger
from headrace.run.running import Running

_ROW = "key string, batch bigint, value string"


class Plus:
    """The function of the scan: the total so far, and the next value."""

    def __init__(self, semigroup: Semigroup) -> None:
        self.plus = semigroup.plus

    def __call__(self, state: dict[str, Any], record: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        value = record["value"]
        if state["total"] is not None:
            total = self.plus(json.loads(state["total"]), json.loads(value))
            value = json.dumps(total, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        after = {"total": value, "n": state["n"] + 1}
        return after, [{"key": record["key"], "batch": record["batch"], "value": value, "n": after["n"]}]


def run_batch(name: str, tail: Tail, *, until: int | datetime) -> None:
    """Sum all records of the batches of time before `until` (a batch, or a time in it) that earlier runs have not summed. It reads the
    sources from their beginning, or from where their `start` says. Sinks of the job are written, too."""
    outputs: list[Output] = []
    takes: list[Callable[[], None]] = []
    for each in _tails(tail):
        if each.store is None:
            outputs.append(_written(each))
            continue
        store, end = each.store, _batch(each.store, until)
        done = store.done
        if done is not None and end < done:
            raise DefinitionError(f"run_batch: batch {end} is done: the store is at {done}", fix=f"give {done} or more", where=user_line())
        rows = _rows(each, store).where(f"batch < {end}" + ("" if done is None else f" and batch >= {done}"))
        output = _summed(rows, ["key"], store).then(_last).to.memory(f"store-{len(outputs)}")
        outputs.append(output)
        takes.append(lambda store=store, output=output, end=end: store.add_batch(_totals(output), end))  # type: ignore[misc]
    Job(name, *outputs).run("batch")
    for take in takes:
        take()


def start_online(
    name: str, tail: Tail, mode: Literal["micro-batch", "real-time"] = "micro-batch", *, trigger: Trigger | str | None = None,
    checkpoint: str | Path | None = None, since: int | datetime | None = None, idle: str | None = None,
) -> Running:  # fmt: skip
    """Sum each batch of time as records come, into the online half of the store. In real time the store must be a KafkaStore.

    `since` is the first batch of time that the stream brings whole, for the client to see holes by. Without it, it is the first that comes:
    say it if the stream begins in the middle of one, or if there may be batches without a record.

    State: one row for each key and batch of time, until none of its records came for `idle`."""
    outputs = []
    for number, each in enumerate(_tails(tail)):
        if each.store is None:
            outputs.append(_written(each))
            continue
        if since is not None:
            each.store.online_from(_batch(each.store, since))
        rows = _summed(_rows(each, each.store), ["key", "batch"], each.store, idle)
        outputs.append(_to_store(rows, each.store, number))
    return Job(name, *outputs, trigger=trigger, checkpoint=checkpoint).start(mode)


class Client:
    """Asks a store for totals over all time: what batch runs have, and online what is since."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def get(self, key: Any, now: int | datetime) -> Any:
        """The total of a key up to now, a time or a batch of time, inclusive; None if there is no record of it.

        If the batch half is done up to 5 and it is 7, that is its value + online 5 + online 6 + online 7. HoleError if the online half does
        not reach back to where the batch half ends."""
        store = self.store
        last, done = _batch(store, now), store.done
        begin = store.begin
        if done is not None and begin is not None and begin > done and done <= last:
            raise HoleError(
                f"the batch half ends before batch {done}, and the online half begins with {begin}: {done} to {begin - 1} are missing",
                fix=f"run the batch up to {begin} or later, or keep more batches online", where=user_line(),
            )  # fmt: skip
        first = begin if done is None else done
        parts = [store.batch(key), *(store.online(key, batch) for batch in range(last if first is None else first, last + 1))]
        values = [value for value in parts if value is not None]
        return reduce(store.semigroup.plus, values) if values else None


# -- how -------------------------------------------------------------------------------------------------------------------------------


def _tails(tail: Any) -> list[Tail]:
    if not isinstance(tail, Tail):
        raise DefinitionError("the producer has no end", fix="end it with sum_by_key(store)", where=user_line())
    cloudpickle.register_pickle_by_value(front)  # type: ignore[no-untyped-call]  # a cluster's machines need not have headrace
    return tail.all()


def _batch(store: Store, time: int | datetime) -> int:
    return store.batcher.batch_of(time) if isinstance(time, datetime) else time


def _rows(tail: Tail, store: Store) -> Stream:
    """(key, batch, value) of all branches."""
    return _flat(tail.branches, _ROW, durations.micros(store.batcher.length), keyed=True)


def _flat(branches: tuple[Branch, ...], columns: str, length: int, *, keyed: bool) -> Stream:
    streams = [each.stream.flat_map(Chain(each.time, each.steps, length, keyed=keyed), columns) for each in branches]
    return reduce(Stream.union, streams)


def _written(tail: Tail) -> Output:
    assert tail.sink is not None
    return tail.sink(_flat(tail.branches, "item string", 1, keyed=False))


def _summed(rows: Stream, keys: list[str], store: Store, idle: str | None = None) -> Stream:
    return rows.key_by(*keys).scan_python(
        state="total string, n bigint", start={"n": 0}, function=Plus(store.semigroup), output=f"{_ROW}, n bigint", idle=idle
    )


def _last(df: DataFrame) -> DataFrame:
    return df.groupBy("key").agg(F.max_by("value", "n").alias("value"))


def _totals(output: Output) -> dict[Any, Any]:
    return {_hashable(json.loads(row.key)): json.loads(row.value) for row in output.sink.rows}  # type: ignore[attr-defined]


def _hashable(key: Any) -> Any:
    return tuple(map(_hashable, key)) if isinstance(key, list) else key


def _to_store(rows: Stream, store: Store, number: int) -> Output:
    if isinstance(store, KafkaStore):
        place = F.concat(F.lit("["), F.col("key"), F.lit(","), F.col("batch").cast("string"), F.lit("]"))
        made = Topic(config={"cleanup.policy": "compact"})
        return rows.to.kafka(store.topic, key=place, value="value", create=made, servers=store.servers, name=f"store-{number}")

    def put(changed: DataFrame, _: int) -> None:
        last = changed.groupBy("key", "batch").agg(F.max_by("value", "n").alias("value"))
        store.put_online((json.loads(row.key), row.batch, json.loads(row.value)) for row in last.collect())

    return rows.to.callback(put, name=f"store-{number}")
