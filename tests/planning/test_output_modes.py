"""The table of output modes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import headrace as hr
from headrace.errors import ModeError
from headrace.fronts.stream import Stream
from headrace.ops.windows import Window
from headrace.planning import output_modes
from headrace.planning.recipe import Output


def _windows(stream: Stream, window: Window) -> Stream:
    return stream.event_time("at", "1 hour").window(window).agg(F.count("*"))


def _joined(stream: Stream, how: str) -> Stream:
    timed = stream.event_time("at", "1 hour")
    return timed.join(timed.rename(at="other"), on="k", how=how, between=("0 seconds", "1 hour"))


RESULTS: dict[str, Callable[[Stream], Output]] = {
    "records": lambda s: s.to.memory(),
    "records to files": lambda s: s.to.files("d"),
    "totals": lambda s: s.key_by("k").agg(F.count("*")).to.memory(),
    "totals to files": lambda s: s.key_by("k").agg(F.count("*")).to.files("d"),
    "windows": lambda s: _windows(s, hr.tumbling("1 hour")).to.memory(),
    "windows to files": lambda s: _windows(s, hr.tumbling("1 hour")).to.files("d"),
    "sessions": lambda s: _windows(s, hr.sessions("1 hour")).to.memory(),
    "pairs": lambda s: _joined(s, "inner").to.memory(),
    "totals of pairs": lambda s: _joined(s, "inner").key_by("k").agg(F.count("*")).to.memory(),
    "windows of pairs": lambda s: _joined(s, "inner").window(hr.tumbling("1 hour")).agg(F.count("*")).to.memory(),
    "windows of an outer join": lambda s: _joined(s, "left").window(hr.tumbling("1 hour")).agg(F.count("*")).to.memory(),
}

# result, mode asked for, in real time -> the mode, or the reason why not
TABLE = [
    ("records", None, False, "append"),
    ("records", "update", False, "update"),
    ("records", "complete", False, ModeError),
    ("records", None, True, "update"),
    ("records", "append", True, "update"),
    ("records to files", "update", False, ModeError),
    ("totals", None, False, "update"),
    ("totals", "complete", False, "complete"),
    ("totals", "append", False, ModeError),
    ("totals", None, True, "update"),
    ("totals", "complete", True, ModeError),
    ("totals to files", None, False, ModeError),
    ("windows", None, False, "update"),
    ("windows", "append", False, "append"),
    ("windows", "append", True, "update"),
    ("windows to files", None, False, "append"),
    ("sessions", None, False, "append"),
    ("sessions", "update", False, ModeError),
    ("pairs", None, False, "append"),
    ("pairs", "update", False, "update"),
    ("totals of pairs", None, False, "update"),
    ("totals of pairs", "complete", False, "complete"),
    ("windows of pairs", "append", False, "append"),
    ("windows of an outer join", None, False, "update"),
]


@pytest.mark.parametrize(("result", "asked", "real_time", "expected"), TABLE)
def test_output_mode(result: str, asked: str | None, real_time: bool, expected: object, spark: SparkSession) -> None:  # noqa: ARG001
    output = RESULTS[result](hr.read.memory("k string, at timestamp"))
    if isinstance(expected, str):
        assert output_modes.choose([output], asked, real_time=real_time) == expected
        return
    with pytest.raises(ModeError) as refused:
        output_modes.choose([output], asked, real_time=real_time)
    assert refused.value.what.startswith(output.name)
    assert refused.value.where == output.where
