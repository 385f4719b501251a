"""What is known of a query at this moment: Spark's report on its last batch, and what its records say of the one under way."""

from __future__ import annotations

import json
import time
from collections import Counter, deque
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import takewhile
from typing import Any

from headrace.run.queries import Query
from headrace.run.reports.progress import Progress, record

_WINDOW = 5.0  # seconds


@dataclass(frozen=True)
class Snapshot:
    """One query, now. What is not known is None.

    batch       the batch that it is at; in real time one lasts from save to save
    rate        records a second: of the last seconds in real time, else of the last batch
    latency_ms, latency_p99_ms   of the same records; what they mean is in `Progress`
    lag, state_rows, state_bytes, watermark   as of the last batch that ended, which took `seconds`
    saved       how many seconds ago that was
    rows_in     records read since the job started, in batches that have ended
    late_rows   records that came too late, since the job started; as in `Progress`
    """

    query: str
    batch: int
    late_rows: int
    rows_in: int = 0
    rate: float | None = None
    latency_ms: float | None = None
    latency_p99_ms: float | None = None
    lag: int | None = None
    seconds: float | None = None
    saved: float | None = None
    state_rows: int = 0
    state_bytes: int = 0
    watermark: str | None = None


_OF_LAST_BATCH = ("lag", "seconds", "state_rows", "state_bytes", "watermark")


@dataclass(frozen=True)
class Pace:
    """Of the records that were taken up in the last seconds."""

    rate: float
    latency_ms: float | None
    latency_p99_ms: float | None


class Pulse:
    """How fast records are taken up, from what has been counted since the start; the last seconds of it, whoever looks how often."""

    def __init__(self) -> None:
        self._looks = deque([(time.monotonic(), Counter[int]())])

    def __call__(self, counted: Counter[int]) -> Pace | None:
        """None as long as nothing was counted: there may be no records, or none that can be counted."""
        if not counted:
            return None
        now = time.monotonic()
        while len(self._looks) > 1 and self._looks[1][0] <= now - _WINDOW:
            self._looks.popleft()
        since, before = self._looks[0]
        self._looks.append((now, counted))
        recent = counted - before
        return Pace(recent.total() / max(now - since, 1e-3), quantile(recent, 0.5), quantile(recent, 0.99))


def quantile(counted: Counter[int], part: float) -> float | None:
    """The least value that is not exceeded by so large a part of them."""
    wanted, seen = part * counted.total(), 0
    for value in sorted(counted):
        seen += counted[value]
        if seen >= wanted:
            return float(value)
    return None


class Observed:
    """A query as one looks at it: what was seen before is remembered."""

    def __init__(self, job: str, query: Query, *, real_time: bool) -> None:
        self._job, self._query, self._real_time = job, query, real_time
        self._pulse, self._news, self._tallied = Pulse(), _Unread(query), _Unread(query)
        self._rows_in = self._late_rows = 0

    def last(self) -> Progress | None:
        """The last batch that was completed."""
        report = self._query.last
        return None if report is None else self._progress(report)

    def news(self) -> list[Progress]:
        """The batches that were completed since the last call."""
        return [self._progress(report) for report in self._news()]

    def now(self) -> Snapshot:
        """Everything that is known, the newest first: in real time a batch, and Spark's report on it, is a minute away."""
        for batch in map(self._progress, self._tallied()):
            self._rows_in += batch.rows_in
            self._late_rows += batch.late_rows
        last = self.last()
        pace = self._pulse(self._query.waited) if self._real_time else None
        pace = pace or (None if last is None else Pace(last.rate, last.latency_ms, last.latency_p99_ms))
        return Snapshot(
            query=self._query.name,
            batch=self._query.batch,
            late_rows=self._late_rows,
            rows_in=self._rows_in,
            **({} if pace is None else asdict(pace)),
            **({} if last is None else {name: getattr(last, name) for name in _OF_LAST_BATCH} | {"saved": _seconds_since_end(last)}),
        )

    def _progress(self, report: Any) -> Progress:
        return record(self._job, self._query.name, json.loads(report.json()), real_time=self._real_time)


class _Unread:
    """Spark's reports on the batches of a query that were not given before, at most the hundred that Spark remembers."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._last: tuple[int, str] | None = None

    def __call__(self) -> list[Any]:
        before = self._last
        unread = list(takewhile(lambda report: _mark(report) != before, self._query.recent))
        if unread:
            self._last = _mark(unread[0])
        return unread[::-1]


def _mark(report: Any) -> tuple[int, str]:
    return report.batchId(), report.timestamp()


def _seconds_since_end(last: Progress) -> float:
    return max(0.0, (datetime.now(UTC) - datetime.fromisoformat(last.at)).total_seconds() - last.seconds)
