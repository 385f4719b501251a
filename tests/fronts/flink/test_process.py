"""Functions with keyed state, timers and side outputs: the same in a batch and however a stream is cut."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.fronts.flink.running import BATCH, PAIR, STREAMING, first, pairs, results

from headrace.flink import (
    AggregateFunction,
    AggregatingStateDescriptor,
    DataStream,
    KeyedProcessFunction,
    ListStateDescriptor,
    MapFunction,
    MapStateDescriptor,
    OutputTag,
    ProcessFunction,
    ReducingStateDescriptor,
    Row,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
    Types,
    ValueStateDescriptor,
)

pytestmark = pytest.mark.usefixtures("spark")

LARGE = OutputTag("large", PAIR)


class Mean(AggregateFunction):
    def create_accumulator(self) -> Any:
        return 0, 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1]


class Quiet(KeyedProcessFunction):
    """Ten milliseconds after the last record of a key, all there is to know of it; then it is forgotten."""

    def open(self, runtime_context: Any) -> None:
        self.timer = runtime_context.get_state(ValueStateDescriptor("timer", Types.LONG()))
        self.times = runtime_context.get_list_state(ListStateDescriptor("times", Types.LONG()))
        self.odd = runtime_context.get_map_state(MapStateDescriptor("odd", Types.INT(), Types.BOOLEAN()))
        self.total = runtime_context.get_reducing_state(ReducingStateDescriptor("total", lambda one, other: one + other, Types.INT()))
        self.mean = runtime_context.get_aggregating_state(AggregatingStateDescriptor("mean", Mean(), Types.DOUBLE()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        if self.timer.value() is not None:
            ctx.timer_service().delete_event_time_timer(self.timer.value())
        self.timer.update(ctx.timestamp() + 10)
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)
        self.times.add(ctx.timestamp())
        self.odd.put(value[1], value[1] % 2 == 1)
        self.total.add(value[1])
        self.mean.add(value[1])
        if value[1] > 20:
            yield LARGE, value

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield (ctx.get_current_key(), timestamp, list(self.times), sorted(self.odd.items()), self.total.get(), self.mean.get())
        for state in (self.timer, self.times, self.odd, self.total, self.mean):
            state.clear()


@pytest.mark.parametrize("mode", [BATCH, STREAMING], ids=["batch", "streaming"])
def test_a_timer_rings_when_a_key_is_quiet_and_sees_all_its_state(mode: RuntimeExecutionMode) -> None:
    def program(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
        quiet = pairs(env, [("a", 1), ("b", 3), ("a", 7)], [("a", 30)], [("b", 31)]).key_by(first).process(Quiet())
        return {"main": quiet, "large": quiet.get_side_output(LARGE)}

    assert results(mode, program) == {
        "main": [
            ("a", 17, [1, 7], [(1, True), (7, True)], 8, 4.0),
            ("a", 40, [30], [(30, False)], 30, 30.0),
            ("b", 13, [3], [(3, True)], 3, 3.0),
            ("b", 41, [31], [(31, True)], 31, 31.0),
        ],
        "large": [("a", 30), ("b", 31)],
    }


class Halves(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value if value[1] % 2 == 0 else (LARGE, value)


class Opened(MapFunction):
    def open(self, runtime_context: Any) -> None:
        self.word = "opened"

    def map(self, value: Any) -> Any:
        return Row(word=self.word, n=value[1])


def test_functions_of_single_records_side_outputs_unions_and_rolling_aggregates() -> None:
    def program(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
        some = env.from_collection([("a", 1), ("b", 2), ("a", 5), ("a", 4)], PAIR)
        parted = some.process(Halves(), PAIR)
        named = Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.INT()])
        return {
            "even": parted,
            "odd": parted.get_side_output(LARGE),
            "united": some.union(env.from_collection([("c", 9)], PAIR)).filter(lambda pair: pair[1] > 4).map(lambda pair: pair[0]),
            "max": some.key_by(lambda pair: pair[0]).max(1),
            "min_by": some.key_by("f0").min_by("f1"),
            "reduced": some.map(lambda pair: [pair[1]]).key_by(lambda values: values[0] % 2).reduce(lambda one, other: one + other),
            "rows": some.map(Opened(), output_type=named).filter(lambda row: row.n > 4 and row["word"] == "opened"),
        }

    assert results(BATCH, program) == {
        "even": [("a", 4), ("b", 2)],
        "odd": [("a", 1), ("a", 5)],
        "united": ["a", "c"],
        "max": [("a", 5), ("b", 2)],
        "min_by": [("a", 1), ("b", 2)],
        "reduced": [[1, 5], [2, 4]],
        "rows": [Row(word="opened", n=5)],
    }
