"""The end of a job's input, which the trigger `finish` brings about.

The queries first read all there is, as with `once`. When all of them have, the end is planned in the checkpoint of each, a last batch
without records whose watermark nothing is behind, and run by a second query. It is planned for good: whatever came later would be late. So
a job that has an end in one of its checkpoints is not started again, except with `finish` if it was interrupted before it was through.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from headrace.errors import JobError, user_line
from headrace.kernel import jvm
from headrace.planning.groups import Group
from headrace.planning.triggers import Trigger
from headrace.run.checkpoints.places import Checkpoint, Place
from headrace.spark import failures

LAST = {"once": True}
"""The arguments of Spark's `trigger` for the batch that is planned, and no other."""


def plan(spark: SparkSession, location: str) -> None:
    """Make the end of input the next batch of a checkpoint, whose last one is complete."""
    jvm.package(spark).EndOfInput.plan(spark._jsparkSession, location)


def planned(checkpoint: Checkpoint) -> bool:
    """Whether the end of input is the next batch, or was the last, or came before there was any."""
    spark = SparkSession.active()
    if not checkpoint.begun:
        return bool((checkpoint.note or {}).get("ended"))
    return bool(jvm.package(spark).EndOfInput.isPlanned(spark._jsparkSession, checkpoint.location))


def unfinished(groups: list[Group], place: Place, trigger: Trigger) -> list[Group]:
    """The groups that have not come to their end. JobError if a job is finished, or is to be run on though its end has begun."""
    ends = {}
    for group in groups:
        with failures.of_job(place.job, group.label, group.where):
            ends[group] = planned(place.of(group.name))
    left = [group for group in groups if not (ends[group] and place.of(group.name).complete)]
    if any(ends.values()) and not (trigger.finishes and left):
        what = "is finished: its input has ended" if not left else "has begun to finish: some of its input has ended"
        again = "to start anew, give the job another name, or move its checkpoint away"
        raise JobError(f"job {place.job!r} {what}", fix=f"run it with hr.finish to its end; {again}" if left else again, where=user_line())
    return left
