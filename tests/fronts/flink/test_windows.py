"""Windows on Spark: late records to their side output, sessions, windows behind windows, all records together, by the clock in a batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.fronts.flink.running import BATCH, PAIR, STREAMING, first, pairs, results

from headrace.flink import (
    AggregateFunction,
    Count,
    CountTrigger,
    DataStream,
    EventTimeSessionWindows,
    GlobalWindows,
    OutputTag,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    PurgingTrigger,
    RuntimeExecutionMode,
    SlidingEventTimeWindows,
    StreamExecutionEnvironment,
    Time,
    TimeWindow,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
)

pytestmark = pytest.mark.usefixtures("spark")

LATE, SHORT = OutputTag("late", PAIR), OutputTag("short")
TIMES = [("a", 1), ("b", 3), ("a", 7)], [("a", 12)], [("b", 14), ("a", 30)]


class Times(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        found = sorted(time for _, time in elements)
        if len(found) == 1:
            yield SHORT, key
        yield key, tuple(context.window()), found


class AllTimes(ProcessAllWindowFunction):
    def process(self, context: Any, elements: Any) -> Iterator[Any]:
        yield tuple(context.window()), sorted(time for _, time in elements)


class Total(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + value[1]

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class Decades(WindowAssigner):
    """A program's own: windows of ten."""

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> list[TimeWindow]:
        return [TimeWindow(timestamp - timestamp % 10, timestamp - timestamp % 10 + 10)]


def added(one: Any, other: Any) -> Any:
    return one[0], one[1] + other[1]


def program(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    keyed = pairs(env, *TIMES).key_by(first)
    tumbling = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(10))).process(Times())
    halves = keyed.window(TumblingEventTimeWindows.of(5)).reduce(added)
    return {
        "tumbling": tumbling,
        "short": tumbling.get_side_output(SHORT),
        "sliding": keyed.window(SlidingEventTimeWindows.of(20, 10)).aggregate(Total(), Times_of_total()),
        "sessions": keyed.window(EventTimeSessionWindows.with_gap(6)).aggregate(Total()),
        "all": pairs(env, *TIMES).window_all(TumblingEventTimeWindows.of(10)).process(AllTimes()),
        "twice": halves.map(lambda pair: pair, output_type=PAIR).key_by(first).window(TumblingEventTimeWindows.of(10)).reduce(added),
        "own": keyed.window(Decades()).reduce(added),
        "counted": keyed.window(GlobalWindows.create()).trigger(PurgingTrigger.of(CountTrigger.of(2))).reduce(added),
    }


class Times_of_total(ProcessWindowFunction):  # noqa: N801 - read as what it is
    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        yield key, context.window().start, next(iter(elements))


@pytest.mark.parametrize("mode", [BATCH, STREAMING], ids=["batch", "streaming"])
def test_windows_give_the_same_in_a_batch_and_as_a_stream(mode: RuntimeExecutionMode) -> None:
    tens = [("a", 12), ("a", 30), ("a", 8), ("b", 14), ("b", 3)]
    assert results(mode, program) == {
        "tumbling": [
            ("a", (0, 10), [1, 7]), ("a", (10, 20), [12]), ("a", (30, 40), [30]), ("b", (0, 10), [3]), ("b", (10, 20), [14]),
        ],
        "short": ["a", "a", "b", "b"],
        "sliding": [
            ("a", -10, 8), ("a", 0, 20), ("a", 10, 12), ("a", 20, 30), ("a", 30, 30), ("b", -10, 3), ("b", 0, 17), ("b", 10, 14),
        ],
        "sessions": [14, 20, 3, 30],
        "all": [((0, 10), [1, 3, 7]), ((10, 20), [12, 14]), ((30, 40), [30])],
        "twice": tens,
        "own": tens,
        "counted": [("a", 42), ("a", 8), ("b", 17)],
    }  # fmt: skip


def test_late_records_go_to_their_side_output_and_policies_of_both_kinds_mix() -> None:
    def late(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
        keyed = pairs(env, [("a", 1), ("a", 12)], [("a", 3)], [("a", 13)]).key_by(first)
        few = pairs(env, [("a", 1), ("a", 2), ("a", 3), ("a", 20)]).key_by(first)
        sums = keyed.window(TumblingEventTimeWindows.of(10)).side_output_late_data(LATE).reduce(added)
        mixed = few.window([Count.of(2), Time.milliseconds(10)]).every(Count.of(1)).reduce(added)
        return {"sums": sums, "late": sums.get_side_output(LATE), "mixed": mixed}

    found = results(STREAMING, late)
    assert found["sums"] == [("a", 1), ("a", 25)]
    assert found["late"] == [("a", 3)]
    assert found["mixed"] == [("a", 1), ("a", 20), ("a", 3), ("a", 5)]  # at most two, none ten older; and the rest at the end


def test_by_the_clock_a_batch_is_one_moment() -> None:
    def clocked(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
        keyed = env.from_collection([("a", 1), ("b", 3), ("a", 7)], PAIR).key_by(first)
        return {"sums": keyed.window(TumblingProcessingTimeWindows.of(Time.days(1000))).reduce(added)}

    assert results(BATCH, clocked) == {"sums": [("a", 8), ("b", 3)]}
