"""A password and card numbers that are planted where they belong are found nowhere else, whatever happens to the job."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pyarrow.parquet
import pytest
from confluent_kafka import Producer
from tests.fraud import postgres
from tests.fraud.canary import BOOM
from tests.fraud.postgres import Server
from tests.waiting import eventually

import headrace as hr
from headrace.embedded import places

pytestmark = pytest.mark.faults

PROGRAM = Path(__file__).with_name("canary.py")
PATIENCE = 200
PASSWORD = "canary-hunter2"
CARDS = ["4556737586899855", "4024 0071 4424 2391", "5425-2334-3010-9903", "2720992593319364", "6011000990139424"]
VALID = {"type": "transaction", "amount": 12.5, "merchant": "m", "lat": 59.3, "lon": 18.1, "ts": "2026-02-02T02:40:00Z"}

# (what is sent, whether it is decided on): cards where they are masked, and in records that are refused
LINES = [
    (json.dumps({**VALID, "tx_id": "t1", "customer": "ann", "card": CARDS[0]}), True),
    (json.dumps({**VALID, "tx_id": "t2", "customer": "bob", "card": CARDS[1], "note": CARDS[3]}), True),
    (json.dumps({**VALID, "tx_id": "t3", "customer": "bob", "card": CARDS[2], "amount": -1}), False),
    (f"{{{CARDS[3]} is no JSON {CARDS[4]}", False),
    (json.dumps({**VALID, "tx_id": int(CARDS[4]), "customer": "eve", "card": None}), False),
]  # fmt: skip
FAILING = json.dumps({**VALID, "tx_id": "t4", "customer": BOOM, "card": CARDS[0]})
LAST = json.dumps({**VALID, "tx_id": "t5", "customer": "ann", "card": CARDS[0]})


def planted() -> dict[str, bytes]:
    """What is looked for."""
    plain = [card.replace(" ", "").replace("-", "") for card in CARDS]
    return {what: what.encode() for what in [*CARDS, *plain, PASSWORD, postgres.PASSWORD, postgres._ESCAPED]}


def found(what: str, content: bytes) -> list[str]:
    return [f"{needle} in {what}" for needle, needed in planted().items() if needed in content]


def in_files(directory: Path) -> Iterator[str]:
    """In all files below, also in what is packed in them; also in their names."""
    for file in directory.rglob("*"):
        yield from found(f"the name of {file}", str(file).encode())
        if not file.is_file():
            continue
        yield from found(str(file), file.read_bytes())
        if file.suffix == ".zip":
            with zipfile.ZipFile(file) as packed:
                yield from (each for name in packed.namelist() for each in found(f"{file}: {name}", packed.read(name)))
        if file.suffix == ".parquet":
            yield from found(f"the rows of {file}", str(pyarrow.parquet.read_table(file).to_pylist()).encode())


class Process:
    """The job, as `headrace run` starts it, in a home of its own."""

    def __init__(self, home: Path, kafka: str, url: str, prefix: str, **env: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        command = [sys.executable, "-c", "from headrace.cli import app; app()", "run", str(PROGRAM), "--json", "--metrics", str(self.port)]
        command += ["--set", f"prefix={prefix}", "--set", f"place={home / 'place'}", "--conf", f"spark.local.dir={home / 'spark'}"]
        (home / "data").mkdir(exist_ok=True)
        if not (cache := home / "data" / "cache").exists():
            cache.symlink_to(places.cache(), target_is_directory=True)
        environment = {"HEADRACE_KAFKA": kafka, "HEADRACE_HOME": str(home / "data"), "CANARY_PASSWORD": PASSWORD, "CANARY_DATABASE": url}
        with (home / "output").open("ab") as output:
            self.process = subprocess.Popen(
                command, stdout=output, stderr=subprocess.STDOUT, cwd=home, env=os.environ | environment | env, start_new_session=True
            )

    def pages(self) -> bytes:
        return b"".join(urllib.request.urlopen(f"http://127.0.0.1:{self.port}/{page}", timeout=30).read() for page in ("metrics", "health"))

    def java(self) -> psutil.Process:
        children = psutil.Process(self.process.pid).children(recursive=True)
        return next(child for child in children if child.name() == "java")

    def command_lines(self) -> bytes:
        parent = psutil.Process(self.process.pid)
        return str([process.cmdline() for process in (parent, *parent.children(recursive=True))]).encode()

    def end(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def test_a_secret_and_card_numbers_are_found_nowhere_but_where_they_were_planted(
    postgres_server: Server, kafka: str, topic: Callable[..., str], tmp_path: Path
) -> None:
    prefix = f"{topic()}-"
    hr.topics.create(*(f"{prefix}{name}" for name in ("transactions", "decisions", "dead-letters")))
    producer = Producer({"bootstrap.servers": kafka, "log_level": 0})

    def send(*lines: str) -> None:
        for line in lines:
            producer.produce(f"{prefix}transactions", line)
        producer.flush()

    def values(name: str) -> list[bytes]:
        return [record.value or b"" for record in hr.topics.read(f"{prefix}{name}", servers=kafka)]

    url, seen = postgres_server.create(), []
    failing = Process(tmp_path, kafka, url, prefix)
    try:
        send(*(line for line, _ in LINES))
        good = sum(decided for _, decided in LINES)
        assert eventually(lambda: (len(values("decisions")), len(values("dead-letters"))) == (good, len(LINES) - good), within=PATIENCE)
        seen += found("a page", failing.pages()) + found("a command line", failing.command_lines())
        send(FAILING)
        assert failing.process.wait(PATIENCE) == 1
    finally:
        failing.end()
    assert "cannot be sent with ***" in (tmp_path / "output").read_text()

    crashing = Process(tmp_path, kafka, url, prefix, CANARY_CALM="yes")
    try:
        send(LAST)
        assert eventually(lambda: any(b'"t5"' in value for value in values("decisions")), within=PATIENCE)
        crashing.java().send_signal(signal.SIGSEGV)
        assert crashing.process.wait(PATIENCE) == 1
    finally:
        crashing.end()
    assert list(tmp_path.glob("**/hs_err_pid*.log"))

    stored = hr.session().read.format("statestore").option("stateVarName", "state")
    state = stored.load(str(next((tmp_path / "place" / "checkpoint").glob("*/checkpoint")))).toPandas()
    seen += found("the state", state.to_string(max_colwidth=None).encode())
    for name in ("decisions", "dead-letters"):
        seen += found(f"the topic {name}", b"\n".join(values(name)))
    assert not [*seen, *in_files(tmp_path)]
    sent = b"\n".join(values("transactions"))
    assert [card for card in CARDS if not found("what was sent", sent) or card.encode() not in sent] == []  # it sees what it looks for
