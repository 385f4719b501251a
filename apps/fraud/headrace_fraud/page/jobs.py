"""The jobs as the page shows them: their queries summed up, and how long each took to come back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from headrace_fraud.page.control import Control, JobStatus

_WANTED_DOWN = ("stopping", "stopped")


@dataclass
class _Outage:
    """Since when a job that should run does not; and, once it does again, how long that took."""

    since: float
    killed: bool = False
    took: float | None = None


class Jobs:
    def __init__(self, control: Control) -> None:
        self._control = control
        self._outages: dict[str, _Outage] = {}
        self._restarts: dict[str, int] = {}

    def asked(self, name: str, verb: str, now: float) -> None:
        """A reader gave an order: a kill begins an outage now, and not when it is noticed."""
        if verb == "kill":
            self._outages[name] = _Outage(now, killed=True)

    def shown(self, now: float) -> dict[str, Any]:
        return {"jobs": [self._shown(job, now) for job in self._control.jobs()], "can_kill": self._control.can_kill}

    def _shown(self, job: JobStatus, now: float) -> dict[str, Any]:
        outage = self._watch(job, now)
        return {
            "name": job.name,
            "mode": job.mode,
            "state": job.state,
            "pid": job.pid,
            "restarts": job.restarts,
            "message": job.message,
            **summed(job.progress, now),
            "down_s": None if outage is None or outage.took is not None else round(now - outage.since, 1),
            "back_after_s": None if outage is None or outage.took is None else round(outage.took, 1),
        }

    def _watch(self, job: JobStatus, now: float) -> _Outage | None:
        before = self._restarts.setdefault(job.name, job.restarts)
        outage = self._outages.get(job.name)
        down = job.state in ("restarting", "failed")
        if job.state in _WANTED_DOWN:
            self._outages.pop(job.name, None)
        elif down and (outage is None or outage.took is not None):
            self._outages[job.name] = _Outage(now)
        elif outage and outage.took is None and job.state == "running" and (job.restarts > before or not outage.killed):
            outage.took = now - outage.since
        if job.state == "running" and not (outage and outage.took is None):
            self._restarts[job.name] = job.restarts
        return self._outages.get(job.name)


def summed(records: Sequence[Mapping[str, Any]], now: float) -> dict[str, Any]:
    """Of the queries of a job: what is waiting and kept in sum, the latency of the slowest, the checkpoint that is oldest."""

    def known(name: str) -> list[Any]:
        return [record[name] for record in records if record.get(name) is not None]

    ends = [datetime.fromisoformat(record["at"]).timestamp() + record["seconds"] for record in records if record.get("at")]
    return {
        "batch": max(known("batch"), default=None),
        "rate": sum(known("rate")) if known("rate") else None,
        "lag": sum(known("lag")) if known("lag") else None,
        "state_rows": sum(known("state_rows")) if known("state_rows") else None,
        "state_bytes": sum(known("state_bytes")) if known("state_bytes") else None,
        "late_rows": sum(known("late_rows")) if known("late_rows") else None,
        "p50": max(known("latency_ms"), default=None),
        "p99": max(known("latency_p99_ms"), default=None),
        "watermark": min(known("watermark"), default=None),
        "checkpoint_s": round(max(0.0, now - min(ends)), 1) if ends else None,
        "queries": {record["query"]: {name: record.get(name) for name in ("pace", "lag", "written")} for record in records},
    }
