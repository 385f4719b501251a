"""How messages travel on Spark: as rows of one shape, and between the feeder and Spark as Kafka records.

A row with a task is a tuple for that task, one with a topic is a record for it, and one with a root has a note for the acker. A note needs
no row of its own if a tuple or a record goes the same way: it rides along, and where that is processed, notes of the same root become one.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from headrace.definitions.seals import opened, sealed
from headrace.fronts.storm.graph.groupings import canonical
from headrace.fronts.storm.graph.layout import Layout
from headrace.fronts.storm.graph.tuples import SYSTEM, Tuple
from headrace.fronts.storm.spark.topics import Topics
from headrace.fronts.storm.tasks.acking import Note
from headrace.fronts.storm.tasks.messages import Message, Save, Send

ROW = "task int, worker int, root bigint, value bigint, spout int, flags int, topic string, key binary, payload binary"
"""`worker` says where a row is processed or passes; `flags` are 1 for a failure and 2 for a reset."""

FAILS, RESETS = 1, 2
NOBODY = 0


class Row(NamedTuple):
    task: int
    worker: int
    root: int
    value: int
    spout: int
    flags: int
    topic: str | None
    key: bytes | None
    payload: bytes | None


class Carried(NamedTuple):
    """The part of a row that is a note."""

    root: int
    value: int
    spout: int
    flags: int


_NOTHING = Carried(0, 0, NOBODY, 0)


def rows(messages: Iterable[Message], layout: Layout, riding: Carried = _NOTHING) -> list[Row]:
    """The rows of what a task sends, and of the note that came with its tuple."""
    notes: dict[int, Carried] = {riding.root: riding} if riding.root else {}
    others = []
    for message in messages:
        if isinstance(message, Note):
            notes[message.root] = _merged(notes.get(message.root, _NOTHING), message)
        else:
            others.append(message)
    waiting, workers = iter(notes.values()), layout.workers
    made = []
    for other in others:
        note = next(waiting, _NOTHING)
        if isinstance(other, Send):
            made.append(Row(other.task, layout.worker[other.task], *note, None, None, packed(other.tuple, layout.secret)))
        elif isinstance(other, Save):
            made.append(Row(NOBODY, note.root % workers, *note, Topics(layout.name).state, *saved(other, layout.secret)))
        elif other.number:  # there are no notes, so their place is free
            numbered = Carried(0, other.number, other.task, 0)
            made.append(Row(NOBODY, layout.worker[other.task], *numbered, other.topic, other.key, other.value))
        else:
            made.append(Row(NOBODY, note.root % workers, *note, other.topic, other.key, other.value))
    return made + [Row(NOBODY, note.root % workers, *note, None, None, None) for note in waiting]


def _merged(before: Carried, note: Note) -> Carried:
    flags = before.flags | FAILS * note.fails | RESETS * note.resets
    return Carried(note.root, before.value ^ note.value, before.spout or note.spout or NOBODY, flags)


def saved(change: Save, secret: bytes) -> tuple[bytes, bytes | None]:
    """A change of a state as a record: the key begins with the task, and is the same for keys that are equal. The value has both; it is
    null if the key was deleted."""
    key = f"{change.task} {canonical(change.key)}".encode()
    return key, next((sealed(secret, _pickled((change.key, value))) for value in change.value), None)


def packed(tup: Tuple, secret: bytes) -> bytes:
    """A tuple as bytes, sealed. Values of classes that only the program has cannot be sent by name, and go by value."""
    return sealed(secret, _pickled((tup.component, tup.stream, tup.task, tup.values, tup.roots)))


def _pickled(value: Any) -> bytes:
    try:
        return pickle.dumps(value, 5)
    except Exception:
        from pyspark import cloudpickle

        return bytes(cloudpickle.dumps(value, 5))  # type: ignore[no-untyped-call]


def unpacked(payload: bytes, layout: Layout) -> Tuple:
    component, stream, task, values, roots = opened(layout.secret, payload)
    names = ["rate_secs"] if component == SYSTEM else layout.parts[component].outputs[stream].fields
    return Tuple(component, stream, task, values, names, roots)


def records(messages: Iterable[Message], layout: Layout) -> Iterator[tuple[bytes, bytes | None]]:
    """Keys and values of what the feeder sends: the numbers of a row as text, and its payload."""
    for row in rows(messages, layout):
        yield ",".join(map(str, row[:6])).encode(), row.payload
