"""A real Kafka broker for one machine: one process, loopback only, its data in the user's directory, never left behind.

    >>> bootstrap = ensure()                        # "127.0.0.1:43121": at once if it runs, in seconds if not

Whoever calls `ensure` owns a share of the broker for as long as its process lives; when the last one is gone, however it went, the broker
stops (see `supervisor.py`). `up` keeps it until `down`. The next broker listens where the last one did, if that port is still free, so that
a program with the address goes on. With the environment variable HEADRACE_KAFKA set to the address of a broker, `ensure` returns that and
starts nothing.

What the broker does not do: it has one node, so nothing is replicated; it creates no topic by itself, so that a misspelt name is an error.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

from headrace.embedded import broker, locks, places
from headrace.errors import SetupError

ADDRESS = "HEADRACE_KAFKA"

_START_SECONDS = 90.0
_STOP_SECONDS = 30.0
_shares: dict[Path, int] = {}


@dataclass(frozen=True)
class Broker:
    """A running embedded broker: its `bootstrap` address, where its `data` and `log` are, and whether it is `kept` without users."""

    bootstrap: str
    data: Path
    log: Path
    kept: bool


def ensure() -> str:
    """The bootstrap address of a broker that works: the configured one, else the embedded one, started if it does not run."""
    return os.environ.get(ADDRESS) or _share().bootstrap


def up(*, port: int | None = None) -> Broker:
    """Start the embedded broker, if need be, and keep it until `down`. A `port` makes its address predictable."""
    running = _share(port)
    if port is not None and running.bootstrap != broker.address(port):
        raise SetupError(
            f"the embedded broker already runs at {running.bootstrap}", fix="use that address, or run `headrace kafka down` first"
        )
    (_home() / "keep").touch()
    return replace(running, kept=True)


def status() -> Broker | None:
    """The embedded broker, if it runs."""
    return _status(_home())


def down() -> bool:
    """Stop the embedded broker, also under the hands of those who use it. False if none runs."""
    home = _home()
    with locks.exclusive(home / "start.lock"):
        return _stop(home)


def _home() -> Path:
    return places.writable(places.data() / "kafka")


def _share(port: int | None = None) -> Broker:
    home = _home()
    if home not in _shares:  # waits while a broker that nobody used any more is being stopped
        _shares[home] = locks.share(home / "users.lock")
    with locks.exclusive(home / "start.lock"):
        running = _status(home)
        if running is None:
            _stop(home)  # what a killed starter may have left half started
            return _start(home, port)
        if not _answers(running.bootstrap, home):
            raise _failed(home)
        return running


def _status(home: Path) -> Broker | None:
    if not locks.held(home / "supervisor.lock"):
        return None
    try:
        bootstrap = json.loads((home / "broker.json").read_text())["bootstrap"]
    except FileNotFoundError:  # starting, or stopping
        return None
    return _broker(home, bootstrap)


def _broker(home: Path, bootstrap: str) -> Broker:
    return Broker(bootstrap, home / "log", home / "broker.log", (home / "keep").exists())


def _start(home: Path, port: int | None) -> Broker:
    (home / "broker.json").unlink(missing_ok=True)
    (home / "keep").unlink(missing_ok=True)
    bootstrap, command = broker.prepare(home, port)
    supervisor = [sys.executable, str(Path(__file__).with_name("supervisor.py")), str(home), *command]
    done = subprocess.run(supervisor, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SetupError(f"the Kafka broker did not start: {done.stderr.strip()}", fix="run `headrace kafka down`, then try again")
    if not _answers(bootstrap, home):  # only then is it there for others, and worth to be started again
        raise _failed(home)
    draft = home / f"broker.json.{os.getpid()}"
    draft.write_text(json.dumps({"bootstrap": bootstrap}))
    draft.rename(home / "broker.json")
    return _broker(home, bootstrap)


def _answers(bootstrap: str, home: Path) -> bool:
    """Wait until the broker serves a client; False if it dies, or takes too long."""
    from confluent_kafka import KafkaException  # a while to import, and all that do not start a broker import this module
    from confluent_kafka.admin import AdminClient

    client = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0, "reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 100})
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and locks.held(home / "supervisor.lock"):
        try:
            if client.list_topics(timeout=0.25).brokers:
                return True
        except KafkaException:
            continue
    return False


def _failed(home: Path) -> SetupError:
    _stop(home)
    return SetupError(
        f"the Kafka broker did not start: {broker.last_words(home)} Its log: {home / 'broker.log'}",
        fix=f"mend what the log says; if its files are damaged, move {home / 'log'} away (all topics are in it)",
    )


def _stop(home: Path) -> bool:
    alive = home / "alive.lock"
    if not locks.held(alive):
        return False
    for signum in (signal.SIGTERM, signal.SIGKILL):
        for pid in _pids(alive):
            _signal(pid, signum, home)
        deadline = time.monotonic() + _STOP_SECONDS
        while time.monotonic() < deadline:
            if not locks.held(alive):
                (home / "broker.json").unlink(missing_ok=True)
                return True
            time.sleep(0.05)
    raise SetupError(f"the Kafka broker in {home} does not stop", fix=f"end the processes {_pids(alive)} yourself")


def _pids(alive: Path) -> list[int]:
    """The supervisor's and the broker's, as the holder of the lock wrote them."""
    return [int(pid) for pid in alive.read_text().split()]


def _signal(pid: int, signum: signal.Signals, home: Path) -> None:
    import psutil  # a while to import

    with contextlib.suppress(psutil.Error):  # it is gone
        process = psutil.Process(pid)
        # The pid may be another process by now: only one that works on this directory is signalled.
        if any(str(home) in part for part in process.cmdline()):
            process.send_signal(signum)
