"""A stage on the kernel: one scan, keyed by the task, whose function is the task. From DataFrame to DataFrame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pyspark import cloudpickle
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

import headrace.fronts.samza as front
from headrace.fronts.samza.applications.programs import Application, Stage
from headrace.fronts.samza.config import Input
from headrace.fronts.samza.running.host import OnAlarm, OnMessage, StreamSpec, TaskSpec
from headrace.kernel.python.scanning import PythonScanOptions, PythonTimer, scan_python

MESSAGE = "stream string, partition int, offset bigint, key binary, message binary, timestamp timestamp, turn bigint"
"""A message on its way to a task. `turn` orders those of one rank; equal ones stay as they came."""

SENT = "stream string, partition int, key binary, message binary, at bigint"
"""What a task sent, and when by its clock, in milliseconds."""

_FIRST, _BOOTSTRAP = -(2**31), -(2**30)


def spec(app: Application, stage: Stage, *, outputs: Mapping[str, StreamSpec], control: str | None, memory: bool = False) -> TaskSpec:
    """What the workers need of a stage."""
    system, window = app.config.system, -1 if hasattr(stage.factory, "wakes") else app.window_ms  # a graph has no window of a task's
    inputs = {name: outputs.get(name) or StreamSpec(system, *app.serdes(name)) for name in stage.inputs}
    callback = app.config.number("task.callback.timeout.ms", -1)
    return TaskSpec(stage.factory, app.config.values, system, inputs, outputs, stage.stores, window, callback, control, memory=memory)


def run(df: DataFrame, what: TaskSpec, inputs: Mapping[str, Input], tasks: int, initial: DataFrame | None = None) -> DataFrame:
    """What the tasks send, of messages as `MESSAGE` has them."""
    cloudpickle.register_pickle_by_value(front)  # type: ignore[no-untyped-call]  # a cluster's machines need not have headrace
    bounded = not df.isStreaming
    what = replace(what, bounded=bounded)
    messages = _to_tasks(df, inputs, tasks).withColumn("rank", _rank(inputs))
    if bounded:  # every task is there, though it may have no message
        there = df.sparkSession.range(tasks).select(F.col("id").cast("int").alias("task"), F.lit(_FIRST).alias("rank"))
        messages = messages.unionByName(there, allowMissingColumns=True)
    options: PythonScanOptions = {
        "state": "wake timestamp, now bigint, window bigint, fields binary", "maps": [store.column for store in what.stores],
        "function": OnMessage(what), "output": SENT, "order": ["rank", "turn"], "initial": initial,
        "timer": PythonTimer(at="state.wake", function=OnAlarm(what)) if what.wakes else None,
    }  # fmt: skip
    return scan_python(messages, keys="task", **options)


def _to_tasks(df: DataFrame, inputs: Mapping[str, Input], tasks: int) -> DataFrame:
    """Each message with the number of its task: its partition's, or every one for what is broadcast."""
    to = F.array(F.col("partition"))
    for name, stream in inputs.items():
        if stream.broadcast is not None:
            wanted = F.col("partition").isin(*stream.broadcast) if stream.broadcast else F.lit(True)
            everyone = F.when(wanted, F.sequence(F.lit(0), F.lit(tasks - 1))).otherwise(F.array().cast("array<int>"))
            to = F.when(F.col("stream") == name, everyone).otherwise(to)
    if any(stream.broadcast is not None for stream in inputs.values()):
        return df.withColumn("task", F.explode(to))
    return df.withColumn("task", F.col("partition"))


def _rank(inputs: Mapping[str, Input]) -> Column:
    """Within a batch, what comes first: bootstrap streams, then by priority."""
    rank = F.lit(0)
    for name, stream in inputs.items():
        number = (_BOOTSTRAP if stream.bootstrap else 0) - max(stream.priority, 0)
        rank = F.when(F.col("stream") == name, F.lit(number)).otherwise(rank) if number else rank
    return rank


def restored(changelogs: Mapping[str, DataFrame], stage: Stage) -> DataFrame | None:
    """The stores as their changelogs have them: a table to begin with. A changelog is (partition, key, value, offset)."""
    table: DataFrame | None = None
    for store in stage.stores:
        if store.changelog is None or store.changelog not in changelogs:
            continue
        log = changelogs[store.changelog].where("key is not null").groupBy(F.col("partition").alias("task"), "key")
        newest = log.agg(F.max_by("value", "offset").alias("value")).where("value is not null").groupBy("task")
        one = newest.agg(F.collect_list(F.struct("key", "value")).alias(store.column))
        table = one if table is None else table.join(one, "task", "full")
    return table
