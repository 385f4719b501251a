"""A Spark cluster on this machine, for trying what a job does on one: Spark's own, standalone, on the loopback interface.

It is there from `up` to `down`. A master or worker that dies is started again (see `supervisor.py`). Who may send it work must know its
secret, which is in a file for its owner only: else every user of the machine could run programs as its owner.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.embedded import java, places, spark
from headrace.embedded.kept import Kept, Part
from headrace.errors import SetupError

_HOST = "127.0.0.1"
_SMALL = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"]
_GLANCE = 0.1
_PATIENCE = 1.0


@dataclass(frozen=True)
class Cluster:
    """A running cluster: the address of its `master`, which `--master` takes, its `page`, how many `workers` and task `slots` are there now
    and how many of these are `taken`, and where its `logs` are."""

    master: str
    page: str
    workers: int
    slots: int
    taken: int
    logs: Path


def up(*, workers: int = 2, cores: int = 4, memory: str = "1g") -> Cluster:
    """Start the cluster, if need be, and keep it until `down`. `cores` are the task slots of each worker, `memory` is for its executors."""
    kept = _kept()
    kept.share()  # until this process ends: a start that is interrupted leaves nothing
    with kept.alone:
        there = _status(kept)
        if there is None:
            kept.stop()  # what a killed starter may have left half started
            there = _start(kept, workers, cores, memory)
        elif (there.workers, there.slots) != (workers, workers * cores):
            raise SetupError(
                f"the cluster already runs at {there.master}, with {there.workers} worker(s) and {there.slots} task slots",
                fix="use it as it is, or run `headrace cluster down` first",
            )
        kept.keep()
        return there


def status() -> Cluster | None:
    """The cluster, if it runs."""
    return _status(_kept())


def down() -> bool:
    """Stop the cluster, and with it what runs there. False if none runs."""
    kept = _kept()
    with kept.alone:
        stopped = kept.stop()
        for directory in ("work", "scratch"):
            shutil.rmtree(kept.home / directory, ignore_errors=True)
        return stopped


def is_ours(master: str) -> bool:
    """Whether this is the address of the cluster of this machine."""
    return master.startswith(f"spark://{_HOST}:") and (_kept().address or {}).get("master") == master


def access() -> dict[str, str]:
    """The settings of Spark's with which a program may use it."""
    lines = (_kept().home / "access.conf").read_text().splitlines()
    return dict(line.split(" ", 1) for line in lines)


def _kept() -> Kept:
    return Kept(places.writable(places.data() / "cluster"), "the Spark cluster", "headrace cluster down", "mend what the log says")


def _start(kept: Kept, workers: int, cores: int, memory: str) -> Cluster:
    port, page = _ports()
    (kept.home / "access.conf").unlink(missing_ok=True)
    with os.fdopen(os.open(kept.home / "access.conf", os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        file.write(f"spark.authenticate true\nspark.authenticate.secret {secrets.token_urlsafe(32)}\n")
    for log in kept.home.glob("*.log"):
        log.unlink()
    master, common = f"spark://{_HOST}:{port}", ["--host", _HOST, "--properties-file", str(kept.home / "access.conf")]
    size = ["--cores", str(cores), "--memory", memory, "--work-dir", str(kept.home / "work")]
    parts = [
        Part("master", _java("master.Master", *common, "--port", str(port), "--webui-port", str(page))),
        *(
            Part(f"worker-{n}", _java("worker.Worker", *common, "--port", "0", "--webui-port", "0", *size, master), port)
            for n in range(1, workers + 1)
        ),
    ]
    address = {"master": master, "page": f"http://{_HOST}:{page}"}

    def answers() -> bool:
        time.sleep(_GLANCE)
        state = _state(address["page"])
        return state is not None and state.get("aliveworkers") == workers

    kept.start(parts, address, answers, _environment(kept.home))
    there = _status(kept)
    assert there is not None
    return there


def _java(name: str, *arguments: str) -> list[str]:
    return java.find().command(*_SMALL, "-cp", f"{spark.jars()}/*", f"org.apache.spark.deploy.{name}", *arguments)


def _environment(home: Path) -> dict[str, str]:
    """What executors get: the Java of this machine and the loopback interface, and nothing of Python's or Spark's from this process."""
    foreign = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_", "PYTHON"))}
    return foreign | {
        "JAVA_HOME": str(java.find().for_spark()),
        "SPARK_HOME": str(spark.jars().parent),
        "SPARK_SCALA_VERSION": "2.13",  # else the worker looks for it among the directories of a build
        "SPARK_LOCAL_IP": _HOST,
        "SPARK_LOCAL_DIRS": str(home / "scratch"),
    }


def _status(kept: Kept) -> Cluster | None:
    address = kept.address
    if address is None:
        return None
    state = _state(address["page"]) or {}
    slots, taken = (int(state.get(name, 0)) for name in ("cores", "coresused"))
    return Cluster(address["master"], address["page"], int(state.get("aliveworkers", 0)), slots, taken, kept.home)


def _state(page: str) -> Mapping[str, Any] | None:
    """What the master tells of itself; none if it does not answer."""
    try:
        with _DIRECT.open(f"{page}/json/", timeout=_PATIENCE) as answer:
            state: dict[str, Any] = json.load(answer)
            return state
    except (OSError, ValueError):
        return None


_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Not by a proxy, which a machine may have for other addresses."""


def _ports() -> tuple[int, int]:
    """Two ports that are free now."""
    with socket.socket() as first, socket.socket() as second:
        for one in (first, second):
            one.bind((_HOST, 0))
        return first.getsockname()[1], second.getsockname()[1]
