"""The clock that makes batches: the machine's, or one that only a test moves."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

from headrace.fronts.dstreams.times import Duration, millis


class Clock(Protocol):
    """What the engine asks of a clock."""

    def now(self) -> int:
        """Milliseconds since 1970."""
        ...

    def wait(self, until: int, stopped: threading.Event) -> None:
        """Return at this time, or when `stopped` is set and the clock is woken."""
        ...

    def wake(self) -> None:
        """Let those who wait look at `stopped`."""
        ...

    def attach(self, caught_up: Callable[[], None]) -> None:
        """`caught_up` returns when the batches that are due have run."""
        ...


class SystemClock:
    """The machine's."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000

    def wait(self, until: int, stopped: threading.Event) -> None:
        while (left := until - self.now()) > 0 and not stopped.wait(left / 1000):
            pass

    def wake(self) -> None:
        pass

    def attach(self, caught_up: Callable[[], None]) -> None:
        pass


class ManualClock:
    """A clock for tests, which stands still until `advance`: `StreamingContext(sc, 1, clock=ManualClock())`.

    `advance` returns when all batches that became due have run, so that a test need not wait for anything:

    >>> import headrace as hr
    >>> from headrace.dstreams import ManualClock, StreamingContext
    >>> clock, seen = ManualClock(), []
    >>> ssc = StreamingContext(hr.session().sparkContext, 1, clock=clock)
    >>> ssc.queueStream([["a"], ["b", "c"]]).count().foreachRDD(lambda rdd: seen.extend(rdd.collect()))
    >>> ssc.start()
    >>> clock.advance(3)
    >>> seen
    [1, 2, 0]
    >>> ssc.stop(stopSparkContext=False)

    It begins at `start`, in seconds since 1970.
    """

    def __init__(self, start: float = 0.0) -> None:
        self._now = round(start * 1000)
        self._changed = threading.Condition()
        self._engines: list[Callable[[], None]] = []

    def now(self) -> int:
        """The time at which it stands, in milliseconds since 1970."""
        return self._now

    def advance(self, duration: Duration) -> None:
        """Move on by so many seconds, and wait until the batches that this makes have run."""
        with self._changed:
            self._now += millis("advance", duration)
            self._changed.notify_all()
        for caught_up in self._engines:
            caught_up()

    def wait(self, until: int, stopped: threading.Event) -> None:
        """For the engine: return at this time, or when it is stopped."""
        with self._changed:
            self._changed.wait_for(lambda: self._now >= until or stopped.is_set())

    def wake(self) -> None:
        """For the engine: let those who wait look again."""
        with self._changed:
            self._changed.notify_all()

    def attach(self, caught_up: Callable[[], None]) -> None:
        """For the engine: `advance` calls this, and it returns when all has run."""
        self._engines.append(caught_up)
