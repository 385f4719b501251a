"""How the embedded broker is configured, formatted and run; `kafka.py` decides when."""

from __future__ import annotations

import base64
import re
import socket
import subprocess
import uuid
from pathlib import Path

from headrace.embedded import jars, java
from headrace.embedded.kept import last_words
from headrace.errors import SetupError

_HOST = "127.0.0.1"

# Kafka's defaults are for a cluster. On one node nothing can be replicated, and an internal topic of 50 partitions is 50 directories.
_ONE_NODE = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "auto.create.topics.enable": "false",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "4",
    "group.initial.rebalance.delay.ms": "0",
    # A broker that was killed may come back only when its former self counts as gone.
    "broker.session.timeout.ms": "5000",
    "broker.heartbeat.interval.ms": "1000",
    "log.cleaner.dedupe.buffer.size": "4194304",
    "num.network.threads": "2",
    "num.io.threads": "4",
}


def address(port: int) -> str:
    return f"{_HOST}:{port}"


def prepare(home: Path, port: int | None) -> tuple[str, list[str]]:
    """Write the configuration, format the storage if it is new; the address to be and the command that runs the broker."""
    classpath = f"{jars.broker()[0].parent}/*"
    config = home / "server.properties"
    listener, controller = _ports(port, _former_port(config))
    config.write_text("".join(f"{key}={_escaped(value)}\n" for key, value in _properties(home, listener, controller).items()))
    runtime = java.find()
    log = home / "broker.log"
    if log.exists():
        log.rename(home / "broker.log.1")
    if not (home / "log" / "meta.properties").exists():
        _format(runtime.command("-cp", classpath, "kafka.tools.StorageTool", "format", "-t", _new_id(), "-c", config), log)
    log4j = Path(__file__).with_name("broker-log4j2.properties").as_uri()
    # One thread collects garbage, seldom and briefly: several would wait for each other where there are few cores, and all records for
    # them; and what has lived through two collections is not copied in thirteen more.
    memory = ["-Xms512m", "-Xmx512m", "-Xmn256m", "-XX:+UseSerialGC", "-XX:MaxTenuringThreshold=2"]
    flags = [*memory, "-XX:+ExitOnOutOfMemoryError", f"-Dlog4j2.configurationFile={log4j}"]
    return address(listener), runtime.command(*flags, "-cp", classpath, "kafka.Kafka", config)


def _properties(home: Path, listener: int, controller: int) -> dict[str, str]:
    return _ONE_NODE | {
        "listeners": f"PLAINTEXT://{address(listener)},CONTROLLER://{address(controller)}",
        "advertised.listeners": f"PLAINTEXT://{address(listener)}",
        "controller.quorum.voters": f"1@{address(controller)}",
        "log.dirs": str(home / "log"),
    }


def _escaped(value: str) -> str:
    """As Java reads it from a file of properties: in Latin-1, with other letters, and backslashes, by their number."""
    units = memoryview(value.encode("utf-16-le")).cast("H")
    return "".join(chr(unit) if unit < 128 and unit != ord("\\") else f"\\u{unit:04x}" for unit in units)


def _former_port(config: Path) -> int | None:
    """Where the last broker with these data listened: programs may still have its address."""
    former = re.search(rf"^listeners=PLAINTEXT://{re.escape(_HOST)}:(\d+),", config.read_text(), re.MULTILINE) if config.exists() else None
    return int(former[1]) if former else None


def _ports(asked: int | None, former: int | None) -> tuple[int, int]:
    """Two ports that are free now; the first one as asked for, or the former one if that is free. Both are held until both are known, so
    that they differ."""
    with socket.socket() as listener, socket.socket() as controller:
        for sock in (listener, controller):
            # As Kafka binds: connections of a former broker that linger on the port are no obstacle.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((_HOST, asked or former or 0))
        except OSError as error:
            if asked is not None:
                raise SetupError(
                    f"the Kafka broker cannot listen at {address(asked)}: {error.strerror}",
                    fix="choose another port, or none and let headrace find a free one",
                ) from None
            listener.bind((_HOST, 0))
        controller.bind((_HOST, 0))
        return listener.getsockname()[1], controller.getsockname()[1]


def _format(command: list[str], log: Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        log.write_text(done.stdout + done.stderr)
        raise SetupError(
            f"the Kafka broker's storage could not be made: {last_words(log)} Its log: {log}",
            fix="mend what the log says (no space, no permission?), or set HEADRACE_HOME to another directory",
        )


def _new_id() -> str:
    """A cluster id, in Kafka's spelling of a UUID; never one that begins with a dash, which would read as an option."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "A")
