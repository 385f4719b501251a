"""What headrace needs, what this machine has of it, and what to do about the rest."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from headrace.embedded import jars, java, kafka, places, spark
from headrace.errors import SetupError
from headrace.kernel import build
from headrace.spark import class_archive


@dataclass(frozen=True)
class Finding:
    """One thing that was looked for. `later`: not there yet, comes by itself on first use. `missing`: needs the `fix`."""

    name: str
    state: Literal["found", "later", "missing"]
    detail: str
    fix: str | None = None


def examine() -> list[Finding]:
    """Look at everything; nothing is fetched, compiled or started."""
    return [finding for look in (_python, _spark, _java, _places, _jars, _kernel, _classes, _kafka) for finding in _told(look)]


def _told(look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    try:
        yield from look()
    except SetupError as error:
        yield Finding(look.__name__.removeprefix("_"), "missing", error.what, error.fix)
    except OSError as error:
        fix = "make it readable for you, or set HEADRACE_HOME to a directory of your own"
        yield Finding(look.__name__.removeprefix("_"), "missing", f"{error.filename} cannot be read: {error.strerror}", fix)


def _python() -> Iterator[Finding]:
    yield Finding("python", "found", f"{sys.version.split()[0]} at {sys.executable}")


def _spark() -> Iterator[Finding]:
    yield Finding("spark", "found", f"{spark.version()} at {spark.jars().parent}")


def _java() -> Iterator[Finding]:
    runtime = java.find()
    yield Finding("java", "found", f"{runtime.version} at {runtime.home} (from {runtime.origin})")


def _places() -> Iterator[Finding]:
    yield Finding("cache", "found", str(places.cache()))
    yield Finding("data", "found", str(places.data()))


def _jars() -> Iterator[Finding]:
    for name, meaning in jars.SETS.items():
        if jars.cached(name):
            yield Finding(f"{name} jars", "found", meaning)
        else:
            yield Finding(f"{name} jars", "later", f"{meaning}: fetched on first use, which needs the network once")


def _kernel() -> Iterator[Finding]:
    if build.cached():
        yield Finding("kernel", "found", "compiled")
    else:
        yield Finding("kernel", "later", "compiled on first use, in a few seconds")


def _classes() -> Iterator[Finding]:
    with contextlib.suppress(SetupError):  # what is wrong was found before
        prepared = class_archive.prepared() if build.cached() else None
        if prepared is not None:
            detail = "prepared for faster starts" if prepared else "`headrace prepare` makes later starts faster"
            yield Finding("classes", "found" if prepared else "later", detail)


def _kafka() -> Iterator[Finding]:
    if address := os.environ.get(kafka.ADDRESS):
        try:
            brokers = len(AdminClient({"bootstrap.servers": address, "log_level": 0}).list_topics(timeout=5).brokers)
            yield Finding("kafka", "found", f"{brokers} broker(s) at {address} (from {kafka.ADDRESS})")
        except KafkaException as error:
            fix = f"start it, mend the address, or unset {kafka.ADDRESS} to use the embedded broker"
            yield Finding("kafka", "missing", f"{address} (from {kafka.ADDRESS}) does not answer: {error.args[0].str()}", fix)
    elif running := kafka.status():
        yield Finding("kafka", "found", f"the embedded broker at {running.bootstrap}")
    else:
        yield Finding("kafka", "later", "the embedded broker starts when a command needs it")
