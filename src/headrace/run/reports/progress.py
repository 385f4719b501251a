"""Progress as plain records."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from headrace.io.kafka.connector import WAITED


@dataclass(frozen=True)
class Progress:
    """One batch of one query.

    job, query      whose it is; a query is named after its outputs
    batch           its number, from 0 on; a job that is started again counts on
    at              when it began, in UTC
    rows_in         records read
    rows_out        rows written, where the sink counts them
    rate            records read a second, while the batch ran
    pace            records read a second of the time since the batch before began; None for the first, which has no such time
    lag             records that are in the log and not yet processed, where the source can say
    seconds         how long the batch took
    state_rows      rows of state, of all keys together
    state_bytes     memory that the state stores take now, as Spark reports it; what is on disk may be more
    late_rows       records that came behind the watermark: those that scans and windows put out of their port `late`, and those that joins
                    of two streams, `dropDuplicates` and Spark's own windows drop
    watermark       event time up to which everything is taken to have arrived; none if there is none, or the input has ended
    latency_ms      median time from when a record was in the log until it was taken up (real-time) or until its batch was done
                    (micro-batch); where the source can say
    latency_p99_ms  the 99th percentile of the same
    """

    job: str
    query: str
    batch: int
    at: str
    rows_in: int
    rows_out: int | None
    rate: float
    pace: float | None
    lag: int | None
    seconds: float
    state_rows: int
    state_bytes: int
    late_rows: int
    watermark: str | None
    latency_ms: float | None
    latency_p99_ms: float | None

    def json(self) -> str:
        """All fields as one line of JSON, as `headrace run --json` prints it."""
        return json.dumps(asdict(self))


def record(job: str, query: str, report: dict[str, Any], *, real_time: bool) -> Progress:
    """Spark's report on a batch, in our words."""
    sources, states, sink = report["sources"], report["stateOperators"], report["sink"]
    rows_in = sum(source["numInputRows"] for source in sources)
    seconds = report["durationMs"].get("triggerExecution", report["batchDuration"]) / 1000
    rows_out = sink.get("numOutputRows", -1)
    median, worst = _latency(report, 0.0 if real_time else seconds * 1000)
    return Progress(
        job=job,
        query=query,
        batch=report["batchId"],
        at=report["timestamp"],
        rows_in=rows_in,
        rows_out=None if rows_out < 0 else rows_out,
        rate=rows_in / seconds if seconds else 0.0,
        pace=report.get("inputRowsPerSecond") or (None if rows_in else 0.0),  # Spark's word for the first is 0
        lag=_lag(sources),
        seconds=seconds,
        state_rows=sum(state["numRowsTotal"] for state in states),
        state_bytes=sum(state["memoryUsedBytes"] for state in states),
        late_rows=sum(state["numRowsDroppedByWatermark"] for state in states),
        watermark=_watermark(report.get("eventTime", {}).get("watermark")),
        latency_ms=median,
        latency_p99_ms=worst,
    )


def _watermark(text: str | None) -> str | None:
    return None if text is None or text.startswith("+") else text  # a year of more than four digits: the end of the input


def _latency(report: dict[str, Any], batch_ms: float) -> tuple[float | None, float | None]:
    """Of several sources, the slower one."""
    observed = [metric["millis"] for name, metric in report.get("observedMetrics", {}).items() if name.startswith(WAITED)]
    known = [waited for waited in observed if waited]
    return (max(w[0] for w in known) + batch_ms, max(w[1] for w in known) + batch_ms) if known else (None, None)


def _lag(sources: list[dict[str, Any]]) -> int | None:
    """Only a source that numbers its records can say how far behind a reader is."""
    known = [lag for lag in map(_behind, sources) if lag is not None]
    return sum(known) if known else None


def _behind(source: dict[str, Any]) -> int | None:
    end, latest, metrics = source.get("endOffset"), source.get("latestOffset"), source.get("metrics") or {}
    if "avgOffsetsBehindLatest" in metrics:  # Kafka, on average over its partitions
        return round(float(metrics["avgOffsetsBehindLatest"]) * sum(len(partitions) for partitions in (end or {}).values()))
    if isinstance(end, dict) and isinstance(latest, dict) and "position" in latest:  # a receiver
        return int(latest["position"]) - int(end["position"])
    return None
