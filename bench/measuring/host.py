"""What the host of a virtual machine takes from it: a latency in milliseconds cannot be told from a core that was away for some."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_GLANCE = 0.1
_AROUND = 0.5
_LITTLE = 0.01


def stolen_seconds() -> float:
    """How long the cores had to wait for the host's so far; 0 where the system does not tell."""
    counters = Path("/proc/stat")
    return int(counters.read_text().split()[8]) / os.sysconf("SC_CLK_TCK") if counters.exists() else 0.0


class Watch:
    """Looks ten times a second at what was stolen, inside a `with`."""

    def __enter__(self) -> Watch:
        self._seen = [(time.time(), stolen_seconds())]
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(_GLANCE):
            self._seen.append((time.time(), stolen_seconds()))

    def undisturbed(self, at: NDArray[np.float64]) -> NDArray[np.bool_]:
        """For each time (seconds since 1970), whether the host took less than a hundredth of the cores in the second around it."""
        return quiet(at, np.array(self._seen), os.cpu_count() or 1)


def quiet(at: NDArray[np.float64], seen: NDArray[np.float64], cores: int) -> NDArray[np.bool_]:
    times, stolen = seen.T
    begin = (np.searchsorted(times, at - _AROUND, side="right") - 1).clip(0)
    end = np.searchsorted(times, at + _AROUND).clip(max=len(times) - 1)
    little: NDArray[np.bool_] = stolen[end] - stolen[begin] < _LITTLE * cores * (times[end] - times[begin]).clip(2 * _AROUND)
    return little
