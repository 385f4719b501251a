"""When each panel of the page had something to show for the first time."""

from __future__ import annotations

from collections.abc import Sequence

from headrace_fraud.page.board import Board
from headrace_fraud.page.control import JobStatus

PANELS = ("alerts", "windows", "alerts_by_rule", "top_merchants", "parquet", "database")
_STORES = {"parquet": ("parquet",), "database": ("alerts", "windows")}  # and the queries of the job `store` that write there


class Panels:
    """`look` every so often; times are seconds since 1970."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._since: dict[str, float] = {}

    def look(self, now: float, jobs: Sequence[JobStatus]) -> None:
        if len(self._since) < len(PANELS):
            for panel in self._alive(jobs):
                self._since.setdefault(panel, now)

    def report(self) -> dict[str, float | None]:
        """Seconds from the first decision on; None for one that never had any."""
        first = self._board.latency()["first"]
        return {panel: round(max(0.0, self._since[panel] - first), 1) if first and panel in self._since else None for panel in PANELS}

    def _alive(self, jobs: Sequence[JobStatus]) -> list[str]:
        windows = self._board.windows()
        written = {batch["query"]: batch["written"] for job in jobs if job.name == "store" for batch in job.progress}
        shows = {
            "alerts": self._board.alerts_seen,
            "windows": len(windows["minutes"]),
            "alerts_by_rule": sum(minute["flagged"] for minute in windows["minutes"]),
            "top_merchants": len(windows["merchants"]),
            **{store: sum(written.get(query, 0) for query in queries) for store, queries in _STORES.items()},
        }
        return [panel for panel in PANELS if shows[panel]]
