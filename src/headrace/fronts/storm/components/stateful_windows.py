"""Windowed bolts with a state, which they change window by window.

A tuple is in several windows, and it comes again if it was not acked before a crash. So that no window changes the state twice, one of
these is needed:

withMessageIdField(field)  tuples have a number that only grows, for each task and stream that they come from. The numbers of the last tuple
                           that was in a window, and of the last that has left it, are saved with the state. After a crash, tuples that have
                           left all windows are acked and forgotten, and those that were in one only fill the window again.
withPersistence()          the window is saved with the state, whole, and a tuple is acked when it has been saved. What is emitted is not
                           anchored.

Effectively once, the window is part of the state, and neither is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from headrace.fronts.storm.components.cutting import Count, Duration, TupleWindow
from headrace.fronts.storm.components.state import StatefulComponent
from headrace.fronts.storm.components.windows import BaseWindowedBolt
from headrace.fronts.storm.graph.reliability import Reliability, reliability_of
from headrace.fronts.storm.graph.tuples import Tuple
from headrace.fronts.storm.tasks.bolts import BoltTask
from headrace.fronts.storm.tasks.state import KeyValueState
from headrace.fronts.storm.tasks.task import Context

_Source = tuple[int, str]
"""A task, and a stream of it."""


class BaseStatefulWindowedBolt(StatefulComponent, BaseWindowedBolt):
    """`prepare(conf, context, collector)`, then `initState(state)`, and `execute(window)`."""

    _id_field: str | None = None
    _persistent = False

    def withMessageIdField(self, name: str) -> Self:  # noqa: N802
        """The field that holds a tuple's number."""
        self._id_field = name
        return self

    def withPersistence(self) -> Self:  # noqa: N802
        """Save the window with the state. `getNew` and `getExpired` work all the same, which in Storm they do not."""
        self._persistent = True
        return self

    def withMaxEventsInMemory(self, most: int) -> Self:  # noqa: N802, ARG002
        """Has no effect: the whole window is in memory."""
        return self

    def initState(self, state: KeyValueState) -> None:  # noqa: N802
        raise NotImplementedError(f"{type(self).__name__} has no initState(self, state)")

    def problem(self, conf: Mapping[str, Any]) -> tuple[str, str] | None:
        known = self._id_field or self._persistent or reliability_of(conf) is Reliability.EFFECTIVELY_ONCE
        missing = "is a stateful windowed bolt that cannot tell which tuples it has had", "say .withMessageIdField(…) or .withPersistence()"
        return super().problem(conf) or (None if known else missing)

    def _too_long(self, conf: Mapping[str, Any], length: Count | Duration, slide: Count | Duration) -> tuple[str, str] | None:
        saved = self._persistent or reliability_of(conf) is Reliability.EFFECTIVELY_ONCE
        return None if saved else super()._too_long(conf, length, slide)

    def begin(self, conf: Mapping[str, Any], ctx: Context, task: BoltTask) -> None:
        super().begin(conf, ctx, task)
        self._saved = self._persistent or task.exact
        self._ids: dict[_Source, tuple[Any, Any]] = {}  # the last that has left, the last that was in a window
        self._filling: dict[_Source, tuple[Any, Any]] = {}
        self._waiting: list[tuple[Tuple, float]] = []
        self.initState(self.state)

    def kept(self) -> Any:
        return self._windows.content() if self._saved else {"ids": dict(self._ids), "next_end": self._windows.next_end}

    def recall(self, kept: Any) -> None:
        if self._saved:
            self._windows.restore(kept)
        else:
            self._ids, self._filling, self._windows.next_end = dict(kept["ids"]), dict(kept["ids"]), kept["next_end"]

    def _add(self, tup: Tuple, at: float, now: float) -> None:
        if self._saved:
            super()._add(tup, at, now)
            self._task.ack(tup)
        elif self._filling:
            self._fill(tup, at, now)
        else:
            super()._add(tup, at, now)

    def _fill(self, tup: Tuple, at: float, now: float) -> None:
        """After a crash, until every stream that has tuples to come again has brought a new one."""
        left, evaluated = self._filling.get(_source(tup), (None, None))
        if left is not None and self._number(tup) <= left:
            self._task.ack(tup)
        elif evaluated is not None and self._number(tup) <= evaluated:
            self._windows.hold(tup, at)
        else:
            self._filling.pop(_source(tup), None)
            self._waiting.append((tup, at))
        if not self._filling:
            waiting, self._waiting = self._waiting, []
            for each, time in waiting:
                super()._add(each, time, now)

    def _anchors(self, window: TupleWindow) -> list[Tuple]:
        return [] if self._saved else super()._anchors(window)

    def _expire(self, tuples: list[Tuple]) -> None:
        if not self._saved:
            super()._expire(tuples)
            for tup in tuples:
                self._ids[_source(tup)] = (self._number(tup), self._ids.get(_source(tup), (None, None))[1])

    def _evaluated(self, window: TupleWindow) -> None:
        if not self._saved:
            for tup in window.getNew():
                left, evaluated = self._ids.get(_source(tup), (None, None))
                number = self._number(tup)
                self._ids[_source(tup)] = (left, number if evaluated is None else max(number, evaluated))

    def _number(self, tup: Tuple) -> Any:
        return tup[str(self._id_field)]


def _source(tup: Tuple) -> _Source:
    return tup.task, tup.stream
