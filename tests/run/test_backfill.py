"""History as large batches, then live from the exact position: the rows are those of one stream over everything."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

import headrace as hr
from headrace.errors import DefinitionError, ModeError
from headrace.planning.triggers import Trigger
from headrace.run.running import Running

pytestmark = pytest.mark.usefixtures("spark", "kafka")
Topic = Callable[..., str]


def features(payments: hr.Stream) -> hr.Stream:
    return payments.key_by("who").with_features(before=hr.previous("n"), total=hr.running(F.sum("n")), recent=hr.last_n(3, F.max("n")))


def scanned(payments: hr.Stream) -> hr.Stream:
    total = F.col("state.total") + F.col("n")
    return payments.key_by("who").scan(
        state={"total": F.lit(0).cast("bigint")}, update={"total": total}, output=["who", "n", total.alias("total")]
    )


def in_python(payments: hr.Stream) -> hr.Stream:
    def add(state: dict[str, Any], record: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        total = (state["total"] or 0) + record["n"]
        return {"total": total}, [{"who": record["who"], "n": record["n"], "total": total}]

    return payments.key_by("who").scan_python(state="total bigint", function=add, output="who string, n bigint, total bigint")


def send(topic: str, numbers: range) -> None:
    for who in ("ann", "bob"):
        hr.topics.send(topic, [{"who": who, "n": number} for number in numbers], key=who)


def received(topic: str, count: int, running: Running | None = None) -> list[dict[str, Any]]:
    deadline = time.monotonic() + 60
    while True:
        rows = [json.loads(record.value or b"") for record in hr.topics.read(topic)]
        if len(rows) >= count or time.monotonic() > deadline:
            return sorted(rows, key=lambda row: (row["who"], row["n"]))
        if running is not None:
            running.wait(0.1)


@pytest.mark.parametrize("operator", [features, scanned, in_python])
def test_backfill_then_live_gives_the_rows_of_one_stream_over_everything(
    operator: Callable[[hr.Stream], hr.Stream], topic: Topic, tmp_path: Path, short_batches: Trigger
) -> None:
    given, lambda_free, whole = topic(partitions=2), topic(), topic()
    send(given, range(5))

    def job(name: str, out: str) -> hr.Job:
        payments = hr.read.kafka(given, schema="who string not null, n bigint not null")
        return hr.Job(name, operator(payments).to.kafka(out, name="out"), checkpoint=tmp_path / name)

    with job("backfilled", lambda_free).backfill("real-time", trigger=short_batches) as running:
        assert len(received(lambda_free, 10)) == 10
        send(given, range(5, 9))
        rows = received(lambda_free, 18, running)
    with job("whole", whole).start("micro-batch", trigger=hr.once) as running:
        running.wait()
    assert rows == received(whole, 18)
    assert len(rows) == 18


def test_a_history_in_files_then_live_from_the_offset_where_it_ends(topic: Topic, tmp_path: Path, short_batches: Trigger) -> None:
    """The first time the backfill is interrupted when the history is done."""
    given, out, whole = topic(partitions=2), topic(), topic()
    send(given, range(5))
    schema = "who string not null, n bigint not null"
    kept = hr.read.kafka(given, schema=schema, keep=["partition", "offset"]).to.files(tmp_path / "archive", format="json")
    hr.Job("archive", kept, checkpoint=tmp_path / "archiving").run("micro-batch", trigger=hr.once)
    send(given, range(5, 9))
    archive = hr.read.files(tmp_path / "archive", schema=schema, format="json")
    payments = hr.read.kafka(given, schema=schema, start={given: ends_of(tmp_path / "archive")})
    job = hr.Job("backfilled", features(payments).to.kafka(out), checkpoint=tmp_path / "backfilled")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hr.Job, "start", interrupt)
        with pytest.raises(KeyboardInterrupt):
            job.backfill(history={payments: archive})
    assert len(received(out, 10)) == 10
    for _ in range(2):  # the second time there is nothing left of the history
        with job.backfill("real-time", history={payments: archive}, trigger=short_batches) as running:
            rows = received(out, 18, running)
    everything = hr.read.kafka(given, schema=schema)
    hr.Job("whole", features(everything).to.kafka(whole), checkpoint=tmp_path / "whole").run("micro-batch", trigger=hr.once)
    assert rows == received(whole, 18)
    assert len(rows) == 18


def ends_of(archive: Path) -> dict[int, int]:
    """Of each of two partitions the offset behind its last record."""
    ends = hr.session().read.json(str(archive)).groupBy("partition").agg((F.max("offset") + 1).alias("end"))
    return {0: 0, 1: 0} | {row.partition: row.end for row in ends.collect()}


def interrupt(*_: Any, **__: Any) -> Running:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("history", "what"),
    [
        (lambda payments: {payments: payments.select("who")}, "the column 'n' is bigint in the stream and not there in its history"),
        (
            lambda payments: {payments: payments.select("who", F.col("n").cast("int"))},
            "the column 'n' is bigint in the stream and int in its",
        ),
        (lambda payments: {payments.where("n > 1"): payments}, "out does not read a stream whose history is given"),
        (lambda payments: {payments: payments.union(other())}, "out reads several sources"),
        (lambda payments: {"payments": payments}, "history is no dict of streams"),
    ],
)
def test_a_history_that_cannot_be_one_is_refused_before_anything_starts(history: Any, what: str) -> None:
    payments = other()
    job = hr.Job("refused", payments.to.memory("out"))
    with pytest.raises(DefinitionError) as refused:
        job.backfill("micro-batch", history=history(payments))
    assert what in refused.value.what


def other() -> hr.Stream:
    return hr.read.memory("who string, n bigint", [("ann", 1)])


def test_a_backfill_whose_live_part_cannot_run_is_refused_before_it_begins(topic: Topic) -> None:
    rows = hr.read.kafka(topic(), schema="who string, n bigint").to.memory()
    with pytest.raises(ModeError):
        hr.Job("refused", rows).backfill("real-time")
    assert rows.sink.rows == []  # type: ignore[attr-defined]
