"""The panes of a GroupByKey on Spark, in micro-batches, are those of Beam's own driver. Several time-lines are the keys of one query."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing import test_stream
from apache_beam.transforms.core import Windowing
from apache_beam.transforms.window import TimestampedValue
from tests.fronts.beam.timelines import Together, of_beam, of_key, timelines

from headrace.beam import HeadraceRunner, WriteToStream

pytestmark = [pytest.mark.beam, pytest.mark.usefixtures("spark")]

Panes = dict[str, list[tuple[Any, ...]]]
PANE = "key string, elements array<long>, at long, start long, end long, pane string"


class Shown(beam.DoFn):
    """A pane as plain values."""

    def process(
        self, pair: Any, at: Any = beam.DoFn.TimestampParam, window: Any = beam.DoFn.WindowParam, pane: Any = beam.DoFn.PaneInfoParam
    ) -> Iterable[tuple[Any, ...]]:
        yield pair[0], list(pair[1]), at.micros, window.start.micros, window.end.micros, str(pane)


def on_spark(windowing: Windowing, events: list[Together], name: str) -> Panes:
    """The panes of each key: one query, with a micro-batch for the elements before a watermark, and one for the watermark."""
    stream, kept = test_stream.TestStream(), []
    for event, numbered in zip(events, numbers(events), strict=True):
        if isinstance(event, int):
            stream.advance_watermark_to(event)
        elif numbered:
            stream.add_elements(numbered)
    into = beam.WindowInto(
        windowing.windowfn, trigger=windowing.triggerfn, accumulation_mode=windowing.accumulation_mode,
        timestamp_combiner=windowing.timestamp_combiner, allowed_lateness=windowing.allowed_lateness,
    )  # fmt: skip
    options = PipelineOptions(allow_unsafe_triggers=True)  # also those that fire once, and lose what comes then
    with beam.Pipeline(runner=HeadraceRunner("micro-batch", name=name), options=options) as p:
        panes = p | stream | into | beam.GroupByKey() | beam.ParDo(Shown())
        panes | WriteToStream(PANE, lambda rows: kept.append(rows.to.memory("panes")) or kept[-1])
    rows: Panes = defaultdict(list)
    for row in kept[0].sink.rows:
        rows[row.key].append(tuple(row)[1:])
    return rows


def numbers(events: list[Together]) -> Iterable[list[TimestampedValue]]:
    """The elements of each event, numbered by their places in the time-line of their key."""
    before: Counter[str] = Counter()
    for event in events:
        if isinstance(event, int):
            before.update(KEYS)
            yield []
            continue
        yield [TimestampedValue((key, before[key] + i), at) for key, seconds in event.items() for i, at in enumerate(seconds)]
        before.update({key: len(seconds) for key, seconds in event.items()})


def of_driver(windowing: Windowing, events: list[Together]) -> Panes:
    """The same, as Beam's driver has them."""
    panes = {key: of_beam(windowing, of_key(key, events)) for key in KEYS}
    return {
        key: [
            (list(pane.value), pane.timestamp.micros, pane.windows[0].start.micros, pane.windows[0].end.micros, str(pane.pane_info))
            for pane in each
        ]
        for key, each in panes.items() if each
    }  # fmt: skip


KEYS = "abcdefgh"
QUICK = (3, 4, 7)  # sliding windows that records end, with a lateness; once, then never; sessions with early panes
SEEDS = [*QUICK, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(40) if seed not in QUICK)]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_panes_of_eight_time_lines_are_those_of_beams_driver(seed: int) -> None:
    windowing, events = timelines(seed, KEYS, rounds=5)
    panes = of_driver(windowing, events)
    assert on_spark(windowing, events, f"panes-{seed}") == panes, (windowing, events)
    assert panes
