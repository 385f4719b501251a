"""Tasks of bolts: one tuple after the other, and what becomes of it."""

from __future__ import annotations

import time
import traceback
from collections.abc import Sequence
from typing import Any

from headrace.fronts.storm.graph.layout import Layout
from headrace.fronts.storm.graph.tuples import SYSTEM, Tuple
from headrace.fronts.storm.tasks.acking import Note
from headrace.fronts.storm.tasks.messages import Send, Write
from headrace.fronts.storm.tasks.state import CHECKPOINT
from headrace.fronts.storm.tasks.task import Clock, Task


class FailedException(Exception):  # noqa: N818 - Storm's own name
    """Raised in a bolt: this tuple has failed. No error of the bolt's, so nothing is reported."""


class BoltTask(Task):
    """A task of a bolt.

    If the bolt is stateful, its tuples are acked when what they changed has been saved, at the clock's next checkpoint tuple: so nothing is
    lost with a process; but what was saved and not yet acked comes again, and counts twice, as in Storm. When a topology runs effectively
    once, there are no acks: who runs the task says when to save, and a failure ends the topology.
    """

    def __init__(self, layout: Layout, number: int, clock: Clock) -> None:
        super().__init__(layout, number, clock)
        self._done: list[Tuple] = []
        self._checkpoints = self._written = 0

    def open(self) -> None:
        super().open()
        self._written = self._memory.get("written", 0)

    def memory(self) -> dict[str, Any]:
        return super().memory() | ({"written": self._written} if self.exact else {})

    def execute(self, tup: Tuple) -> None:
        """One tuple. An error of the bolt's fails what it was at and is kept in the counts; it is raised if the bolt does not want that."""
        began = time.perf_counter()
        try:
            if tup.stream == CHECKPOINT and tup.component == SYSTEM:
                self._checkpoint()
            else:
                self.code.take(tup)
        except Exception as error:
            current = self.code.current()
            if self.exact or (not current and not tup.component.startswith("__")):
                raise
            for each in current:
                self.fail(each)
            if not isinstance(error, FailedException):
                self.counts.error = _described(error)
        self.counts.executed += 1
        self.counts.busy += time.perf_counter() - began

    def timers(self) -> dict[str, float]:
        """Streams of tuples that the clock sends to it, with the seconds between them."""
        conf = self.layout.conf(self.part)
        saves = {CHECKPOINT: float(conf.get("topology.state.checkpoint.interval.ms") or 1000) / 1000}
        return {**self.code.timers(conf), **(saves if self.state is not None and not self.exact else {})}

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
        if self.state is not None and not self.exact:
            self._done.append(tup)
        else:
            self._ack(tup)

    def _checkpoint(self) -> None:
        self._checkpoints += 1
        self.save(self._checkpoints)
        done, self._done = self._done, []
        for tup in done:
            self._ack(tup)

    def _ack(self, tup: Tuple) -> None:
        if tup.component != SYSTEM:
            self.counts.acked += 1
        self.out.extend(Note(root, edge ^ tup.ack_val) for root, edge in tup.roots.items())

    def fail(self, tup: Tuple) -> None:
        if self.exact:
            raise FailedException(f"{self.part.name!r} fails {tup!r}; effectively once there is nobody to emit it again")
        self.counts.failed += 1
        self.out.extend(Note(root, fails=True) for root in tup.roots)

    def write(self, topic: str, key: bytes | None, value: bytes) -> None:
        """To a Kafka topic, together with all else that the topology puts out: at-least-once. Effectively once, a record that is written
        again has the number that it had."""
        self._written += self.exact
        self.out.append(Write(topic, key, value, self._written, self.number))

    def reset_timeout(self, tup: Tuple) -> None:
        self.out.extend(Note(root, resets=True) for root in tup.roots)


def _described(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({frame.filename}:{frame.lineno})"
