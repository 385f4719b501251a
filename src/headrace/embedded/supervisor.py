"""The process between the embedded broker and those who use it: runs the broker as long as someone does. Started by `kafka.py` as a script.

    supervisor.py <home> <command of the broker> …

Three lock files in `home` carry the whole protocol:

- `users.lock` is held, shared, by every process that uses the broker. When the supervisor can hold it alone, nobody does: unless the file
  `keep` exists it stops the broker, still holding the lock, so that a newcomer waits and then starts a new one.
- `supervisor.lock` is held by the supervisor: while it is, the broker is looked after.
- `alive.lock` is held by the supervisor *and* by the broker, which inherits it. No broker starts while it is held. It contains the pids.

A broker that dies after it was ready (`broker.json` exists) is started again on the same ports. On Linux the broker dies with the
supervisor. This file imports the standard library only: it waits next to the user's program, sometimes for days.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

POLL = 0.5  # seconds between two looks at the users
PATIENCE = 20.0  # seconds for a broker to stop by itself; also for a former one to be gone
DEATHS, WITHIN = 3, 60.0  # a broker that dies so often in so many seconds would die again
PR_SET_PDEATHSIG = 1


def main() -> None:
    home, command = Path(sys.argv[1]), sys.argv[2:]
    own, alive = (os.open(home / name, os.O_RDWR | os.O_CREAT) for name in ("supervisor.lock", "alive.lock"))
    if not (_lock(own, patience=PATIENCE) and _lock(alive, patience=PATIENCE)):
        sys.exit(f"another broker still runs in {home}")
    if os.fork():  # the child goes on, with the locks, and belongs to nobody
        os._exit(0)
    # Out of reach of the terminal's signals, but in the session of those who use it: Linux may share the processor among sessions first.
    os.setpgrp()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # let go of the starter's terminal and pipes
        os.dup2(nothing, stream)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    _supervise(home, command, alive)


def _supervise(home: Path, command: list[str], alive: int) -> None:
    users = os.open(home / "users.lock", os.O_RDWR | os.O_CREAT)
    ready, keep = home / "broker.json", home / "keep"
    broker = _run(home, command, alive)
    deaths: deque[float] = deque(maxlen=DEATHS)
    try:
        while keep.exists() or not _lock(users):
            if broker.poll() is not None:
                deaths.append(time.monotonic())
                if not ready.exists() or (len(deaths) == DEATHS and deaths[-1] - deaths[0] < WITHIN):
                    break
                broker = _run(home, command, alive)
            time.sleep(POLL)
    finally:
        ready.unlink(missing_ok=True)
        keep.unlink(missing_ok=True)
        broker.terminate()
        try:
            broker.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            broker.kill()
            broker.wait()


def _run(home: Path, command: list[str], alive: int) -> subprocess.Popen[bytes]:
    with (home / "broker.log").open("ab") as log:
        broker = subprocess.Popen(
            command, cwd=home, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=[alive], preexec_fn=_die_with(os.getpid())
        )
    # Always as long, in one write: who reads it meanwhile sees the former pids or the new ones.
    os.pwrite(alive, f"{os.getpid():<20}{broker.pid:<20}".encode(), 0)
    return broker


def _die_with(parent: int) -> Callable[[], None]:
    """What the child does before it becomes the broker: ask Linux to be killed when `parent` ends."""
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
