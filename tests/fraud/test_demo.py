"""The whole demo, as a visitor runs it, with the decision job's driver killed in the middle."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import HTTPCookieProcessor, Request, build_opener

import psutil
import pytest

from headrace import HeadraceError
from headrace.embedded import kafka
from headrace_fraud.asking.query import query
from headrace_fraud.deciding import topics
from headrace_fraud.deciding.jobs import INPUTS, LEARNING, OUTPUTS
from headrace_fraud.demo import demo, rehearsal
from headrace_fraud.demo.panels import PANELS
from headrace_fraud.demo.worker import MODES, TEMPORARY

COMMAND = [sys.executable, "-c", "from headrace.cli import app; app()", "demo"]
PATIENCE = 900.0
PROMISED = 30.0  # seconds from the first decision to the last panel, on two cores that have nothing else to do

pytestmark = pytest.mark.alone  # two of its jobs take what is left of the processor


class Visitor:
    """A demo that runs, and its page without a browser."""

    def __init__(self, *arguments: str) -> None:
        self._process = subprocess.Popen([*COMMAND, "--no-browser", *arguments], stdout=subprocess.PIPE, text=True, process_group=0)
        assert self._process.stdout is not None
        lines = iter(self._process.stdout.readline, "")
        self.url = next(found[0] for line in lines if (found := re.search(r"http://127\.0\.0\.1:\d+/\S*", line)))
        self._open = build_opener(HTTPCookieProcessor(CookieJar()))
        self._open.open(self.url, timeout=30).read()

    def ask(self, path: str, method: str = "GET") -> Any:
        request = Request(self.url.partition("/?")[0] + path, method=method, headers={"X-Headrace": "1"})
        body = self._open.open(request, timeout=30).read()
        return json.loads(body) if body else None

    def until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, "it did not come to that"
            assert self._process.poll() is None, "the demo has ended"
            time.sleep(0.2)

    def job(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = next(job for job in self.ask("/api/state")["jobs"] if job["name"] == name)
        return found

    def end(self, signum: int | None = None) -> int:
        if signum is not None:
            self._process.send_signal(signum)
        self._process.communicate(timeout=PATIENCE)
        return self._process.returncode

    def children(self) -> list[int]:
        return [job["pid"] for job in self.ask("/api/state")["jobs"] if job["pid"]]


@pytest.fixture
def visit(kafka: str) -> Iterator[Callable[..., Visitor]]:
    visitors: list[Visitor] = []

    def start(*arguments: str) -> Visitor:
        visitors.append(Visitor(*arguments))
        return visitors[-1]

    yield start
    for visitor in visitors:
        with suppress(ProcessLookupError):
            os.killpg(visitor._process.pid, signal.SIGKILL)
    topics.remove(kafka, topics.existing(kafka) & {*INPUTS, *OUTPUTS})  # a demo leaves them, and other tests have some of that name


def alive(pid: int) -> bool:
    with suppress(psutil.NoSuchProcess):
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    return False


def test_a_killed_driver_comes_back_and_nothing_is_lost(visit: Callable[..., Visitor], tmp_path: Path) -> None:
    file = tmp_path / "demo.json"
    visitor = visit("--seconds", "45", "--rate", "100", "--json", str(file))
    visitor.until(lambda: visitor.ask("/api/state")["totals"]["decided"] > 200)
    before = visitor.job("decide")
    assert (before["mode"], before["state"]) == ("real-time", "running")
    visitor.ask("/api/jobs/decide/kill", "POST")
    visitor.until(lambda: visitor.job("decide")["restarts"] == 1)
    visitor.until(lambda: visitor.job("decide")["state"] == "running")
    pids = visitor.children()
    assert visitor.end() == 0

    found = json.loads(file.read_text())
    assert found["conserved"] is True
    assert found["sent"] == found["decided"] + found["duplicates"] + found["dead_letters"] > 3_000
    assert set(found["latency_ms"]) == set(found["latency_between_batch_ends_ms"]) == {"p50", "p95", "p99", "p99.9", "max"}
    assert set(found["panels_after_first_decision_s"]) == set(PANELS)
    assert set(found["rules"]) == {"velocity", "amount", "location"}
    assert found["peak_memory_mb"] > 500
    assert not [pid for pid in pids if alive(pid)]
    with pytest.raises(URLError):
        visitor.ask("/api/state")
    alerts = query(str(demo.place() / "fraud.db"), "SELECT count(*) FROM alerts").rows[0][0]
    assert alerts == found["flagged"] > 0
    stored = query(
        str(demo.place() / "fraud.db"), "SELECT count(*), count(DISTINCT id) FROM decisions", decisions=demo.place() / "decisions"
    )
    assert tuple(stored.rows[0]) == (found["decided"], found["decided"])


def test_the_first_record_finds_all_jobs_warm_and_panels_come_alive(visit: Callable[..., Visitor], kafka: str, tmp_path: Path) -> None:
    """And Ctrl-C then ends the demo in order, and leaves nothing behind."""
    file = tmp_path / "demo.json"
    visitor = visit("--rate", "100", "--warm-up", "5", "--json", str(file))
    visitor.until(lambda: visitor.ask("/api/state")["totals"]["sent"] > 0)
    jobs = visitor.ask("/api/state")["jobs"]
    assert {job["name"]: (job["state"], job["restarts"]) for job in jobs} == dict.fromkeys(MODES, ("running", 0))
    assert not [topic for topic in topics.existing(kafka) if topic.startswith(rehearsal.PREFIX)]

    visitor.until(lambda: all(alive_panels(visitor.ask("/api/state")).values()))
    visitor.until(lambda: visitor.ask("/api/state")["latency"]["steady"]["count"] > 0)
    pids = visitor.children()
    temporary = demo.place() / TEMPORARY
    assert any(temporary.iterdir())
    assert visitor.end(signal.SIGINT) == 0
    assert not [pid for pid in pids if alive(pid)]
    assert not temporary.exists()

    found = json.loads(file.read_text())
    assert found["conserved"] is True
    assert None not in (found[f"latency_{part}ms"]["p99"] for part in ("", "warm_up_", "overall_"))
    after = found["panels_after_first_decision_s"]
    assert set(after) == set(PANELS)
    assert max(after.values()) < PROMISED * 3, after


@pytest.mark.soak
def test_with_a_model_each_decision_is_scored_once_also_when_its_driver_is_killed(visit: Callable[..., Visitor], tmp_path: Path) -> None:
    file = tmp_path / "demo.json"
    visitor = visit("--rate", "100", "--seconds", "60", "--model", "--json", str(file))
    visitor.until(lambda: visitor.ask("/api/state")["model"]["scored"] > 500)
    visitor.ask("/api/jobs/learn/kill", "POST")
    assert visitor.end() == 0
    found = json.loads(file.read_text())
    late = found["decided"] - found["model"]["scored"]  # what was sent more than four minutes after its time
    assert found["conserved"] is True
    assert 0 <= late < 0.01 * found["decided"]
    assert found["model"]["frauds"] > 0
    assert found["model"]["rules"]["alerts"] == pytest.approx(found["flagged"], abs=late)


def alive_panels(state: dict[str, Any]) -> dict[str, bool]:
    """As the browser has them."""
    stores = {name: query["written"] for job in state["jobs"] if job["name"] == "store" for name, query in job["queries"].items()}
    return {
        "alerts": bool(state["alerts"]),
        "alerts by rule": any(minute["flagged"] for minute in state["windows"]["minutes"]),
        "top merchants": bool(state["windows"]["merchants"]),
        "Parquet": stores.get("parquet", 0) > 0,
        "database": stores.get("alerts", 0) + stores.get("windows", 0) > 0,
    }


def test_topics_that_no_demo_made_are_left_alone(kafka: str, tmp_path: Path) -> None:
    place = tmp_path / "fraud-demo"
    there = topics.existing(kafka) & {"transactions"}
    if not there:
        topics.create(kafka, ["transactions"], partitions=1)
    try:
        with pytest.raises(HeadraceError) as error:
            demo._fresh(place, kafka)
        assert "the broker has topics that the demo did not make" in error.value.what
        assert "transactions" in topics.existing(kafka)
    finally:
        topics.remove(kafka, ["transactions"])


def test_a_topic_that_another_run_of_the_demo_would_have_made_is_left_alone(kafka: str, tmp_path: Path) -> None:
    """Labels, of a user's own: a demo without a model has made none."""
    place, made = tmp_path / "fraud-demo", [*INPUTS, *OUTPUTS]
    assert not topics.existing(kafka) & {*made, *LEARNING}
    try:
        demo._fresh(place, kafka)
        topics.create(kafka, ["labels"], partitions=1)
        demo._fresh(place, kafka)
        assert "labels" in topics.existing(kafka)
        with pytest.raises(HeadraceError, match="did not make: labels"):
            demo._fresh(place, kafka, (*made, *LEARNING))
        topics.remove(kafka, ["labels"])
        demo._fresh(place, kafka, (*made, *LEARNING))
        demo._fresh(place, kafka)
        assert topics.existing(kafka) & {*made, *LEARNING} == {*made}
    finally:
        topics.remove(kafka, topics.existing(kafka) & {*made, *LEARNING})


def test_the_demo_does_not_touch_a_cluster_of_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(kafka.ADDRESS, "broker.example:9092")
    with pytest.raises(HeadraceError) as error:
        demo._broker()
    assert error.value.what == "HEADRACE_KAFKA is set, and the demo makes and removes topics"
