"""A topology as one Spark query: a source, for each level a shuffle by worker and a Python stage, and the acker at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from pyspark import cloudpickle
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headrace.fronts import read
from headrace.fronts.storm import (
    acking,
    components,
    groupings,
    kafka,
    layout,
    multilang,
    rich,
    seals,
    stages,
    state,
    tasks,
    topics,
    tuples,
    windows,
    wire,
)
from headrace.fronts.storm.acker import acker
from headrace.fronts.storm.layout import Layout
from headrace.fronts.storm.stages import Hosted, Stage
from headrace.fronts.storm.topics import Topics
from headrace.fronts.storm.wire import ROW
from headrace.fronts.stream import Stream
from headrace.io.kafka import KafkaSink
from headrace.io.topics import Topic
from headrace.kernel import jvm, python_calls
from headrace.planning import recipe
from headrace.planning.recipe import Output

_RUNTIME = (acking, components, groupings, kafka, layout, multilang, rich, seals, stages, state, tasks, topics, tuples, windows, wire)
"""The modules that work in Python's processes. They go there by value: a cluster's machines need not have headrace."""


def output(made: Layout, own: Topics) -> Output:
    """What a job runs: all levels, and everything that they put out in one sink."""
    stream = read.kafka(own.tuples).then(_rows)
    for level in range(1, 1 + max(made.level.values())):
        dealt = stream.then(partial(_dealt, workers=made.workers))
        stage = partial(_staged, stage=Stage(made, level, own))
        stream = Stream(recipe.grow(f"storm: level {level}", stage, dealt.step, row="storm"))
    if made.ackers:
        ended = stream.key_by("root").scan(**acker(own.acks, made.timeout))
    else:
        ended = stream.where("topic IS NOT NULL").select("topic", "key", F.col("payload").alias("value"))
    sink = KafkaSink(tuple(own.written(made)), "key", "value", "storm", create=Topic(partitions=1), route="topic")
    return recipe.end(ended.step, sink)


def slots(made: Layout) -> int:
    """How many task slots it holds in real time: those of the topic's one partition, of the levels and of the ackers."""
    return 1 + made.workers * max(made.level.values()) + ackers(made)


def ackers(made: Layout) -> int:
    """Partitions of the acker: as many as it has executors, one for each worker if none are asked for."""
    return 0 if made.ackers == 0 else int(made.config.get("topology.acker.executors") or made.workers)


def _rows(df: DataFrame) -> DataFrame:
    """Records of the feeder as rows."""
    names = [field.strip().split(" ") for field in ROW.split(",")]
    numbers = F.split(F.col("key").cast("string"), ",")
    given = [numbers[place].cast(kind).alias(name) for place, (name, kind) in enumerate(names[:6])]
    return df.select(
        *given, F.lit(None).cast("string").alias("topic"), F.lit(None).cast("binary").alias("key"), F.col("value").alias("payload")
    )


def _dealt(df: DataFrame, workers: int) -> DataFrame:
    return df.repartitionById(workers, F.col("worker"))


def _staged(df: DataFrame, stage: Stage) -> DataFrame:
    answer = T.ArrayType(df.schema)
    row = F.struct(*df.columns)
    with by_value(stage.layout):
        call = python_calls.packed(df, Hosted(stage), (row,), answer, None)
    java = jvm.package(df.sparkSession).PythonMap.apply(df._jdf, "answer", *call)
    return jvm.data_frame(java, df.sparkSession).select(F.explode("answer").alias("row")).select("row.*")


@contextmanager
def by_value(made: Layout) -> Iterator[None]:
    """What is pickled meanwhile needs no module of headrace's, nor any of the program's own."""
    travelling(made)
    for module in _RUNTIME:
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        for module in _RUNTIME:
            cloudpickle.unregister_pickle_by_value(module)  # type: ignore[no-untyped-call]


def travelling(made: Layout) -> None:
    """The modules of the program's own components are sent by value."""
    for part in made.parts.values():
        code = part.code if isinstance(part.code, type) else type(part.code)
        for kind in code.__mro__:
            if not kind.__module__.startswith("headrace."):
                python_calls.travels_with_the_job(kind)
        for grouping in part.inputs.values():
            if grouping.custom is not None:
                python_calls.travels_with_the_job(type(grouping.custom))
