"""The panes of a GroupByKey are those of Beam's driver, though its state is written down after each element and windows are forgotten."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.fronts.beam.timelines import Event, element, of_beam, shown, timeline

from headrace.fronts.beam import elements, grouping

pytestmark = pytest.mark.beam


class Entries:
    """The map of a scan, as a function sees it."""

    def __init__(self) -> None:
        self.kept: dict[bytes, bytes] = {}

    def put(self, key: bytes, value: bytes) -> None:
        self.kept[key] = value

    def delete(self, key: bytes) -> None:
        del self.kept[key]

    def between(self, start: bytes, end: bytes | None) -> list[tuple[bytes, bytes]]:
        return sorted((key, value) for key, value in self.kept.items() if start <= key and (end is None or key < end))


class Scan:
    """What the kernel's scan does with one key: records as they come, alarms in the order of their time, each once."""

    def __init__(self, windowing: Any) -> None:
        self.windowing, self.spec, self.entries = windowing, grouping.Spec(windowing), Entries()
        self.blank = {"wake": None, "now": None, "row": None}
        self.state, self.rung, self.rows = self.blank, None, []
        self.watermark = elements.to_time(elements.to_timestamp(None))

    def take(self, number: int, second: int) -> None:
        one = element(self.windowing, number, second)
        value = elements.packed(one.with_value(("k", one.value)))
        record = {"value": value, "time": elements.FIRST, "watermark": self.watermark, "key": elements.key_bytes("k")}
        self._become(grouping.OnElement(self.spec)(self.state | {"entries": self.entries}, record))

    def advance(self, time: Any) -> None:
        self.watermark = time
        while (wake := self.state["wake"]) is not None and wake <= time and (self.rung is None or wake > self.rung):
            self.rung = wake
            alarm = grouping.OnAlarm(self.spec)
            self._become(alarm(self.state | {"entries": self.entries}, {"key": elements.key_bytes("k")}, {"time": wake}))

    def _become(self, answer: Any) -> None:
        state, rows = answer
        self.rows += rows
        self.state = self.blank if state is None else state
        if state is None:
            self.rung = None
            assert not self.entries.kept, "a key that is forgotten leaves nothing"

    def panes(self) -> list[Any]:
        values = [elements.unpacked(row["value"]) for row in self.rows]
        return [one.with_value(one.value[1]) for one in values]


def of_headrace(windowing: Any, events: list[Event]) -> Scan:
    scan = Scan(windowing)
    for number, (kind, second) in enumerate(events):
        if kind == "at":
            scan.take(number, second)
        else:
            scan.advance(elements.EPOCH + timedelta(seconds=second))
    scan.advance(elements.LAST)
    return scan


@pytest.mark.parametrize("seeds", [range(start, start + 50) for start in range(0, 300, 50)], ids=str)
def test_every_pane_is_that_of_beams_driver(seeds: range) -> None:
    seen = 0
    for seed in seeds:
        windowing, events = timeline(seed)
        ours = of_headrace(windowing, events)
        assert shown(ours.panes()) == shown(of_beam(windowing, events)), (seed, windowing, events)
        assert ours.state["row"] is None, "at the end nothing is remembered"
        seen += len(ours.rows)
    assert seen > 100


def test_a_window_is_forgotten_when_its_lateness_is_over() -> None:
    windowing, _ = timeline(0)
    windowing.allowed_lateness = 7
    for seed in range(40):
        scan = Scan(timeline(seed)[0])
        if scan.windowing.windowfn.get_window_coder().__class__.__name__ == "GlobalWindowCoder":
            continue
        scan.take(1, 3)
        scan.advance(elements.EPOCH + timedelta(seconds=1000))
        assert scan.state["row"] is None
        assert not scan.entries.kept
