"""A checkpoint goes on in a changed program if its state can; if not, the job says what differs before it starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row
from pyspark.sql import functions as F

import headrace as hr
from headrace.errors import JobError
from headrace.fronts.stream import Stream
from headrace.io.memory import MemorySource
from headrace.planning import plans
from headrace.run.checkpoints import identity
from headrace.run.checkpoints.layouts import Changes
from headrace.run.streaming import noted_steps

Build = Callable[[Stream], Stream]
SCHEMA = "who string, other string, amount int, at timestamp, seen timestamp"

pytestmark = pytest.mark.usefixtures("spark")


def _scan(*, key: str = "who", state: Any = None, **options: Any) -> Build:
    fields = state or {"total": 0}

    def build(payments: Stream) -> Stream:
        update = {name: F.col(f"state.{name}") + F.col("amount") for name in fields}
        output = ["who", *(F.col(f"state.{name}").alias(name) for name in fields)]
        return payments.key_by(key).scan(state=fields, update=update, output=output, **options)

    return build


def _window(length: str, *aggregates: str) -> Build:
    def build(payments: Stream) -> Stream:
        return payments.event_time("at", "1 minute").key_by("who").window(hr.tumbling(length)).agg(*map(F.expr, aggregates))

    return build


def _agg(aggregate: str) -> Build:
    return lambda payments: payments.key_by("who").agg(F.expr(aggregate))


COUNT, SUM = "count(*) as n", "sum(amount) as sum"

TIMER = hr.Timer(at="timestamp_seconds(state.total)")

DIFFERENT: list[tuple[str, Build, Build, str]] = [
    ("key", _scan(), _scan(key="other"), "scan is keyed by other string, and was by who string"),
    ("event_time given", _scan(), _scan(event_time="at"), "scan goes by event_time='at', and went by the order of arrival"),
    ("event_time left out", _scan(event_time="at"), _scan(), "(no event_time=), and went by event_time='at'"),
    ("event_time of another column", _scan(event_time="at"), _scan(event_time="seen"), "event_time='seen', and went by"),
    ("wait", _scan(event_time="at"), _scan(event_time="at", wait=False), "does not wait (wait=False) for the records before"),
    ("timer", _scan(), _scan(timer=TIMER), "scan has a timer= now, and had none"),
    ("no timer", _scan(timer=TIMER), _scan(), "scan has no timer= any more"),
    ("idle", _scan(event_time="at"), _scan(event_time="at", idle="1 hour"), "scan has an idle= now, and had none"),
    ("type", _scan(), _scan(state={"total": 0.0}), "scan: the field 'total' keeps double, and kept int"),
    ("field", _scan(), _scan(state={"sum": 0}), "scan: the field 'total' is gone"),
    ("waiting columns", _scan(event_time="at"), lambda s: _scan(event_time="at")(s.drop("other")), "other is gone"),
    ("window", _window("1 hour", COUNT), _window("2 hours", COUNT), "window: window is "),
    ("aggregates of a window", _window("1 hour", COUNT), _window("1 hour", COUNT, SUM), "is new"),
    ("aggregates", _agg(COUNT), _agg(SUM), "agg computes sum("),
    ("operators", _scan(), _agg(COUNT), "its operators with state are agg, and were a scan"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "now", "words"), [case[1:] for case in DIFFERENT], ids=[case[0] for case in DIFFERENT])
def test_what_differs_is_said_in_the_words_of_the_program(before: Build, now: Build, words: str) -> None:
    payments = hr.read.memory(SCHEMA)
    old, new = before(payments).step, now(payments).step
    states, steps = zip(*([plans.state(step.preview), noted_steps(step)] for step in (old, new)), strict=True)
    differences, _ = identity.of_states(*states, identity.operators(new, states[1]), Changes())
    differences += identity.of_steps(*steps)
    assert words in "; ".join(difference.what for difference in differences)


def test_it_is_said_before_the_job_starts_with_the_line_and_the_way_on(tmp_path: Path) -> None:
    payments = hr.read.memory(SCHEMA)
    hr.Job("changed", _scan()(payments).to.memory("out"), checkpoint=tmp_path, trigger=hr.once).run()
    with pytest.raises(JobError) as refused:
        hr.Job("changed", _scan(event_time="at", idle="1 hour")(payments).to.memory("out"), checkpoint=tmp_path, trigger=hr.once).run()
    assert refused.value.what == (
        f"the checkpoint in {tmp_path}/out is of another plan. scan goes by event_time='at', and went by the order of arrival"
        " (no event_time=); scan has an idle= now, and had none"
    )
    assert refused.value.fix.startswith("write it as it was. Or start anew: give this job another name, or move that directory away")
    assert str(refused.value.where).startswith(__file__)


class Versions:
    """One job, run again and again as a program that changes."""

    def __init__(self, directory: Path, schema: str = "who string, amount int") -> None:
        self.payments = hr.read.memory(schema)
        self.directory = directory

    def run(self, build: Build, rows: Sequence[tuple[Any, ...]], **changes: Any) -> list[Row]:
        source = self.payments.step.source
        assert isinstance(source, MemorySource)
        if rows:
            self.payments.add(list(rows))  # type: ignore[attr-defined]
        output = build(self.payments).to.memory("out")
        hr.Job("versions", output, checkpoint=self.directory, trigger=hr.once, **changes).run()
        return sorted(output.sink.rows)  # type: ignore[attr-defined, no-any-return]


FEATURES: dict[str, Callable[[], hr.Feature]] = {
    "n": lambda: hr.running(F.count("*")),
    "top": lambda: hr.running(F.max("amount")),
    "mean": lambda: hr.running(F.avg("amount")),
    "last": lambda: hr.previous("amount"),
}


def _features(**options: str) -> Build:
    """A column for each of these features, and options."""
    return lambda payments: payments.key_by("who").with_features(
        **{name: FEATURES[value]() if value in FEATURES else value for name, value in options.items()}  # type: ignore[arg-type]
    )


def test_a_new_feature_begins_with_its_first_value_and_the_others_go_on(tmp_path: Path) -> None:
    job = Versions(tmp_path)
    assert job.run(_features(n="n"), [("ann", 5), ("bob", 1), ("eve", 9)]) == [("ann", 5, 0), ("bob", 1, 0), ("eve", 9, 0)]
    grown = _features(top="top", n="n")
    assert job.run(grown, [("ann", 7), ("dan", 2)]) == [("ann", 7, None, 1), ("dan", 2, None, 0)]
    assert job.run(grown, [("ann", 3), ("bob", 4), ("dan", 8)]) == [("ann", 3, 7, 2), ("bob", 4, None, 1), ("dan", 8, 2, 1)]
    again = _features(top="top", n="n", last="last")  # eve is as she was in the first version still
    assert job.run(again, [("ann", 1), ("eve", 1)]) == [("ann", 1, 7, 3, None), ("eve", 1, None, 1, None)]
    assert job.run(again, [("bob", 2), ("eve", 2)]) == [("bob", 2, 4, 2, None), ("eve", 2, 1, 2, 1)]


def test_what_is_gone_is_forgotten_if_the_job_says_so_and_what_is_renamed_goes_on(tmp_path: Path) -> None:
    job = Versions(tmp_path)
    job.run(_features(n="n", top="top"), [("ann", 5), ("bob", 1)])
    assert job.run(_features(count="n"), [("ann", 7)], removed=["top"], renamed={"count": "n"}) == [("ann", 7, 1)]
    assert job.run(_features(count="n", top="top"), [("ann", 7), ("bob", 2)]) == [("ann", 7, 2, None), ("bob", 2, 1, None)]


def test_a_feature_that_is_another_one_begins_anew_as_a_whole(tmp_path: Path) -> None:
    job = Versions(tmp_path)
    job.run(_features(n="n", top="top"), [("ann", 5)])
    other = _features(n="n", top="mean")
    with pytest.raises(JobError) as refused:
        job.run(other, [])
    assert "with_features: the feature 'top' keeps " in refused.value.what
    assert "removed=['top']" in refused.value.fix
    assert job.run(other, [("ann", 7)], removed=["top"]) == [("ann", 7, 1, None)]
    assert job.run(other, [("ann", 1)], removed=["top"]) == [("ann", 1, 2, 7.0)]  # said again, of what is there


def test_fields_of_a_scan_are_known_by_their_names_and_not_by_their_order(tmp_path: Path) -> None:
    job = Versions(tmp_path)
    job.run(_scan(state={"a": 0, "b": 100}), [("ann", 5)])
    turned = _scan(state={"b": 100, "c": 1000, "a": 0})
    assert job.run(turned, [("ann", 1)]) == [("ann", 105, 1000, 5)]
    assert job.run(turned, [("ann", 1)]) == [("ann", 106, 1001, 6)]


def test_a_key_is_forgotten_in_every_place_in_which_it_was_kept(tmp_path: Path) -> None:
    job = Versions(tmp_path)
    job.run(_scan(state={"a": 0}), [("ann", 5), ("bob", 5)])
    grown = _scan(state={"a": 0, "b": 0}, forget="amount < 0")
    assert job.run(grown, [("ann", -1), ("bob", 1)]) == [("ann", 5, 0), ("bob", 5, 0)]
    assert job.run(grown, [("ann", 2), ("bob", 2)]) == [("ann", 0, 0), ("bob", 6, 1)]


def test_records_that_wait_meet_the_new_feature(tmp_path: Path) -> None:
    job = Versions(tmp_path, "who string, amount int, at timestamp")

    def features(**chosen: str) -> Build:
        return lambda payments: _features(**chosen, event_time="at", delay="10 minutes")(payments).drop("at")

    def at(minute: int) -> datetime:
        return datetime(2026, 1, 1, 0, minute, tzinfo=UTC)

    grown = features(n="n", top="top")
    assert job.run(features(n="n"), [("ann", 1, at(1)), ("ann", 5, at(2))]) == []
    assert job.run(grown, [("ann", 3, at(3))]) == []
    assert job.run(grown, [("ann", 9, at(30))]) == [("ann", 1, 0, None), ("ann", 3, 2, 5), ("ann", 5, 1, 1)]


def test_a_checkpoint_whose_fields_have_changed_is_nothing_without_its_note(tmp_path: Path) -> None:
    job = Versions(tmp_path)
    job.run(_features(n="n"), [("ann", 5)])
    job.run(_features(n="n", top="top"), [("ann", 5)])
    (tmp_path / "out" / "job.json").write_text("{}")
    with pytest.raises(JobError) as refused:
        job.run(_features(n="n", top="top"), [])
    assert refused.value.what.startswith(f"{tmp_path}/out/job.json says nothing of which fields")


def test_a_batch_has_no_state_from_before(tmp_path: Path) -> None:
    job = Versions(tmp_path)
    job.run(_features(n="n"), [("ann", 5)])
    output = _features(n="n", top="top")(job.payments).to.memory("all")
    hr.Job("versions", output, removed=["gone"]).run("batch")
    assert [tuple(row) for row in output.sink.rows] == [("ann", 5, 0, None)]  # type: ignore[attr-defined]
