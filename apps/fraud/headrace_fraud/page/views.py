"""What the page is sent: the board and the jobs as JSON."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

from headrace_fraud.page.board import Board
from headrace_fraud.page.control import Control
from headrace_fraud.page.jobs import Jobs


class Views:
    def __init__(self, board: Board, control: Control) -> None:
        self.board = board
        self._jobs = Jobs(control)
        self._began = time.time()
        self._lock = threading.Lock()
        self._text = ""
        self._made = 0.0

    def state(self) -> dict[str, Any]:
        """Everything, for a page that has just been opened."""
        return {
            **self._now(),
            "seconds": self.board.series(),
            "alerts": self.board.alerts(),
            "letters": self.board.letters(),
            "windows": self.board.windows(),
        }

    def now(self, every: float) -> str:
        """What changes each second, as JSON; made once for all readers."""
        with self._lock:
            if time.monotonic() - self._made > every / 2:
                self._made = time.monotonic()
                now = {**self._now(), "seconds": self.board.series(int(time.time()) - 5), "windows": self.board.windows()}
                self._text = json.dumps({**now, "letters": self.board.letters(10)})
            return self._text

    def customer(self, name: str) -> dict[str, Any] | None:
        return self.board.customer(name)

    def asked(self, name: str, verb: str) -> None:
        self._jobs.asked(name, verb, time.time())

    def _now(self) -> dict[str, Any]:
        now = time.time()
        return {
            "at": now,
            "began": self._began,
            "reading": self.board.reading.shown(now * 1000),
            "totals": self.board.totals(now * 1000),
            "latency": self.board.latency(),
            "topics": self.board.topics(),
            "model": self.board.model(),
            **self._jobs.shown(now),
        }
