"""A record that was written again after a crash is read once, by its id."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import functions as F
from tests.kafka.test_kafka import rows, send

import headrace as hr

pytestmark = pytest.mark.usefixtures("spark")
Topic = Callable[..., str]


def test_rows_carry_what_they_were_made_from_and_their_output(kafka: str, topic: Topic) -> None:
    source, target = topic(), topic()
    send(kafka, source, ["a", "b"])
    letters = hr.read.kafka(source).with_columns(value=F.upper(F.col("value").cast("string")))
    output = letters.to.kafka(target, value="value", id=["topic", "partition", "offset"], headers={"own": "value"}, name="loud")
    hr.Job("ids", output).run("batch")
    read = hr.topics.read(target)
    assert [dict(record.headers) for record in read] == [
        {"own": b"A", "headrace-id": f"{source}/0/0/loud".encode()}, {"own": b"B", "headrace-id": f"{source}/0/1/loud".encode()},
    ]  # fmt: skip


@pytest.mark.parametrize("schema", [None, "n int not null"])
def test_a_record_with_an_id_that_was_there_is_left_out(schema: Any, kafka: str, topic: Topic, tmp_path: Path) -> None:
    name, producer = topic(), Producer({"bootstrap.servers": kafka, "log_level": 0})

    def write(*ids: str | None) -> None:
        for number, id in enumerate(ids):
            producer.produce(name, f'{{"n": {number}}}', headers=[("headrace-id", id)] if id else [])
        producer.flush()

    write("x/0/0/o", "x/0/1/o", None, "x/0/0/o", None)
    output = hr.read.kafka(name, schema=schema, once=True, **({"keep": ["offset"]} if schema else {})).to.memory()
    job = hr.Job("once", output, trigger=hr.once, checkpoint=tmp_path)
    job.run()
    write("x/0/1/o", "x/0/2/o", "x/0/1/p")  # after a crash: one again, a new one, and one of another output
    job.run()
    assert sorted(row.offset for row in output.sink.rows) == [0, 1, 2, 4, 6, 7]  # type: ignore[attr-defined]
    assert "headers" not in output.sink.rows[0]  # type: ignore[attr-defined]
    assert rows(output)
