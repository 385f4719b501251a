"""Mistakes are told in Flink's words, at the line of the program, before anything starts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.fronts.flink.running import PAIR, first, pairs

from headrace.errors import DefinitionError
from headrace.flink import (
    CEP,
    AggregateFunction,
    ContinuousProcessingTimeTrigger,
    DeliveryGuarantee,
    DeltaTrigger,
    Duration,
    EventTimeSessionWindows,
    KafkaOffsetsInitializer,
    KafkaSink,
    KafkaSource,
    KeyedProcessFunction,
    OutputTag,
    Pattern,
    SlidingEventTimeWindows,
    StreamExecutionEnvironment,
    Time,
    TumblingEventTimeWindows,
    Types,
    ValueStateDescriptor,
    WatermarkStrategy,
)

pytestmark = pytest.mark.usefixtures("spark")


class Timers(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.timer_service().register_event_time_timer(1)
        yield value

    def on_timer(self, timestamp: int, ctx: Any) -> None:
        pass


class BothTimers(Timers):
    def on_timer(self, timestamp: int, ctx: Any) -> None:
        ctx.timer_service().register_processing_time_timer(1)


class NoMerge(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator

    def get_result(self, accumulator: int) -> int:
        return accumulator


Env = StreamExecutionEnvironment
TEN = TumblingEventTimeWindows.of(Time.seconds(10))
SESSIONS = EventTimeSessionWindows.with_gap(Time.seconds(10))


def some(env: Env) -> Any:
    return env.from_collection([("a", 1)], PAIR)


def timed(env: Env) -> Any:
    return pairs(env, [("a", 1)]).key_by(first)


@pytest.mark.parametrize(
    ("wrong", "what", "fix"),
    [
        (lambda env: some(env).map(lambda one, other: one), "map: <lambda> cannot be called with (value)", "(value)"),
        (lambda env: some(env).map(3), "map: 3 is no function and has no map(value)", "an object with map"),
        (lambda env: some(env).map(Timers), "map: Timers is a class", "Timers()"),
        (lambda env: some(env).map(str, output_type="text"), "map: output_type: 'text' is no type", "Types.STRING()"),
        (lambda env: some(env).iterate(), "has no 'iterate'", "cannot lead back to itself"),
        (lambda env: some(env).split(first), "has no 'split'", "side outputs"),
        (lambda env: some(env).flatMap(first), "has no 'flatMap'", "flat_map"),
        (lambda env: some(env).process(Timers()), "timers belong to a key", "key_by"),
        (lambda env: some(env).get_side_output(OutputTag("x")), "only what a process function", "before anything follows"),
        (lambda env: some(env).union(3), "union: 3 is no DataStream", "streams"),
        (lambda env: some(env).union(env.from_collection(["a"], Types.STRING())), "one stream is of TUPLE", "map one of them"),
        (lambda env: some(env).union(pairs(env, [])), "only one of the streams has watermarks", "each of them"),
        (lambda env: some(env).key_by(5), "key_by: 5 is no field of TUPLE", "0 to 1"),
        (lambda env: some(env).map(first).key_by(0), "has no fields that Spark knows", "lambda"),
        (lambda env: some(env).map(lambda pair: pair).key_by(first).sum(1), "does not know the fields", "output_type="),
        (lambda env: some(env).key_by(first).sum("f2"), "sum: 'f2' is no field", "f0, f1"),
        (lambda env: some(env).key_by(first).process(Timers()), "by event time, and the stream has none", "assign_timestamps"),
        (lambda env: timed(env).process(BothTimers()), "by event time and by the clock", "two functions"),
        (lambda env: some(env).key_by(first).window(TEN).reduce(max), "the stream has none", "assign_timestamps"),
        (lambda env: timed(env).window("10 seconds"), "is no window assigner", "TumblingEventTimeWindows.of"),
        (lambda env: timed(env).window(TEN).trigger(ContinuousProcessingTimeTrigger.of(5)).reduce(max), "by the clock", "the same time"),
        (lambda env: timed(env).window(SESSIONS).trigger(DeltaTrigger.of(1, max)).reduce(max), "has no on_merge", "another trigger"),
        (lambda env: timed(env).window(SESSIONS).aggregate(NoMerge()), "how two accumulators do", "merge(self"),
        (lambda env: SlidingEventTimeWindows.of(5, 10), "longer than the size", "size first"),
        (lambda env: TumblingEventTimeWindows.of(Time.seconds(0)), "0 ms is no length of time", "more than 0"),
        (lambda env: timed(env).interval_join(timed(env)).process(Timers()), "how far apart", "between"),
        (lambda env: timed(env).interval_join(timed(env)).between(2, 1), "lower bound is above", "lower one first"),
        (lambda env: some(env).join(some(env)).window(TEN), "the keys come first", "where"),
        (lambda env: some(env).broadcast(), "which state the stream fills", "MapStateDescriptor"),
        (lambda env: some(env).assign_timestamps_and_watermarks(3), "3 is no WatermarkStrategy", "for_bounded"),
        (
            lambda env: some(env).assign_timestamps_and_watermarks(WatermarkStrategy.for_monotonous_timestamps()),
            "the records have no time", "with_timestamp_assigner",
        ),
        (lambda env: WatermarkStrategy.for_monotonous_timestamps().with_watermark_alignment("g", 1), "held back", "leave it out"),
        (lambda env: Duration.of_seconds("5"), "'5' is no number", "Time.seconds(5)"),
        (lambda env: ValueStateDescriptor(3), "3 is no name", "text first"),
        (lambda env: ValueStateDescriptor("n").enable_time_to_live(None), "does not expire", "timer"),
        (lambda env: CEP.pattern(some(env), Pattern.begin("a")), "is no keyed stream", "key_by"),
        (lambda env: Pattern.begin("a").followedBy("b"), "has no 'followedBy'", "followed_by"),
        (
            lambda env: CEP.pattern(some(env).key_by(first), Pattern.begin("a").next("b").within(Time.seconds(1))).select(len),
            "within: the stream has no event time", "assign_timestamps",
        ),
        (
            lambda env: CEP.pattern(some(env).key_by(first), Pattern.begin("a").where(lambda value, ctx: True)).select(len),
            "where: of 'a': <lambda> cannot be called with (value)", "(value)",
        ),
        (lambda env: KafkaSource.builder().build(), "no topic is named", "set_topics"),
        (lambda env: KafkaSource.builder().set_topics("t").build(), "what the values are", "SimpleStringSchema"),
        (lambda env: KafkaSink.builder().set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE), "no transactions", "AT_LEAST_ONCE"),
        (lambda env: KafkaOffsetsInitializer.committed_offsets(), "in its checkpoint", "earliest()"),
        (lambda env: some(env).add_sink(3), "3 is no sink", "KafkaSink"),
        (lambda env: env.execute(), "no stream goes anywhere", "print()"),
        (lambda env: env.set_runtime_mode("batch"), "'batch' is no mode", "RuntimeExecutionMode.BATCH"),
        (lambda env: env.add_source(3), "has no 'add_source'", "from_source"),
        (lambda env: env.from_collection("abc"), "'abc' is no list", "list of values"),
        (lambda env: env.from_collection([1], Types.STRING()), "1 is no STRING", "of that type"),
        (lambda env: Types.TUPLE(Types.INT()), "give a list of types", "Types.TUPLE(["),
        (lambda env: OutputTag(3), "3 is no name", "OutputTag('late'"),
    ],
)  # fmt: skip
def test_a_mistake_is_refused_with_what_to_write_instead(wrong: Callable[[Env], Any], what: str, fix: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        wrong(StreamExecutionEnvironment.get_execution_environment())
    assert what in refused.value.what
    assert fix in refused.value.fix
    assert "test_mistakes.py" in (refused.value.where or "")
