"""What the benchmarks of latency count."""

from __future__ import annotations

from array import array

from bench.measuring.load import Read, Sent
from bench.measuring.timeline import Timeline, summary
from bench.questions.latency import away_from_ends

SECOND = 1_000_000_000

# when a record was due, in seconds after the first, and what its result took in milliseconds; a batch ends at 5
RECORDS = [(0.0, 900.0), (1.5, 4.0), (2.0, 6.0), (5.0, 150.0), (5.5, 20.0), (8.5, 8.0)]


def timeline() -> Timeline:
    sent = Sent(first=0, rate=1, records=len(RECORDS), start=100 * SECOND, late=[])
    due = [sent.start + int(at * SECOND) for at, _ in RECORDS]
    return Timeline.of(sent, Read(array("q", due), array("q", [d + int(ms * 1e6) for d, (_, ms) in zip(due, RECORDS, strict=True)]), []))


def test_every_record_after_the_warm_up_counts_and_those_before_it_are_told_apart() -> None:
    found = summary(timeline(), warm_up=1)
    assert (found["p50"], found["max"], found["warm_up"]["max"]) == (8.0, 150.0, 900.0)


def test_each_second_has_its_median_and_its_worst() -> None:
    assert timeline().by_second() == {"second": [0, 1, 2, 5, 8], "p50": [900.0, 4.0, 6.0, 85.0, 8.0], "max": [900.0, 4.0, 6.0, 150.0, 8.0]}


def test_away_from_an_end_is_a_second_before_it_and_three_after() -> None:
    assert away_from_ends(timeline().due, [105.0]).tolist() == [True, True, True, False, False, True]
