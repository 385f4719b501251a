"""A real Kafka broker for one machine: one process, loopback only, its data in the user's directory, never left behind.

    >>> bootstrap = ensure()                        # "127.0.0.1:43121": at once if it runs, in seconds if not

Whoever calls `ensure` owns a share of the broker for as long as its process lives; when the last one is gone, however it went, the broker
stops (see `supervisor.py`). `up` keeps it until `down`. The next broker listens where the last one did, if that port is still free, so that
a program with the address goes on. With the environment variable HEADRACE_KAFKA set to the address of a broker, `ensure` returns that and
starts nothing.

What the broker does not do: it has one node, so nothing is replicated; it creates no topic by itself, so that a misspelt name is an error.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from headrace.embedded import broker, places
from headrace.embedded.kept import Kept, Part
from headrace.errors import SetupError

ADDRESS = "HEADRACE_KAFKA"

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
    _kept().keep()
    return replace(running, kept=True)


def status() -> Broker | None:
    """The embedded broker, if it runs."""
    return _status(_kept())


def down() -> bool:
    """Stop the embedded broker, also under the hands of those who use it. False if none runs."""
    kept = _kept()
    with kept.alone:
        return kept.stop()


def _kept() -> Kept:
    home = places.writable(places.data() / "kafka")
    mend = f"mend what the log says; if its files are damaged, move {home / 'log'} away (all topics are in it)"
    return Kept(home, "the Kafka broker", "headrace kafka down", mend)


def _share(port: int | None = None) -> Broker:
    kept = _kept()
    if kept.home not in _shares:
        _shares[kept.home] = kept.share()
    with kept.alone:
        running = _status(kept)
        if running is None:
            kept.stop()  # what a killed starter may have left half started
            return _start(kept, port)
        kept.await_answer(_answers(running.bootstrap))
        return running


def _status(kept: Kept) -> Broker | None:
    address = kept.address
    return None if address is None else _broker(kept, address["bootstrap"])


def _broker(kept: Kept, bootstrap: str) -> Broker:
    return Broker(bootstrap, kept.home / "log", kept.home / "broker.log", kept.is_kept)


def _start(kept: Kept, port: int | None) -> Broker:
    bootstrap, command = broker.prepare(kept.home, port)
    kept.start([Part("broker", command)], {"bootstrap": bootstrap}, _answers(bootstrap))
    return _broker(kept, bootstrap)


def _answers(bootstrap: str) -> Callable[[], bool]:
    """Asks whether the broker serves a client, and waits a moment for it."""
    from confluent_kafka import KafkaException  # a while to import, and all that do not start a broker import this module
    from confluent_kafka.admin import AdminClient

    client = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0, "reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 100})

    def answers() -> bool:
        try:
            return bool(client.list_topics(timeout=0.25).brokers)
        except KafkaException:
            return False

    return answers
