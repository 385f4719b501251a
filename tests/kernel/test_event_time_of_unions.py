"""Streams that meet: time is what the slowest of them has reached, wherever the program says which column it is."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import headrace as hr
from headrace.errors import DefinitionError
from headrace.fronts.stream import Stream
from headrace.io.memory import MemorySink
from headrace.kernel.event_time import time_columns

pytestmark = pytest.mark.usefixtures("spark")

SCHEMA = "id string, what string, at timestamp"


def at(minutes: float) -> datetime:
    return datetime(2026, 1, 1, 10, tzinfo=UTC) + timedelta(minutes=minutes)


def orders() -> Stream:
    """Hours ahead of the payments."""
    return hr.read.memory(SCHEMA, [("a", "order", at(0))], [("b", "order", at(5)), ("c", "order", at(300))], [("d", "order", at(301))])


def payments() -> Stream:
    made = [("a", "payment", at(1)), ("a", "note", at(2)), ("b", "payment", at(6)), ("a", "note", at(8))]
    return hr.read.memory(SCHEMA, *([payment] for payment in made))


def unpaid(stream: Stream, **options: Any) -> Stream:
    """Rows for records and for orders that were not paid within ten minutes."""
    what = F.when(F.col("what") == "order", F.col("at") + F.expr("interval 10 minutes"))
    return stream.key_by("id").scan(
        event_time="at",
        state={"due": "timestamp", "paid": False},
        update={"due": F.coalesce(what, "state.due"), "paid": F.expr("state.paid or what = 'payment'")},
        output=["id", "what"],
        timer=hr.Timer(at="state.due", when="not state.paid", output=["id", F.lit("unpaid").alias("what")]),
        **options,
    )


def with_time(stream: Stream) -> Stream:
    return stream.event_time("at", "1 minute")


def with_text(stream: Stream) -> Stream:
    return stream.select("id", "what", F.col("at").cast("string").alias("text"))


def renamed(stream: Stream) -> Stream:
    return stream.where("id <> 'none'").select("at", "id", F.upper("what").alias("loud")).select("*", F.lower("loud").alias("what"))


# where the program says which column is the time of orders and payments
UNIONS: dict[str, Callable[[], Stream]] = {
    "of each, before": lambda: unpaid(with_time(orders()).union(with_time(payments()))),
    "of both, behind": lambda: unpaid(with_time(orders().union(payments()))),
    "of both, the slower first": lambda: unpaid(with_time(payments().union(orders()))),
    "in the scan": lambda: unpaid(orders().union(payments()), delay="1 minute"),
    "behind other steps": lambda: unpaid(with_time(renamed(orders().union(payments())))),
    "of a computed column": lambda: unpaid(
        with_time(with_text(orders()).union(with_text(payments())).with_columns(at=F.to_timestamp("text")))
    ),
    "of three": lambda: unpaid(with_time(orders().union(payments()).union(orders()))),
    "of unions": lambda: unpaid(with_time(orders().union(payments()).where("what <> 'x'").union(renamed(orders()).drop("loud")))),
}


def run(stream: Stream) -> tuple[list[tuple[Any, ...]], int]:
    """The rows of a job that has done all there is, and how many records it dropped as late."""
    output = stream.to.memory()
    with hr.Job("union", output, trigger=hr.once, output_mode="append").start() as running:
        running.wait()
        dropped = sum(report.late_rows for report in running.news())
    assert isinstance(output.sink, MemorySink)
    return [tuple(row) for row in output.sink.rows], dropped


def run_with_late(stream: Stream) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """The rows of both ports, main and late, of a job that has done all there is."""
    outputs = stream.to.memory(name="main"), stream.late.to.memory(name="late")
    hr.Job("union", *outputs, trigger=hr.once, output_mode="append").run("micro-batch")
    main, late = ([tuple(row) for row in output.sink.rows] for output in outputs)  # type: ignore[attr-defined]
    return main, late


@pytest.mark.parametrize("case", UNIONS)
def test_no_record_of_the_slower_stream_is_late(case: str) -> None:
    rows, late = run_with_late(UNIONS[case]())
    assert ("a", "payment") in rows  # so far has time come
    assert "unpaid" not in {what for _, what in rows}
    assert late == []


def test_a_window_counts_the_records_of_the_slower_stream() -> None:
    counts = with_time(orders().union(payments())).window(hr.tumbling("5 minutes")).agg(F.count("*").alias("n")).select("n")
    assert run(counts) == ([(3,)], 0)


def test_features_of_a_union_are_of_the_slower_stream_too() -> None:
    featured = orders().union(payments()).key_by("id").with_features(event_time="at", delay="1 minute", before=hr.previous("what"))
    rows, late = run_with_late(featured)
    assert ("b", "payment", "order") in [(id, what, before) for id, what, _, before in rows]
    assert late == []


def test_a_stream_that_is_silent_holds_up_the_time_of_both() -> None:
    assert run(unpaid(with_time(orders().union(hr.read.memory(SCHEMA))))) == ([], 0)


def test_a_part_of_a_source_that_is_silent_holds_up_nothing() -> None:
    source = orders()
    rows, _ = run(unpaid(with_time(source.where("what = 'order'").union(source.where("what = 'never'")))))
    assert sorted(rows) == [("a", "order"), ("a", "unpaid"), ("b", "order"), ("b", "unpaid"), ("c", "order")]


def test_a_source_that_is_united_with_itself_gives_every_record_twice() -> None:
    source = orders()
    rows, _ = run(with_time(source.union(source)).window(hr.tumbling("10 minutes")).agg(F.count("*").alias("n")).select("n"))
    assert rows == [(4,)]


def without_duplicates(stream: Stream) -> Stream:
    return stream.then(DataFrame.dropDuplicates)


REFUSED: dict[str, tuple[Callable[[], Stream], str, str]] = {
    "behind a state": (
        lambda: with_time(without_duplicates(orders().union(payments()))),
        "event_time: union: the streams that met in it have no event_time of their own, and behind Deduplicate it is too late for that",
        "say it of each stream before they meet",
    ),
    "in a scan behind a state": (
        lambda: unpaid(without_duplicates(orders().union(payments()))),
        "scan: union: the streams that met in it have no event_time of their own",
        "say it of each stream before they meet",
    ),
    "of one stream only": (
        lambda: with_time(orders()).union(payments()),
        "union: 'at' is the event time of one stream only",
        '.event_time("at", …) on both before .union',
    ),
    "of the other only": (lambda: orders().union(with_time(payments())), "union: 'at' is the event time of one stream only", "on neither"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_time_that_would_follow_one_stream_is_refused_where_it_is_said(case: str) -> None:
    define, what, fix = REFUSED[case]
    with pytest.raises(DefinitionError) as refused:
        define()
    assert refused.value.what.startswith(what)
    assert fix in refused.value.fix
    assert (refused.value.where or "").startswith(__file__)


def test_a_time_may_be_said_behind_what_is_none_of_these() -> None:
    clocked = orders().union(payments()).key_by("id").scan(state={"n": 0}, update={}, output=["record.*"], idle="1 hour")
    parts = orders()
    for stream in (clocked, without_duplicates(parts.union(parts)), without_duplicates(orders())):
        assert time_columns(with_time(stream).step.preview) == ["at"]
