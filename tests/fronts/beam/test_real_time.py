"""Beam's pipelines in real time: each record at once, from Kafka to Kafka."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import apache_beam as beam
import pytest
from apache_beam.transforms import trigger
from apache_beam.transforms.window import GlobalWindows

import headrace as hr
from headrace.beam import HeadraceRunner, ReadFromStream, WriteToStream
from headrace.planning.triggers import Trigger

pytestmark = [pytest.mark.beam, pytest.mark.usefixtures("spark")]


def test_a_group_fires_with_its_second_element(kafka: str, topic: Callable[..., str], short_batches: Trigger, tmp_path: Path) -> None:  # noqa: ARG001
    source, target = topic(), topic()
    bids = hr.read.kafka(source, schema="who string, price int", start="earliest")
    pipeline = beam.Pipeline(runner=HeadraceRunner("real-time", name="live", trigger=short_batches, checkpoint=tmp_path))
    pairs = beam.WindowInto(
        GlobalWindows(), trigger=trigger.Repeatedly(trigger.AfterCount(2)), accumulation_mode=trigger.AccumulationMode.DISCARDING
    )
    sums = (
        pipeline | ReadFromStream(bids) | beam.Map(lambda bid: (bid["who"], bid["price"])) | pairs | beam.CombinePerKey(sum)
    )  # fmt: skip
    sums | WriteToStream("who string, total int", lambda rows: rows.to.kafka(target, key="who"))
    result = pipeline.run()
    try:
        hr.topics.send(
            source, [{"who": who, "price": price} for who, price in [("ann", 5), ("ben", 1), ("ann", 7), ("ann", 1), ("ann", 2)]]
        )
        assert [json.loads(record.value)["total"] for record in hr.topics.read(target, limit=2, follow=True)] == [12, 3]
    finally:
        result.cancel()
