"""CEP by the examples of patterns.md: the word of Flink, on headrace's operator; conditions as expressions and as Python functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.fronts.flink.running import BATCH, STREAMING, results

from headrace.flink import (
    CEP,
    AfterMatchSkipStrategy,
    DataStream,
    OutputTag,
    Pattern,
    PatternProcessFunction,
    StreamExecutionEnvironment,
    Time,
    Types,
    WatermarkStrategy,
)

pytestmark = pytest.mark.usefixtures("spark")

EVENT = Types.ROW_NAMED(["who", "name", "at"], [Types.STRING(), Types.STRING(), Types.LONG()])
IN_ORDER = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda event, _: event.at)
GONE = OutputTag("gone")


def events(env: StreamExecutionEnvironment, text: str, times: tuple[int, ...] = ()) -> Any:
    """A key's events, a second apart unless their times are given."""
    names = text.split()
    rows = [("k", name, time) for name, time in zip(names, times or [1000 * n for n in range(len(names))], strict=True)]
    return env.from_collection(rows, EVENT).assign_timestamps_and_watermarks(IN_ORDER).key_by("who")


def found(stream: Any, pattern: Pattern) -> DataStream:
    return CEP.pattern(stream, pattern, most=100).select(lambda match: " ".join(each.name for step in match.values() for each in step))


class Absent(PatternProcessFunction):
    def process_match(self, match: Any, ctx: Any) -> Iterator[Any]:
        yield " ".join(event.name for step in match.values() for event in step), ctx.timestamp()

    def process_timed_out_match(self, match: Any, ctx: Any) -> Iterator[Any]:
        yield GONE, (" ".join(event.name for step in match.values() for event in step), ctx.timestamp())


def a(name: str) -> Any:
    """A Python condition: its name begins so."""
    return lambda event: event.name.startswith(name)


def program(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    contiguity = events(env, "a c b1 b2")
    start = Pattern.begin("start").where("name = 'a'")
    skipping = events(env, "b1 b2 b3 c")
    past_last = AfterMatchSkipStrategy.skip_past_last_event()
    within = CEP.pattern(
        events(env, "a1 b1 a2 b2", (0, 9, 20, 30)),
        Pattern.begin("a").where(a("a")).followed_by("end").where(a("b")).within(Time.milliseconds(10)),
    ).process(Absent())
    return {
        "next": found(contiguity, start.next("middle").where(a("b"))),
        "followed_by": found(contiguity, start.followed_by("end").where("startswith(name, 'b')")),
        "followed_by_any": found(contiguity, start.followed_by_any("end").where(a("b"))),
        "all": found(skipping, Pattern.begin("b").where(a("b")).one_or_more().consecutive().greedy().next("c").where(a("c"))),
        "past_last": found(
            skipping, Pattern.begin("b", past_last).where(a("b")).one_or_more().consecutive().greedy().next("c").where("name = 'c'")
        ),
        "or": found(contiguity, Pattern.begin("one").where("name = 'a'").or_(a("c")).next("two")),
        "group": found(
            events(env, "a1 b1 a2 b2 c"),
            Pattern.begin(Pattern.begin("a").where(a("a")).next("b").where(a("b"))).one_or_more().next("c").where(a("c")),
        ),
        "within": within,
        "gone": within.get_side_output(GONE),
    }


@pytest.mark.parametrize("mode", [BATCH, STREAMING], ids=["batch", "streaming"])
def test_patterns_give_flinks_matches(mode: Any) -> None:
    assert results(mode, program) == {
        "next": [],
        "followed_by": ["a b1"],
        "followed_by_any": ["a b1", "a b2"],
        "all": ["b1 b2 b3 c", "b2 b3 c", "b3 c"],
        "past_last": ["b1 b2 b3 c"],
        "or": ["a c", "c b1"],
        "group": ["a1 a2 b1 b2 c", "a2 b2 c"],
        "within": [("a1 b1", 9)],
        "gone": [("a2", 30)],
    }
