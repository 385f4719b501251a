"""Tasks of bolts: one tuple after the other, and what becomes of it."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.fronts.storm.graph.tuples import SYSTEM, Tuple
from headrace.fronts.storm.tasks.acking import Note
from headrace.fronts.storm.tasks.messages import Save, Send, Write
from headrace.fronts.storm.tasks.task import Task


class FailedException(Exception):  # noqa: N818 - Storm's own name
    """Raised in a bolt: this tuple has failed. No error of the bolt's, so nothing is reported."""


class BoltTask(Task):
    """A task of a bolt. `saved` gives its state, as it was last saved."""

    saved: Callable[[], Mapping[Any, Any]] = staticmethod(dict)

    def execute(self, tup: Tuple) -> None:
        """One tuple. An error of the bolt's fails what it was at and is kept in the counts; it is raised if the bolt does not want that."""
        began = time.perf_counter()
        try:
            self.code.take(tup)
        except Exception as error:
            current = self.code.current()
            if not current and not tup.component.startswith("__"):
                raise
            for each in current:
                self.fail(each)
            if not isinstance(error, FailedException):
                self.counts.error = _described(error)
        self.counts.executed += 1
        self.counts.busy += time.perf_counter() - began

    def timers(self) -> dict[str, float]:
        return dict(self.code.timers(self.layout.conf(self.part)))

    def emit(self, values: Sequence[Any], stream: str, anchors: Sequence[Tuple], direct_task: int | None = None) -> list[int]:
        targets = self.route(stream, values, direct_task)
        for target in targets:
            roots: dict[int, int] = {}
            for anchor in anchors:
                if anchor.roots:
                    edge = self.new_id()
                    anchor.ack_val ^= edge
                    for root in anchor.roots:
                        roots[root] = roots.get(root, 0) ^ edge
            self.out.append(Send(target, self.tuple(stream, values, roots)))
        return targets

    def ack(self, tup: Tuple) -> None:
        if tup.component != SYSTEM:
            self.counts.acked += 1
        self.out.extend(Note(root, edge ^ tup.ack_val) for root, edge in tup.roots.items())

    def fail(self, tup: Tuple) -> None:
        self.counts.failed += 1
        self.out.extend(Note(root, fails=True) for root in tup.roots)

    def write(self, topic: str, key: bytes | None, value: bytes) -> None:
        """To a Kafka topic, together with all else that the topology puts out: at-least-once."""
        self.out.append(Write(topic, key, value))

    def save(self, changes: Mapping[Any, tuple[Any, ...]]) -> None:
        self.out.extend(Save(self.part.name, self.number, key, value) for key, value in changes.items())

    def reset_timeout(self, tup: Tuple) -> None:
        self.out.extend(Note(root, resets=True) for root in tup.roots)


def _described(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({frame.filename}:{frame.lineno})"
