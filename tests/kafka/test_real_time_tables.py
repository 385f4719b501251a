"""Tables that change, from topics of their own, in real time: what was said last is seen at once, without a restart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import functions as F
from tests.kafka.test_real_time import Topic, received, send

import headrace as hr

pytestmark = pytest.mark.usefixtures("spark")
SCHEMA = "k string, v int"

Built = Callable[[hr.Stream, hr.Stream], hr.Stream]


def ruled(records: hr.Stream, limits: hr.Stream) -> hr.Stream:
    """The limits that a record breaks; a negative one is no limit any more."""
    table = limits.key_by("k").table(deleted="v < 0")
    seen = records.key_by("k").with_rules(table, into="limits", by="arrival")
    return seen.select("k", F.expr("concat_ws(' ', transform(filter(limits, l -> v > l.v), l -> l.k))").alias("broken"))


def looked_up(records: hr.Stream, limits: hr.Stream) -> hr.Stream:
    return records.join(limits.rename(v="most").key_by("k").table(deleted="most < 0"), on="k", how="left", by="arrival").select("k", "most")


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (ruled, ["", "ann", "ann bob", "bob"]),
        (looked_up, [None, 5, 5, None]),
    ],
)
def test_what_a_topic_says_is_seen_by_the_records_that_come_after_it(
    build: Built, expected: list[object], kafka: str, topic: Topic, tmp_path: Path
) -> None:
    said: list[list[tuple[str, int, int]]] = [[], [("ann", 5, 0)], [("bob", 3, 0)], [("ann", -1, 0)]]
    given, control, out = topic(), topic(), topic()
    rows = build(hr.read.kafka(given, schema=SCHEMA), hr.read.kafka(control, schema=SCHEMA))
    with hr.Job("live", rows.to.kafka(out), checkpoint=tmp_path).start("real-time"):
        seen = []
        for n, rules in enumerate(said):
            send(kafka, control, *rules)
            row = None
            asked = 0
            while row is None or row[1:] != (expected[n],):  # the two topics have no order between them: ask until it is seen
                assert asked < 200, f"{row} where {expected[n]!r} was to be seen"
                send(kafka, given, ("ann", 9, 0))
                asked += 1
                seen.append(received(kafka, out, len(seen) + 1)[-1])
                row = seen[-1]
