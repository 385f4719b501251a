"""Task slots: how many tasks Spark runs at once, and how many of them are taken.

A real-time query holds one for each partition of its sources, its state and whatever it repartitions, from its start to its end. With too
few it waits for ever; so they are counted before it starts. Other work of the session takes slots as it comes, and where it has one as a
real-time query goes from batch to batch, the query waits for it. (On a cluster, whose slots may go away, Spark ends such a query if it has
state.)
"""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headrace.errors import ModeError, user_line
from headrace.io.connectors import Source
from headrace.planning import plans
from headrace.planning.groups import Group
from headrace.planning.recipe import Step
from headrace.spark import cluster

_held: dict[str, int] = {}
"""Slots of the real-time queries that were started in this process, by the id of their run."""


def check(asked: int) -> None:
    """Raise ModeError if there are too few for queries that need so many in real time, beside those that run already.

    On a cluster this waits for executors that are still to come."""
    taken = held()
    there = cluster.slots_to_come(SparkSession.active(), enough=asked + taken)
    if asked + taken > there:
        beside = f", of which queries that run already hold {taken}" if taken else ""
        raise ModeError(
            f"real-time mode needs {asked} task slots at once, one for each partition of sources and state, and there are {there}{beside}",
            fix=f"{_more(asked + taken)}, or with fewer partitions ({cluster.PARTITIONS} for those of state)",
            where=user_line(),
        )


def _more(count: int) -> str:
    """How to have so many."""
    if cluster.is_local(SparkSession.active().sparkContext.master):
        return f"run with --master local[{count}] (slots are threads, not cores)"
    return f"run on {count} cores: more executors, or more cores for each (spark.executor.instances, spark.executor.cores, spark.cores.max)"


def check_one() -> None:
    """Raise ModeError if real-time queries hold all there are: whatever else is to run would wait for ever."""
    if (taken := held()) >= (there := total()):
        raise ModeError(
            f"real-time queries that run already hold all {there} task slots, and nothing else can run beside them",
            fix=f"{_more(taken + 2)}, or in a session of its own",
            where=user_line(),
        )


def needed(group: Group, partitions: int) -> int:
    """How many a query will hold, with so many partitions of its state, if it has any."""
    state = partitions if any(step.stateful for step in group.fork.ancestry()) else 0
    return sum(source.partitions() for source in _openings(group.fork)) + plans.repartitions(group.fork.preview) + state


def _openings(step: Step) -> list[Source]:
    """The sources, as often as they will be opened: where one would be in two places of a plan, each branch opens it anew."""
    return [*step.sources()] if plans.sources_are_distinct(step.preview) else _of_each_branch(step)


def _of_each_branch(step: Step) -> list[Source]:
    return [step.source] if step.source is not None else [source for parent in step.parents for source in _of_each_branch(parent)]


def hold(query: StreamingQuery, slots: int) -> None:
    """Note that a query has begun; it lets go when it ends, however it does."""
    _held[str(query.runId)] = slots


def held() -> int:
    """How many are taken by real-time queries that run now."""
    running = {str(query.runId) for query in SparkSession.active().streams.active}
    return sum(count for run, count in _held.items() if run in running)


def total() -> int:
    """How many there are."""
    return cluster.slots(SparkSession.active())
