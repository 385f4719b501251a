"""Tasks of spouts: tuples under way, and what is told of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.fronts.storm.graph.layout import Layout
from headrace.fronts.storm.tasks.acking import Note, RotatingMap, Verdict
from headrace.fronts.storm.tasks.messages import Send
from headrace.fronts.storm.tasks.task import Clock, Task


@dataclass(slots=True)
class Pending:
    """A tuple of a spout that is under way."""

    tup_id: Any
    since: float


class SpoutTask(Task):
    """A task of a spout, with its tuples under way. One that was emitted `timeout` seconds ago fails, at the latest after twice that."""

    def __init__(self, layout: Layout, number: int, clock: Clock) -> None:
        super().__init__(layout, number, clock)
        self.pending: RotatingMap[int, Pending] = RotatingMap(2)
        limit = layout.conf(self.part).get("topology.max.spout.pending")
        self.most = None if limit is None else int(limit)
        self.rotates = clock() + layout.timeout

    def open(self) -> None:
        super().open()
        self.code.activate()

    def next(self) -> bool:
        """Ask the spout for its next tuple, unless as many as may be are under way; whether it emitted something."""
        if self.most is not None and len(self.pending) >= self.most:
            return False
        before = self.counts.emitted
        began = time.perf_counter()
        self.code.next_tuple()
        self.counts.busy += time.perf_counter() - began
        self.counts.executed += 1
        return self.counts.emitted > before

    def emit(self, values: Sequence[Any], stream: str, tup_id: Any, direct_task: int | None = None) -> list[int]:
        targets = self.route(stream, values, direct_task)
        tracked = tup_id is not None and self.layout.ackers > 0
        root, value = self.new_id() if tracked else 0, 0
        for target in targets:
            edge = self.new_id() if tracked else 0
            value ^= edge
            self.out.append(Send(target, self.tuple(stream, values, {root: edge} if tracked else {})))
        if tracked:
            self.pending.put(root, Pending(tup_id, self.clock()))
            self.out.append(Note(root, value, spout=self.number))
        elif tup_id is not None:
            self._done(Pending(tup_id, self.clock()), "ack")
        return targets

    def told(self, root: int, verdict: Verdict) -> None:
        """What the acker says. Of roots that are not under way (any more), it is no news."""
        if verdict == "reset":
            if (pending := self.pending.get(root)) is not None:
                self.pending.put(root, pending)
        elif (done := self.pending.pop(root)) is not None:
            self._done(done, verdict)

    def expire(self) -> None:
        """To be called now and then: fails what has been under way for too long."""
        while self.clock() >= self.rotates:
            self.rotates += self.layout.timeout
            for pending in self.pending.rotate().values():
                self._done(pending, "fail")

    def _done(self, pending: Pending, verdict: Verdict) -> None:
        if verdict == "ack":
            self.counts.acked += 1
            self.counts.complete += self.clock() - pending.since
            self.code.ack(pending.tup_id)
        else:
            self.counts.failed += 1
            self.code.fail(pending.tup_id)
