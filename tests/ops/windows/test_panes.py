"""Which panes a window puts out: Beam's table, run by us. windows.md section 7, "Run"."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from functools import reduce
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from tests.ops.windows.running import SCHEMA, at, windowed

from headrace.ops.windows import (
    Trigger,
    after_all,
    after_any,
    after_each,
    after_records,
    after_watermark,
    or_finally,
    repeatedly,
    tumbling,
)
from headrace.testing.microbatches import MicroBatches
from headrace.testing.states import kept_rows

pytestmark = pytest.mark.usefixtures("spark")

DEFAULT: Callable[[], Trigger] = lambda: after_watermark(late=1)  # noqa: E731

# a window of ten seconds, a lateness of fifteen: records 1 2 3, the watermark at 10, records 4 5, the watermark at 30, record 6.
# trigger; accumulating, discarding: the records of each pane, e(arly), t (on time), l(ate) and its number, ! if it is the last;
# and which records are late. The rest that Repeatedly(Count 2) leaves comes out when the lateness is over, and the end of the window
# fires AfterEach: Beam's Java rules.
PANES: list[tuple[str, Callable[[], Trigger], str, str, str]] = [
    ("at the end", after_watermark, "123t0!", "123t0!", "456"),
    ("early", lambda: after_watermark(early=2), "12e0 123t1!", "12e0 3t1!", "456"),
    ("early and late", lambda: after_watermark(early=2, late=1), "12e0 123t1 1234l2 12345l3", "12e0 3t1 4l2 5l3", "6"),
    ("default", DEFAULT, "123t0 1234l1 12345l2", "123t0 4l1 5l2", "6"),
    ("records", lambda: after_records(2), "12e0!", "12e0!", "3456"),
    ("records, repeated", lambda: repeatedly(2), "12e0 1234l1 12345l2!", "12e0 34l1 5l2!", "6"),
    ("any, repeated", lambda: repeatedly(after_any(2, after_watermark())), "12e0 123t1 1234l2 12345l3", "12e0 3t1 4l2 5l3", "6"),
    ("all", lambda: after_all(4, after_watermark()), "1234l0!", "1234l0!", "56"),
    ("each", lambda: after_each(2, 1, after_watermark()), "12e0 123e1 123t2!", "12e0 3e1 t2!", "456"),
    ("or finally", lambda: or_finally(repeatedly(1), after_watermark()), "1e0 12e1 123e2 123t3!", "1e0 2e1 3e2 t3!", "456"),
]


def shown(rows: Iterable[Row]) -> list[str]:
    return [_late(row) if row.main is None else _pane(row.main) for row in rows if (row.main or row.late).k != "z"]


def _late(row: Row) -> str:
    return str(row.late.v)


def _pane(row: Row) -> str:
    records = "".join(map(str, sorted(row["values"])))
    assert row.pane.first == (row.pane["index"] == 0)
    sign = "-" if "retracted" in row.pane and row.pane.retracted else ""
    return f"{sign}{records}{row.pane.timing.replace('on_time', 't')[0]}{row.pane['index']}{'!' if row.pane.last else ''}"


def listed(trigger: Trigger, **options: Any) -> Callable[[DataFrame], DataFrame]:
    values = {"aggregates": lambda: {"values": F.collect_list("v")}}
    return windowed(tumbling("10 seconds"), trigger=trigger, **{"lateness": 15_000_000, **values, **options})


def together(operators: Mapping[str, Callable[[DataFrame], DataFrame]]) -> Callable[[DataFrame], DataFrame]:
    """Several operators over the same records, in one query: their rows with their names."""

    def operator(df: DataFrame) -> DataFrame:
        named = [apply(df).withColumn("name", F.lit(name)) for name, apply in operators.items()]
        return reduce(DataFrame.unionByName, named)

    return operator


def run(operators: Mapping[str, Callable[[DataFrame], DataFrame]]) -> dict[str, tuple[str, str]]:
    """What comes out of each, and what is late."""
    with MicroBatches(together(operators), SCHEMA, partitions=1) as stream:
        result = stream.nothing
        for v in (1, 2, 3):
            result += stream.feed([("a", v, at(v))])
        result += stream.feed([("z", 0, at(10))]) + stream.tick()
        for v in (4, 5):
            result += stream.feed([("a", v, at(v))])
        result += stream.feed([("z", 0, at(30))]) + stream.tick() + stream.feed([("a", 6, at(6))])
        assert kept_rows(stream) <= 4 * len(operators), (
            "of the windows at 0, 10 and 30, the first is forgotten; each has a state and a clock"
        )

    def of(name: str) -> tuple[str, str]:
        out = shown(row for row in result.rows if row.name == name)
        return " ".join(each for each in out if not each.isdigit()), "".join(each for each in out if each.isdigit())

    return {name: of(name) for name in operators}


@pytest.mark.parametrize("panes", ["accumulating", "discarding"])
def test_panes(panes: str) -> None:
    out = run({name: listed(trigger(), accumulation=panes) for name, trigger, *_ in PANES})
    assert out == {name: (all_ if panes == "accumulating" else new, late) for name, _, all_, new, late in PANES}


def test_each_pane_takes_back_the_last_one() -> None:
    """windows.md section 7: +3; -3 +6; -6 +10; -10 +15, here as lists."""
    out = run({"retracting": listed(after_watermark(early=2, late=1), accumulation="retracting")})
    assert out == {"retracting": ("12e0 -12e0 123t1 -123t1 1234l2 -1234l2 12345l3", "6")}


def test_without_a_lateness_the_pane_on_time_is_the_last_and_has_all_that_was_in_none() -> None:
    strict = {"lateness": 0}
    out = run(
        {
            "accumulating": listed(repeatedly(2), **strict),
            "discarding": listed(repeatedly(2), accumulation="discarding", **strict),
            "early": listed(after_watermark(early=2), accumulation="discarding", **strict),
        }
    )
    assert out == {
        "accumulating": ("12e0 123t1!", "456"),
        "discarding": ("12e0 3t1!", "456"),
        "early": ("12e0 3t1!", "456"),
    }


def test_every_three_records() -> None:
    """windows.md section 7, the guide's example: 5 8 3 | 15 19 23 | 9 13 10."""
    values = (5, 8, 3, 15, 19, 23, 9, 13, 10)
    for panes, sizes in (("accumulating", [3, 6, 9]), ("discarding", [3, 3, 3])):
        operator = windowed(tumbling("10 seconds"), trigger=repeatedly(3), accumulation=panes)
        with MicroBatches(operator, SCHEMA) as stream:
            assert [row.main.n for row in stream.feed([("a", v, at(1)) for v in values]).rows] == sizes


