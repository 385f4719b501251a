"""Two streams: connected, with a broadcast one, in windows, and not far apart in time. By the examples of joins.md."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.fronts.flink.running import BATCH, PAIR, STREAMING, first, pairs, results

from headrace.flink import (
    CoMapFunction,
    DataStream,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    MapStateDescriptor,
    OutputTag,
    ProcessJoinFunction,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
    Time,
    TumblingEventTimeWindows,
    ValueStateDescriptor,
)

pytestmark = pytest.mark.usefixtures("spark")

RULES = MapStateDescriptor("rules")
LEFT = OutputTag("left")


class Words(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return f"one {value[0]}"

    def map2(self, value: Any) -> Any:
        return f"two {value[0]}"


class Both(KeyedCoProcessFunction):
    """A payment and its receipt; what has no receipt in ten milliseconds goes to the side."""

    def open(self, runtime_context: Any) -> None:
        self.paid = runtime_context.get_state(ValueStateDescriptor("paid"))

    def process_element1(self, value: Any, ctx: Any) -> None:
        self.paid.update(value[1])
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)

    def process_element2(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), self.paid.value(), value[1]
        self.paid.clear()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        if self.paid.value() is not None:
            yield LEFT, (ctx.get_current_key(), self.paid.value())
            self.paid.clear()


class Limits(KeyedBroadcastProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen"))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.seen.update((self.seen.value() or 0) + 1)
        rules = ctx.get_broadcast_state(RULES)
        if "limit" in rules and value[1] > rules.get("limit"):
            yield value[0], value[1], self.seen.value()

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put(value[0], value[1])


class Pairs(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterator[Any]:
        yield left[1], right[1], ctx.get_timestamp()


def program(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    paid = pairs(env, [("a", 1), ("b", 2)], [("c", 30)])
    receipts = pairs(env, [("a", 5)], [("c", 31)])
    both = paid.connect(receipts).key_by(first, first).process(Both())
    some = env.from_collection([("a", 1), ("b", 2), ("a", 9), ("b", 7)], PAIR)
    limit = env.from_collection([("limit", 5)], PAIR)
    # joins.md, section 2: minutes as milliseconds, the key is the number
    left, right = pairs(env, [("1", 2), ("3", 3), ("2", 6)]), pairs(env, [("2", 1), ("3", 4), ("4", 5)])
    five = TumblingEventTimeWindows.of(Time.milliseconds(5))
    # joins.md, section 1
    near, far = (pairs(env, [("k", time) for time in times]).key_by(first) for times in ((0, 2, 3, 4, 5, 7), (0, 1, 6, 7)))
    return {
        "receipts": both,
        "missing": both.get_side_output(LEFT),
        "words": some.connect(limit).map(Words()),
        "limited": some.key_by(first).connect(limit.broadcast(RULES)).process(Limits()),
        "joined": left.join(right).where(first).equal_to(first).window(five).apply(lambda one, other: (one, other)),
        "grouped": left.co_group(right).where(first).equal_to(first).window(five).apply(lambda ones, others: [(ones, others)]),
        "near": near.interval_join(far).between(-2, 1).process(Pairs()),
    }


@pytest.mark.parametrize("mode", [BATCH, STREAMING], ids=["batch", "streaming"])
def test_two_streams_give_the_same_in_a_batch_and_as_a_stream(mode: RuntimeExecutionMode) -> None:
    near = [(0, 0), (0, 1), (2, 0), (2, 1), (3, 1), (5, 6), (7, 6), (7, 7)]
    assert results(mode, program) == {
        "receipts": [("a", 1, 5), ("c", 30, 31)],
        "missing": [("b", 2)],
        "words": ["one a", "one a", "one b", "one b", "two limit"],
        "limited": [("a", 9, 2), ("b", 7, 2)],
        "joined": [(("3", 3), ("3", 4))],
        "grouped": sorted(
            [([("1", 2)], []), ([], [("2", 1)]), ([("3", 3)], [("3", 4)]), ([("2", 6)], []), ([], [("4", 5)])], key=repr
        ),
        "near": [(one, other, max(one, other)) for one, other in near],
    }  # fmt: skip
