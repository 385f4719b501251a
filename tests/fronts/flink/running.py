"""Running small programs of Flink's in a test: several streams at once, in one job."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.flink import DataStream, RuntimeExecutionMode, StreamExecutionEnvironment, Types, WatermarkStrategy

BATCH, STREAMING = RuntimeExecutionMode.BATCH, RuntimeExecutionMode.STREAMING
PAIR = Types.TUPLE([Types.STRING(), Types.INT()])


def first(value: Any) -> Any:
    """The key of a pair."""
    return value[0]


def second(value: Any, _: int = 0) -> Any:
    """The time of a pair."""
    return value[1]


IN_ORDER = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(second)


def environment(mode: RuntimeExecutionMode) -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_runtime_mode(mode)


def pairs(env: StreamExecutionEnvironment, *batches: list[tuple[str, int]]) -> DataStream:
    """Pairs of a key and a time, a micro-batch for each list."""
    return env.from_batches(*batches, type_info=PAIR).assign_timestamps_and_watermarks(IN_ORDER)


def results(mode: RuntimeExecutionMode, program: Callable[[StreamExecutionEnvironment], dict[str, DataStream]]) -> dict[str, list[Any]]:
    """What the streams of a program give, each in order."""
    env = environment(mode)
    collected: dict[str, list[Any]] = {}
    for name, stream in program(env).items():
        stream.add_sink(collected.setdefault(name, []).append)
    env.execute("test")
    return {name: sorted(values, key=repr) for name, values in collected.items()}