def test_a_window_whose_first_record_is_late_begins_with_a_late_pane() -> None:
    with MicroBatches(listed(DEFAULT()), SCHEMA) as stream:
        stream.feed([("z", 0, at(20))])
        out = stream.feed([("a", 1, at(1))]) + stream.feed([("a", 2, at(2))]) + stream.feed([("z", 0, at(100))]) + stream.tick()
        assert shown(out.rows) == ["1l0", "12l1"]


def test_early_panes_by_the_clock_come_so_long_after_the_first_record_that_was_in_none() -> None:
    with MicroBatches(listed(after_watermark(early="5 seconds", late="5 seconds")), SCHEMA) as stream:
        steps: list[tuple[int, list[Any], list[str]]] = [  # seconds of the clock, records, panes
            (0, [("a", 1, at(1))], []),
            (4, [("a", 2, at(2))], []),
            (1, [], ["12e0"]),
            (60, [], []),
            (0, [("a", 3, at(3))], []),
            (4, [("z", 0, at(10))], []),
            (0, [], ["123t1"]),
            (0, [("a", 4, at(4))], []),
            (5, [], ["1234l2"]),
            (0, [("a", 5, at(5)), ("z", 0, at(30))], []),
            (0, [], ["12345l3!"]),
            (60, [("a", 6, at(6))], ["6"]),
        ]
        for wait, records, expected in steps:
            stream.clock.advance(timedelta(seconds=wait))
            assert shown(stream.feed(records).rows) == expected, records
