"""A topology as one Spark query: a source, for each level a shuffle by worker and a Python stage, and the acker at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from pyspark import cloudpickle
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headrace.definitions import seals
from headrace.fronts import read
from headrace.fronts.storm import components, graph, tasks
from headrace.fronts.storm.graph.layout import Layout
from headrace.fronts.storm.graph.reliability import Reliability
from headrace.fronts.storm.spark import saved, stages, states, topics, wire
from headrace.fronts.storm.spark.acker import acker
from headrace.fronts.storm.spark.stages import Hosted, Restored, Stage
from headrace.fronts.storm.spark.topics import Topics
from headrace.fronts.storm.spark.wire import ROW
from headrace.fronts.stream import Stream
from headrace.io.kafka.connector import KafkaSink
from headrace.io.kafka.topics import Topic
from headrace.kernel import jvm
from headrace.kernel.python import calls as python_calls
from headrace.planning import recipe
from headrace.planning.recipe import Output

_RUNTIME = (graph, tasks, components, saved, seals, stages, topics, wire)
"""What works in Python's processes: rooms with all that is in them, and modules. They go there by value: a cluster's machines need not
have headrace."""


NAME = "storm"
"""Of the query."""


def output(made: Layout, own: Topics, restored: Restored | None) -> Output:
    """What a job runs: all levels, and everything that they put out in one sink. Effectively once, it begins with what was restored."""
    committed = None if restored is None else {"kafka.isolation.level": "read_committed"}
    stream = read.kafka(own.tuples, options=committed).then(_rows)
    for level in range(1, 1 + max(made.level.values())):
        dealt = stream.then(partial(_dealt, workers=made.workers))
        stage = partial(_staged, stage=Stage(made, level, own, restored))
        stream = Stream(recipe.grow(f"storm: level {level}", stage, dealt.step, row="storm"))
    headers: dict[str, Column] = {}
    if restored is not None:
        ended = stream.with_columns(state=states.key(own)).key_by("state").scan(**states.keeper(own))
        headers = {states.ID_HEADER: F.col("id")}
    elif made.ackers:
        ended = stream.key_by("root").scan(**acker(own.acks, made.timeout))
    else:
        ended = stream.where("topic IS NOT NULL").select("topic", "key", F.col("payload").alias("value"))
    sink = KafkaSink(tuple(own.written(made)), "key", "value", NAME, headers=headers, create=Topic(partitions=1), route="topic")
    return recipe.end(ended.step, sink)


def slots(made: Layout) -> int:
    """How many task slots it holds in real time: those of the topic's one partition, of the levels and of the state."""
    return 1 + made.workers * max(made.level.values()) + partitions(made)


def partitions(made: Layout) -> int:
    """Partitions of the query's state: of the acker, or effectively once of the bolts' states."""
    return made.workers if made.reliability is Reliability.EFFECTIVELY_ONCE else made.ackers


def _rows(df: DataFrame) -> DataFrame:
    """Records of the feeder as rows."""
    names = [field.strip().split(" ") for field in ROW.split(",")]
    numbers = F.split(F.col("key").cast("string"), ",")
    columns = [numbers[place].cast(kind).alias(name) for place, (name, kind) in enumerate(names[:6])]
    return df.select(
        *columns, F.lit(None).cast("string").alias("topic"), F.lit(None).cast("binary").alias("key"), F.col("value").alias("payload")
    )


def _dealt(df: DataFrame, workers: int) -> DataFrame:
    return df.repartitionById(workers, F.col("worker"))


def _staged(df: DataFrame, stage: Stage) -> DataFrame:
    answer = T.ArrayType(df.schema)
    row = F.struct(*df.columns)
    with by_value(stage.layout):
        call = python_calls.packed(df, Hosted(stage), (row,), answer, None)
    java = jvm.package(df.sparkSession).PythonMap.apply(df._jdf, "answer", *call, stage.restored is not None)
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
            for own in (grouping.own, getattr(grouping.own, "chooser", None)):
                if own is not None:
                    python_calls.travels_with_the_job(type(own))
