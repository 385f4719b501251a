"""A job in real time gains features, and the rest of its state goes on: as plain Python counts it."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

import headrace as hr
from headrace.planning.table import Mode

pytestmark = pytest.mark.usefixtures("spark")

SCHEMA = "who string not null, amount int not null"
VERSIONS = [("n",), ("top", "n"), ("n", "total", "top")]


def _features(*names: str) -> dict[str, hr.Feature]:
    known = {"n": hr.running(F.count("*")), "top": hr.running(F.max("amount")), "total": hr.running(F.sum("amount"))}
    return {name: known[name] for name in names}


def _oracle(versions: list[list[tuple[str, int]]]) -> list[tuple[Any, ...]]:
    """Every feature over the records of its key since the version that brought it."""
    seen: dict[str, list[tuple[int, int]]] = defaultdict(list)
    rows = []
    for version, records in enumerate(versions):
        for who, amount in records:
            row: dict[str, Any] = {}
            for name in VERSIONS[version]:
                since = next(number for number, names in enumerate(VERSIONS) if name in names)
                amounts = [before for number, before in seen[who] if number >= since]
                values = {"n": len(amounts), "top": max(amounts, default=None), "total": sum(amounts) if amounts else None}
                row[name] = values[name]
            rows.append((who, amount, *row.values()))
            seen[who].append((version, amount))
    return rows


@pytest.mark.parametrize("mode", ["micro-batch", "real-time"])
def test_features_that_are_added_begin_then_and_the_others_go_on(mode: Mode, topic: Callable[..., str], tmp_path: Path) -> None:
    chosen, source, target = random.Random(7), topic(), topic()
    versions = [[(chosen.choice("abcdef"), chosen.randrange(100)) for _ in range(size)] for size in (8, 6, 12)]
    sent = 0
    for names, records in zip(VERSIONS, versions, strict=True):
        payments = hr.read.kafka(source, schema=SCHEMA)
        decided = payments.key_by("who").with_features(**_features(*names))
        job = hr.Job("grown", decided.to.kafka(target, key="who"), checkpoint=tmp_path)
        hr.topics.send(source, [json.dumps({"who": who, "amount": amount}) for who, amount in records])
        with job.start(mode) as running:
            sent += len(records)
            while len(list(hr.topics.read(target))) < sent:
                running.wait(0.2)
    rows = [tuple(json.loads(record.value).values()) for record in hr.topics.read(target)]
    assert sorted(map(repr, rows)) == sorted(map(repr, _oracle(versions)))
