"""What a running job shows: numbers that fit the terminal, what happens to it, and how it stops."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Sequence
from dataclasses import replace

import pytest
from rich.console import Console
from rich.text import Text

from headrace.cli import live
from headrace.cli.view import View, outages
from headrace.planning.table import Mode
from headrace.run.reports import watching
from headrace.run.reports.messages import Notice
from headrace.run.reports.snapshots import Snapshot

TOTALS = Snapshot(
    query="totals", batch=7, late_rows=2, rate=1500.4, latency_ms=2003.0, latency_p99_ms=12011.0, lag=1234567, seconds=2.0, saved=12.3,
    state_rows=12345, state_bytes=6789000, watermark="2026-01-01T00:00:00.000Z",
)  # fmt: skip
NEW = Snapshot(query="letters", batch=0, late_rows=0)


def shown(width: int, mode: Mode, *queries: Snapshot, news: Sequence[Text] = ()) -> list[str]:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(View("payments", mode, ("totals: exactly-once", "Ctrl-C stops it"))(width, "running", queries, news))
    return [line.rstrip() for line in console.export_text().splitlines()]


def test_a_wide_terminal_has_every_number_in_one_line() -> None:
    assert shown(160, "micro-batch", TOTALS, NEW) == [
        "payments, micro-batch  running",
        "output   batch  records/s     behind  batch took  latency p50 / p99              state            watermark  too late",
        "totals       7      1,500  1,234,567      2.00 s  2,003 / 12,011 ms  12,345 rows, 7 MB  2026-01-01 00:00:00    2 rows",
        "letters      0          –          –           –                  –",
        "totals: exactly-once",
        "Ctrl-C stops it",
    ]


def test_at_80_columns_nothing_is_cut_and_the_rest_goes_below() -> None:
    assert shown(80, "micro-batch", TOTALS, NEW) == [
        "payments, micro-batch  running",
        "output   batch  records/s     behind  batch took  latency p50 / p99",
        "totals       7      1,500  1,234,567      2.00 s  2,003 / 12,011 ms",
        "letters      0          –          –           –                  –",
        "  totals: state 12,345 rows, 7 MB",
        "  totals: watermark 2026-01-01 00:00:00",
        "  totals: too late 2 rows",
        "totals: exactly-once",
        "Ctrl-C stops it",
    ]


@pytest.mark.parametrize("width", [80, 100, 160])
@pytest.mark.parametrize("mode", ["micro-batch", "real-time"])
def test_no_line_is_longer_than_the_terminal_and_no_number_is_cut(width: int, mode: Mode) -> None:
    name = "good+bad+letters-of-a-very-long-name-that-does-not-fit"
    lines = shown(width, mode, replace(TOTALS, query=name))
    assert max(map(len, lines)) <= width
    assert "".join(lines).count("…") == 0
    for number in ("7", "1,500", "1,234,567", "2,003 / 12,011 ms", "12,345", "2026-01-01"):
        assert any(number in line for line in lines)


def test_real_time_says_when_it_saved_last() -> None:
    header, totals, letters = shown(80, "real-time", TOTALS, NEW)[1:4]
    assert "saved" in header
    assert "12 s ago" in totals
    assert "not yet" in letters


def test_what_no_query_has_is_not_shown() -> None:
    text = "\n".join(shown(160, "micro-batch", replace(TOTALS, state_rows=0, late_rows=0, watermark=None)))
    assert "state" not in text
    assert "too late" not in text
    assert "watermark" not in text


GONE = Notice("payments", "unreachable", "Kafka at host:1", "2026-01-01T00:00:00.000Z")
BACK = Notice("payments", "reachable", "Kafka at host:1", "2026-01-01T00:00:12.000Z", 12.0)
ELSEWHERE = replace(GONE, what="Kafka at host:2")


@pytest.mark.parametrize(
    ("notices", "shown_now"),
    [([], []), ([GONE], [str(GONE)]), ([GONE, BACK], []), ([GONE, BACK, ELSEWHERE, GONE], [str(GONE), str(ELSEWHERE)])],
)
def test_what_does_not_answer_is_shown_until_it_does(notices: list[Notice], shown_now: list[str]) -> None:
    lines = shown(80, "micro-batch", TOTALS, news=outages(notices))
    assert [line for line in lines if "Kafka" in line] == shown_now


class Job:
    """What is asked of a running job."""

    def __init__(self, *notices: Notice) -> None:
        self.notices = list(notices)

    def news(self) -> list[object]:
        return []


def test_what_happens_to_a_job_is_a_line_of_json_each(capsys: pytest.CaptureFixture[str]) -> None:
    job, lines = Job(GONE), live._Lines("payments")
    lines.now(job)  # type: ignore[arg-type]
    job.notices.append(BACK)
    for left in (30.0, 29.7):
        lines.now(job, left)  # type: ignore[arg-type]
    lines.stopped(job, saved=True)  # type: ignore[arg-type]
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [
        {"job": "payments", "event": "unreachable", "what": "Kafka at host:1", "at": "2026-01-01T00:00:00.000Z", "seconds": None},
        {"job": "payments", "event": "reachable", "what": "Kafka at host:1", "at": "2026-01-01T00:00:12.000Z", "seconds": 12.0},
        {"job": "payments", "event": "stopping", "seconds_left": 30},
        {"job": "payments", "event": "stopped", "saved": True},
    ]


def test_what_the_view_shows_is_not_logged_until_it_is_over() -> None:
    log = logging.getLogger(watching.__name__)
    with live.shown_in_another_way():
        assert log.disabled
    assert not log.disabled
