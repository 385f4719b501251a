"""What a DataFrame is made of, read from Spark's own plan.

A step's name says what the user called; only the plan says what it does. So user code that drops in with `then` is judged by the same
table as headrace's own operators, and nothing has to be declared twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from headrace.spark import failures

STATEFUL = frozenset(
    {
        "Aggregate",
        "Deduplicate",
        "DeduplicateWithinWatermark",
        "FlatMapGroupsInPandasWithState",
        "FlatMapGroupsWithState",
        "GlobalLimit",
        "SessionWindow",
        "Sort",
        "StreamStreamJoin",
        "StreamStreamOuterJoin",
        "TransformWithState",
        "TransformWithStateInPySpark",
        "Window",
    }
)

SCAN = "scan"
"""What the state of a scan is called, which tells what it remembers more exactly than Spark's operators do."""

INPUT = "LogicalRDD"
"""The kind of what a preview begins with, in the place of its source."""


def kinds(frame: DataFrame) -> list[str]:
    """The kinds of operators over streaming rows, from the last to the first.

    The optimiser has been at them, because it is what turns Python functions into operators. It would refuse to work on a whole
    streaming query, but not on its plan.
    """
    join = frame.sparkSession._jsparkSession.sessionState().planner().JoinSelection()
    return [_kind(plan, join) for plan in _plans(_optimized(frame))]


def repartitions(frame: DataFrame) -> int:
    """How many partitions all the operators together make that only spread rows anew."""
    return sum(plan.numPartitions() for plan in _plans(_optimized(frame)) if _kind(plan) in ("Repartition", "RepartitionByExpression"))


def _optimized(frame: DataFrame) -> Any:
    return frame.sparkSession._jsparkSession.sessionState().optimizer().execute(frame._jdf.queryExecution().analyzed())


def _plans(plan: Any) -> Iterator[Any]:
    if plan.isStreaming():  # a static side of a join may do as it likes
        yield plan
        for child in _each(plan.children()):
            yield from _plans(child)


def _each(sequence: Any) -> list[Any]:
    """A Scala sequence as a list."""
    return [sequence.apply(i) for i in range(sequence.size())]


def _kind(plan: Any, join: Any = None) -> str:
    """Spark's name of the operator, but several names where one hides several cases. `join` is Spark's own choice of how to join."""
    name: str = plan.nodeName()
    if name == "Join" and all(child.isStreaming() for child in _each(plan.children())):
        return "StreamStreamOuterJoin" if plan.joinType().toString().endswith("Outer") else "StreamStreamJoin"
    if name == "Join" and join is not None and join.apply(plan).head().nodeName() != "BroadcastHashJoin":
        return "ComparingJoin"
    if name == "Repartition" and not plan.shuffle():
        return "Coalesce"
    if name == "Aggregate" and "session_window" in plan.simpleString(1000):
        return "SessionWindow"
    return name


def refusal(frame: DataFrame, output_mode: str) -> str | None:
    """Why Spark would not run a streaming DataFrame with this output mode; none if it would."""
    jvm: Any = frame.sparkSession._jvm
    mode = jvm.org.apache.spark.sql.catalyst.streaming.InternalOutputModes.apply(output_mode)
    try:
        jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker.checkForStreaming(
            frame._jdf.queryExecution().analyzed(), mode
        )
    except PySparkException as error:
        return failures.first_line(error)
    return None


def sources_are_distinct(frame: DataFrame) -> bool:
    """Whether each source of streaming rows stands in the plan only once."""
    leaves = [leaf for leaf in _each(frame._jdf.queryExecution().analyzed().collectLeaves()) if leaf.isStreaming()]
    return len({leaf.output().head().exprId().id() for leaf in leaves}) == len(leaves)


def by_the_clock(frame: DataFrame) -> bool:
    """Whether a streaming DataFrame has alarms or expiry that go by the clock and not by event time."""
    analyzed = frame._jdf.queryExecution().analyzed()
    return any(_kind(plan) == "TransformWithState" and plan.timeMode().toString() == "ProcessingTime" for plan in _plans(analyzed))


def state(frame: DataFrame) -> list[dict[str, Any]]:
    """What the states of a streaming DataFrame are keyed by and hold, from the last operator to the first.

    Names of results are left out: they may change while the state stays as it is.
    """
    analyzed = frame._jdf.queryExecution().analyzed()
    return [_state(plan) for plan in _plans(analyzed) if _kind(plan) in STATEFUL]


def fields(frame: DataFrame) -> list[str]:
    """The fields that each scan keeps for a key, as Spark's JSON, from the last scan to the first."""
    scans = (plan for plan in _plans(frame._jdf.queryExecution().analyzed()) if _kind(plan) == "TransformWithState")
    return [str(plan.statefulProcessor().plan().remembers()["fields"]) for plan in scans]


def _state(plan: Any) -> dict[str, Any]:
    kind = _kind(plan)
    match kind:
        case "Aggregate" | "SessionWindow":
            values = [_expression(value) for value in _each(plan.aggregateExpressions())]
            keys = [_expression(key) for key in _each(plan.groupingExpressions())]
            return {"operator": kind, "keys": keys, "values": sorted(set(values) - set(keys))}
        case "Deduplicate" | "DeduplicateWithinWatermark":
            return {"operator": kind, "keys": [_expression(key) for key in _each(plan.keys())]}
        case "TransformWithState":
            keys = [_expression(key) for key in _each(plan.groupingAttributes())]
            remembered = dict(plan.statefulProcessor().plan().remembers())
            columns = {name: _columns(remembered.pop(name)) for name in ("fields", "bags", "waiting")}
            return {"operator": SCAN, "keys": keys, **columns, "maps": list(remembered.pop("maps")), **remembered}
    return {"operator": kind}


def _columns(schema: str | None) -> list[list[str]] | None:
    """Names and types, from Spark's JSON of a schema."""
    return None if schema is None else [[field.name, field.dataType.simpleString()] for field in StructType.fromJson(json.loads(schema))]


def _expression(expression: Any) -> str:
    plain = expression.child() if expression.getClass().getSimpleName() == "Alias" else expression
    return f"{plain.sql()} {plain.dataType().simpleString()}"
