"""The process between others and those who use them: runs a broker, or a cluster, as long as someone does. A script, started by `kept.py`.

    supervisor.py <home> '[{"name": …, "command": […], "after": port or null}, …]'

A process with `after` begins when somebody listens at that port of the loopback interface. What one says is in `home`, in `<name>.log`.

Three lock files in `home` carry the whole protocol:

- `users.lock` is held, shared, by everyone who uses them. When the supervisor can hold it alone, nobody does: unless the file `keep`
  exists it stops them, still holding the lock, so that a newcomer waits and then starts new ones.
- `supervisor.lock` is held by the supervisor: while it is, they are looked after.
- `alive.lock` is held by the supervisor *and* by them, who inherit it. No others start while it is held. It contains the pids.

One that dies after all were ready (`address.json` exists) is started again. On Linux they die with the supervisor. This file imports the
standard library only: it waits next to the user's program, sometimes for days.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

POLL = 0.5  # seconds between two looks at the users
PATIENCE = 20.0  # seconds for them to stop by themselves; also for former ones to be gone
DEATHS, WITHIN = 3, 60.0  # one that dies so often in so many seconds would die again
PR_SET_PDEATHSIG = 1


def main() -> None:
    home, parts = Path(sys.argv[1]), json.loads(sys.argv[2])
    own, alive = (os.open(home / name, os.O_RDWR | os.O_CREAT) for name in ("supervisor.lock", "alive.lock"))
    if not (_lock(own, patience=PATIENCE) and _lock(alive, patience=PATIENCE)):
        sys.exit(f"another one still runs in {home}")
    if os.fork():  # the child goes on, with the locks, and belongs to nobody
        os._exit(0)
    # Out of reach of the terminal's signals, but in the session of those who use it: Linux may share the processor among sessions first.
    os.setpgrp()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # let go of the starter's terminal and pipes
        os.dup2(nothing, stream)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    _supervise(home, [Part(home, alive, **part) for part in parts])


class Part:
    """One process, started again when it dies."""

    def __init__(self, home: Path, alive: int, *, name: str, command: list[str], after: int | None) -> None:
        self.home, self.alive, self.name, self.command, self.after = home, alive, name, command, after
        self.process: subprocess.Popen[bytes] | None = None
        self.deaths: deque[float] = deque(maxlen=DEATHS)

    def look(self) -> bool:
        """Start it, if it is not there and may; False if it is not worth it any more."""
        if self.process is not None and self.process.poll() is not None:
            self.process = None
            self.deaths.append(time.monotonic())
        if not self.worthwhile:
            return False
        if self.process is None and (self.after is None or _listens(self.after)):
            with (self.home / f"{self.name}.log").open("ab") as log:
                self.process = subprocess.Popen(
                    self.command, cwd=self.home, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=[self.alive],
                    preexec_fn=_die_with(os.getpid()),
                )  # fmt: skip
        return True

    @property
    def worthwhile(self) -> bool:
        if not self.deaths:
            return True
        return (self.home / "address.json").exists() and (len(self.deaths) < DEATHS or self.deaths[-1] - self.deaths[0] >= WITHIN)

    def end(self) -> None:
        if self.process is not None:
            self.process.terminate()

    def await_end(self) -> None:
        if self.process is not None:
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def _supervise(home: Path, parts: list[Part]) -> None:
    users = os.open(home / "users.lock", os.O_RDWR | os.O_CREAT)
    ready, keep = home / "address.json", home / "keep"
    try:
        while (keep.exists() or not _lock(users)) and all(part.look() for part in parts):
            # Always as long, in one write: who reads it meanwhile sees the former pids or the new ones.
            pids = [os.getpid(), *(part.process.pid for part in parts if part.process is not None)]
            size = 20 * (len(parts) + 1)
            os.pwrite(parts[0].alive, "".join(f"{pid:<20}" for pid in pids).ljust(size).encode(), 0)
            os.ftruncate(parts[0].alive, size)
            time.sleep(POLL)
    finally:
        ready.unlink(missing_ok=True)
        keep.unlink(missing_ok=True)
        for part in parts:
            part.end()
        for part in parts:
            part.await_end()


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


def _die_with(parent: int) -> Callable[[], None]:
    """What a child does before it becomes the command: ask Linux to be killed when `parent` ends."""
    libc = ctypes.CDLL(None)

    def ask() -> None:
        if sys.platform == "linux":
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:  # it ended before we could ask
                os._exit(1)

    return ask


def _lock(descriptor: int, *, patience: float = 0.0) -> bool:
    deadline = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.05)


if __name__ == "__main__":
    main()
