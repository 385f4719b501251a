"""When each panel had something to show, on the demo's own clock."""

from __future__ import annotations

from typing import Any

from tests.fraud.test_board import DECISION, put, window

from headrace_fraud.demo.panels import PANELS, Panels
from headrace_fraud.demo.supervisor import _Job
from headrace_fraud.page import Board, JobStatus


def store(**written: int) -> list[JobStatus]:
    progress: list[dict[str, Any]] = [{"query": query, "written": rows} for query, rows in written.items()]
    return [JobStatus("store", "micro-batch", "running", progress=progress)]


def test_a_panel_is_alive_from_when_it_first_has_something_counted_from_the_first_decision() -> None:
    board = Board()
    panels = Panels(board)
    panels.look(99.0, store())
    put(board, "decisions", DECISION, of="transactions/0/0", sent=99_990, read=100_000.0)
    panels.look(100.5, store(parquet=0, alerts=0, windows=0))
    put(board, "alerts", DECISION, of="transactions/0/0", read=101_000.0)
    panels.look(101.0, store(parquet=0, alerts=0, windows=0))
    put(board, "windows", window(0, None, 1, flagged=0))
    panels.look(110.0, store(parquet=1, alerts=0, windows=0))
    put(board, "windows", window(0, "m1", 1))
    put(board, "windows", window(0, None, 2, flagged=1))
    panels.look(112.0, store(parquet=2, alerts=1, windows=0))
    panels.look(130.0, store(parquet=9, alerts=9, windows=9))
    assert panels.report() == {
        "alerts": 1.0,
        "windows": 10.0,
        "alerts_by_rule": 12.0,
        "top_merchants": 12.0,
        "parquet": 10.0,
        "database": 12.0,
    }


def test_a_panel_that_never_had_anything_says_so() -> None:
    assert Panels(Board()).report() == dict.fromkeys(PANELS)


def test_what_a_job_wrote_is_the_sum_of_its_batches_each_counted_once() -> None:
    job = _Job("store")
    written = []
    # Before its first batch, and between two, a query reports the next one as empty; after a crash the last one may come again.
    for batch, rows in [(0, 0), (0, 5), (1, 0), (1, 7), (1, 7), (2, 0), (2, 1)]:
        job.done({"query": "parquet", "batch": batch, "rows_in": rows})
        written.append(job.status().progress[0]["written"])
    assert written == [0, 5, 5, 12, 12, 12, 13]
