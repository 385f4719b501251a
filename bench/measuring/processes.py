"""A measurement in a process of its own: its own JVM, with nothing left in it from the one before, and its own peak of memory."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Generic, TypeVar, TypeVarTuple, Unpack

import psutil

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_FRESH = multiprocessing.get_context("spawn")
_GLANCE = 2.0


@dataclass(frozen=True)
class Done(Generic[T]):
    """What a function returned, and the most memory (resident, MB) that its process and all below it held at one moment."""

    value: T
    peak_mb: int


class Started(Generic[T]):
    """A function at work in another process. `send` gives it something to `recv`, and the other way round."""

    def __init__(self, function: Callable[..., T], *args: Any, talks: bool = False) -> None:
        self._results, child = _FRESH.Pipe()
        self._talk, other = _FRESH.Pipe()
        passed = (other, *args) if talks else args
        self._process = _FRESH.Process(target=_work, args=(child, function, passed))
        self._process.start()
        child.close()
        other.close()
        self._peak = 0
        self._over = threading.Event()
        self._watch = threading.Thread(target=self._sample, daemon=True)
        self._watch.start()

    def send(self, message: Any) -> None:
        self._talk.send(message)

    def recv(self, seconds: float) -> Any:
        """What the function sends; it fails here if the function has failed."""
        if not self._talk.poll(seconds) or self._results.poll():
            self.result()
            raise SystemExit(f"no word in {seconds:.0f} s")
        return self._talk.recv()

    def result(self) -> Done[T]:
        try:
            good, value = self._results.recv()
        except EOFError:
            good, value = False, "the process was killed"
        self._process.join()
        self._over.set()
        self._watch.join()
        if not good:
            raise SystemExit(f"a measurement failed:\n{value}")
        return Done(value, self._peak)

    def _sample(self) -> None:
        assert self._process.pid is not None
        while not self._over.wait(_GLANCE):
            self._peak = max(self._peak, _resident_mb(self._process.pid))


def run(function: Callable[[Unpack[Ts]], T], *args: *Ts) -> Done[T]:
    return Started(function, *args).result()


def _work(results: Connection, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    # PySpark's workers talk much; what matters comes back as an exception.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        results.send((True, function(*args)))
    except BaseException:
        results.send((False, traceback.format_exc()))


def _resident_mb(root: int) -> int:
    return int(_sum(root, lambda process: process.memory_info().rss)) // 2**20


def cpu_seconds() -> float:
    """What this process and all below it have worked so far, with their children that have ended."""
    return _sum(os.getpid(), lambda process: sum(process.cpu_times()[:4]))


def _sum(root: int, read: Callable[[psutil.Process], float]) -> float:
    """Of a process and all below it; of one that ends meanwhile, nothing."""
    total = 0.0
    with contextlib.suppress(psutil.NoSuchProcess):
        parent = psutil.Process(root)
        for process in (parent, *parent.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                total += read(process)
    return total
