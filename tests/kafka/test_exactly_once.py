"""From Kafka to Kafka, exactly-once: a batch that was written before a crash is not written again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F
from tests.kafka.test_kafka import send
from tests.kafka.test_transactions import committed

import headrace as hr
from headrace.errors import JobError
from headrace.io.kafka import transactions

pytestmark = pytest.mark.usefixtures("spark")


@pytest.mark.parametrize(("guarantee", "twice"), [("exactly-once", 0), (None, 2)])
def test_a_batch_that_was_written_before_a_crash_is_there_once_if_the_job_asks_for_it(
    guarantee: Any, twice: int, kafka: str, topic: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = topic(), topic()
    send(kafka, source, map(str, range(5)))
    numbers = hr.read.kafka(source, cap=2).select(F.col("value").cast("string"), F.lit("k").alias("key"))
    sent = numbers.to.kafka(target, key="key", value="value", headers={"h": "value"})
    crashing = numbers.to.callback(crash_once(), name="crash")
    job = hr.Job("chain", sent, crashing, trigger=hr.once, checkpoint=tmp_path)  # type: ignore[arg-type]
    if guarantee:  # a callback is at-least-once, so the crash is in the sink itself
        job = hr.Job("chain", sent, trigger=hr.once, checkpoint=tmp_path, guarantee=guarantee)
        commit, failures = transactions.Output.commit, iter([OSError("the power failed")])

        def breaking(self: transactions.Output, batch: int, batches: Any) -> None:
            commit(self, batch, batches)
            for failure in failures:
                raise failure

        monkeypatch.setattr(transactions.Output, "commit", breaking)
    with pytest.raises(JobError):
        job.run()
    job.run()
    values = committed(kafka, target)
    assert set(values) == set(range(5))
    assert (values - Counter(range(5))).total() == twice


def crash_once() -> Callable[[Any, int], None]:
    failures = iter([OSError("the power failed")])

    def crash(rows: Any, batch: int) -> None:  # noqa: ARG001
        for failure in failures:
            raise failure

    return crash
