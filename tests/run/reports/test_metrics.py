"""The numbers of a job for Prometheus, and whether it is well."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

import headrace as hr
from headrace.errors import DefinitionError, SetupError
from headrace.run.reports.messages import Notice
from headrace.run.reports.metrics import served
from headrace.run.reports.snapshots import Snapshot

QUERY = Snapshot(
    "alerts", batch=7, late_rows=3, rows_in=1200, rate=50.0, latency_ms=8.0, latency_p99_ms=20.0, watermark="1970-01-01T00:01:00.000Z"
)


@dataclass
class Job:
    """A job as it is seen from outside."""

    state: str = "running"
    notices: list[Notice] = field(default_factory=list)
    job: str = "bank"
    mode: str = "real-time"

    def snapshot(self) -> list[Snapshot]:
        return [QUERY]


def page(port: int, path: str) -> str:
    with urlopen(f"http://127.0.0.1:{port}{path}") as answer:
        return str(answer.read().decode())


def numbers(text: str) -> dict[str, float]:
    return {name: float(value) for name, value in re.findall(r"^(\w+)\{.*\} (\S+)$", text, re.MULTILINE)}


def test_each_number_that_is_known_is_a_series() -> None:
    with served(Job(), 0) as port:
        text = page(port, "/metrics")
    assert 'headrace_records_total{job="bank",query="alerts"} 1200.0' in text
    assert numbers(text) == {
        "headrace_up": 1, "headrace_unreachable": 0, "headrace_records_total": 1200, "headrace_late_rows_total": 3, "headrace_batch": 7,
        "headrace_records_per_second": 50, "headrace_latency_p50_seconds": 0.008, "headrace_latency_p99_seconds": 0.02,
        "headrace_state_rows": 0, "headrace_state_bytes": 0, "headrace_watermark_seconds": 60,
    }  # fmt: skip


@pytest.mark.parametrize(("state", "status", "up"), [("running", 200, 1), ("stopping", 200, 1), ("failed", 503, 0), ("ended", 503, 0)])
def test_a_job_is_well_as_long_as_it_runs(state: str, status: int, up: float) -> None:
    away = Notice.of_outage("bank", "Kafka at host:1")
    with served(Job(state, [away]), 0) as port:
        assert numbers(page(port, "/metrics"))["headrace_up"] == up
        try:
            answered, words = 200, page(port, "/health")
        except HTTPError as error:
            answered, words = error.code, error.read().decode()
    assert (answered, json.loads(words)["state"], json.loads(words)["unreachable"]) == (status, state, ["Kafka at host:1"])


def test_a_port_that_is_taken_or_is_none_is_refused_in_words() -> None:
    with served(Job(), 0) as port, pytest.raises(SetupError) as taken, served(Job(), port):
        pass
    assert f"port {port} cannot be had" in taken.value.what
    with pytest.raises(DefinitionError) as wrong, served(Job(), 70_000):
        pass
    assert "from 0 to 65535" in wrong.value.fix


@pytest.mark.usefixtures("spark")
def test_a_running_job_has_its_numbers_there() -> None:
    job = hr.Job("numbers", hr.read.memory("n int", [(1,), (2,)], [(3,)]).to.memory())
    with job.start("micro-batch") as running, running.metrics(0) as port:
        running.process_all()
        assert numbers(page(port, "/metrics"))["headrace_records_total"] == 3
        assert json.loads(page(port, "/health"))["state"] == "running"
