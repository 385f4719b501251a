"""A running job's numbers for Prometheus, and whether it is well: two pages on this machine's own address.

    with job.start("micro-batch") as running, running.metrics(9464):
        running.wait()

http://127.0.0.1:9464/metrics    the numbers of `Snapshot`, one series for each query
http://127.0.0.1:9464/health     200 as long as the job runs, else 503; as JSON its state, and what does not answer
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Protocol

from headrace.definitions import arguments
from headrace.errors import JobError, SetupError
from headrace.run.reports.messages import Notice, unanswered
from headrace.run.reports.snapshots import Snapshot

if TYPE_CHECKING:
    from prometheus_client.core import Metric

_HERE = "127.0.0.1"
_WELL = ("running", "stopping")


class Observable(Protocol):
    """What is asked of a running job."""

    job: str
    mode: str

    @property
    def state(self) -> str: ...
    @property
    def notices(self) -> list[Notice]: ...
    def snapshot(self) -> list[Snapshot]: ...


@dataclass(frozen=True)
class _Number:
    name: str
    help: str
    of: Callable[[Snapshot], float | None]
    total: bool = False


_NUMBERS = (
    _Number("headrace_records", "records read in batches that have ended, since the job started", lambda q: q.rows_in, total=True),
    _Number("headrace_late_rows", "records that came behind the watermark, since the job started", lambda q: q.late_rows, total=True),
    _Number("headrace_batch", "number of the batch under way", lambda q: q.batch),
    _Number("headrace_records_per_second", "records a second: of the last seconds in real time, else of the last batch", lambda q: q.rate),
    _Number("headrace_latency_p50_seconds", "median latency of the same records", lambda q: _seconds(q.latency_ms)),
    _Number("headrace_latency_p99_seconds", "99th percentile of the same", lambda q: _seconds(q.latency_p99_ms)),
    _Number("headrace_lag_records", "records that are in the log and not yet processed", lambda q: q.lag),
    _Number("headrace_batch_seconds", "how long the last batch took", lambda q: q.seconds),
    _Number("headrace_saved_seconds_ago", "time since the last batch ended", lambda q: q.saved),
    _Number("headrace_state_rows", "rows of state of all keys", lambda q: q.state_rows),
    _Number("headrace_state_bytes", "memory that the state stores take", lambda q: q.state_bytes),
    _Number("headrace_watermark_seconds", "event time up to which all is taken to have arrived, since 1970", lambda q: _epoch(q.watermark)),
)  # fmt: skip


class Collector:
    """Asks the job when it is asked itself: nothing is counted twice, and nothing is computed while nobody looks."""

    def __init__(self, running: Observable) -> None:
        self._running = running

    def collect(self) -> Iterator[Metric]:
        """For Prometheus' registry."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        job = self._running.job
        up = GaugeMetricFamily("headrace_up", "1 as long as the job runs", labels=["job", "mode"])
        up.add_metric([job, self._running.mode], float(self._running.state in _WELL))
        yield up
        away = GaugeMetricFamily("headrace_unreachable", "how many of the systems that it reads or writes do not answer", labels=["job"])
        away.add_metric([job], len(unanswered(self._running.notices)))
        yield away
        queries = _snapshots(self._running)
        for number in _NUMBERS:
            family = (CounterMetricFamily if number.total else GaugeMetricFamily)(number.name, number.help, labels=["job", "query"])
            for query in queries:
                if (value := number.of(query)) is not None:
                    family.add_metric([job, query.query], value)
            yield family


def _snapshots(running: Observable) -> Sequence[Snapshot]:
    try:
        return running.snapshot()
    except JobError:  # the JVM is gone; `up` says so
        return []


def _seconds(millis: float | None) -> float | None:
    return None if millis is None else millis / 1000


def _epoch(time: str | None) -> float | None:
    return None if time is None else datetime.fromisoformat(time).timestamp()


def health(running: Observable) -> tuple[int, dict[str, Any]]:
    """The HTTP status and its words. A system that does not answer is told, but is no reason to end a job that waits for it."""
    state = running.state
    words = {
        "job": running.job,
        "mode": running.mode,
        "state": state,
        "unreachable": [notice.what for notice in unanswered(running.notices)],
    }
    return (200 if state in _WELL else 503), words


@contextmanager
def served(running: Observable, port: int) -> Iterator[int]:
    """Serves both pages as long as the block lasts; gives the port, which is a free one for 0."""
    arguments.whole("metrics: port", port, least=0, most=65535)
    try:
        from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
    except ImportError:
        raise SetupError("metrics need prometheus-client, which is not installed", fix="pip install 'headrace[metrics]'") from None
    registry = CollectorRegistry()
    registry.register(Collector(running))

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/metrics":
                self._answer(200, CONTENT_TYPE_LATEST, generate_latest(registry))
            elif self.path == "/health":
                status, words = health(running)
                self._answer(status, "application/json", json.dumps(words).encode())
            else:
                self._answer(404, "text/plain", b"/metrics and /health are here\n")

        def _answer(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Nothing: a scrape every few seconds is no news."""

    try:
        server = ThreadingHTTPServer((_HERE, port), Pages)
    except OSError as error:
        raise SetupError(f"metrics: port {port} cannot be had: {error.strerror}", fix="give another port, or 0 for a free one") from None
    thread = threading.Thread(target=server.serve_forever, name=f"headrace-metrics-{running.job}", daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
