"""Whether what a job reads and writes is there. Spark waits for a broker that has gone, for minutes, without a word."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable

from headrace.errors import JobError
from headrace.io.connectors import Remote
from headrace.run.reports.messages import Notice

_log = logging.getLogger(__name__)

_EVERY = 2.0  # seconds between an answer and the next question; with the patience of a question, an outage is told within ten


class Watch:
    """Asks every remote every other second, each from a thread of its own; nothing is asked a record. Ends when told, or with the JVM."""

    def __init__(self, job: str, remotes: Iterable[Remote], tell: Callable[[Notice], None]) -> None:
        self._job, self._tell, self._over = job, tell, threading.Event()
        for remote in {remote.title: remote for remote in remotes}.values():
            threading.Thread(target=self._follow, args=(remote,), name=f"headrace-watch-{job}", daemon=True).start()

    def end(self) -> None:
        self._over.set()

    def _follow(self, remote: Remote) -> None:
        try:
            with remote.questions(self._over) as answers:
                since: float | None = None
                while not self._over.wait(_EVERY):
                    asked, there = time.monotonic(), answers()
                    if self._over.is_set():
                        return
                    if not there and since is None:
                        since = asked
                        self._notice(Notice.of_outage(self._job, remote.title))
                    elif there and since is not None:
                        self._notice(Notice.of_outage(self._job, remote.title, over=time.monotonic() - since))
                        since = None
        except (JobError, ConnectionError):
            return

    def _notice(self, notice: Notice) -> None:
        _log.warning("job %r: %s", self._job, notice)
        self._tell(notice)
