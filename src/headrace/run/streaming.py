"""Starting a job as a stream: everything is checked first, then all its queries start, or none."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from headrace.definitions.guarantees import Guarantee
from headrace.errors import pointing_at
from headrace.io.connectors import Run, Sink, Source
from headrace.ops import windows
from headrace.planning import groups, guarantees, modes, output_modes, plans, slots
from headrace.planning.groups import Group
from headrace.planning.guarantees import Promise
from headrace.planning.recipe import Output, Step, check_sources, previewed
from headrace.planning.table import Mode
from headrace.planning.triggers import Trigger
from headrace.run import finishing, microbatch, realtime
from headrace.run.checkpoints.claims import Claim
from headrace.run.checkpoints.layouts import Changes
from headrace.run.checkpoints.places import Checkpoint, Place, Plan, temporary
from headrace.run.reports import messages
from headrace.run.running import Running
from headrace.run.writing import Writers
from headrace.spark import failures

_one_at_a_time = threading.RLock()
"""Held while a job starts: from the count of free task slots until its queries hold them, and while a setting of the session, which every
query takes over as it starts, is another for one of them."""


@dataclass(frozen=True)
class _Prepared:
    """A query that can be started once its sinks are open."""

    writer: DataStreamWriter
    sinks: Writers


@dataclass(frozen=True)
class Start:
    """How a job is to be started."""

    job: str
    mode: Mode
    trigger: Trigger
    output_mode: str | None
    checkpoint: str | None
    guarantee: Guarantee | None = None
    changes: Changes = field(default_factory=Changes)

    def __call__(self, outputs: Sequence[Output]) -> Running:
        """The job, running. What can be refused is refused before the first record is read."""
        modes.check(outputs, self.mode)
        promises = guarantees.promise(outputs, self.mode, self.guarantee)
        place = Place(self.job, self.checkpoint or temporary(self.job, outputs))
        check_sources(outputs)
        members = groups.by_state(outputs) if self._real_time else groups.shared(outputs)
        with _one_at_a_time:
            needed = self._slots(members, place)
            claim = place.claim(members)
            try:
                place.check(members)
                return self._begin(finishing.unfinished(members, place, self.trigger), place, claim, needed, promises)
            except BaseException:
                claim.release()
                raise

    def _slots(self, members: list[Group], place: Place) -> dict[Group, int]:
        """The task slots that each query will hold as long as it runs; ModeError if there are too few."""
        if not self._real_time:
            slots.check_one()
            return {}
        modes.check_real_time(members, self.trigger)
        needed = {group: slots.needed(group, place.of(group.name).partitions) for group in members}
        slots.check(sum(needed.values()))
        return needed

    def _begin(
        self, members: list[Group], place: Place, claim: Claim, needed: Mapping[Group, int], promises: Mapping[str, Promise]
    ) -> Running:
        """All queries, or none."""
        raised: dict[str, list[Exception]] = {group.name: [] for group in members}
        queries: dict[Group, _Prepared] = {}
        for group in members:
            with failures.of_job(self.job, group.label, group.where):
                queries[group] = self._prepare(group, place.of(group.name), raised[group.name], promises)
        for group in members:
            for output in group.outputs:
                with pointing_at(output.where):
                    output.sink.prepare()
        messages.of_dropped(self.job, [output for group in members for output in group.outputs])
        messages.of_promises(self.job, promises.values())
        running = Running(self.job, self.mode, claim, promises.values())
        try:
            for group, query in queries.items():
                running.at_end(query.sinks.close)
                with failures.of_job(self.job, group.label, group.where):
                    query.sinks.open()
            for group, query in queries.items():
                with self._minding_the_clock(group):
                    rests = self.trigger.ends or not self._by_the_clock(group)
                    started = running.begin(group.label, query.writer, raised[group.name], where=group.where, rests=rests)
                if self.trigger.finishes:
                    finish = partial(self._finish, group, place.of(group.name), raised[group.name], promises, running)
                    running.follow(group.label, finish)
                if group in needed:
                    slots.hold(started, needed[group])
            outputs = [output for group in members for output in group.outputs]
            running.watch(remote for party in _parties(outputs) if (remote := party.remote()) is not None)
        except BaseException:
            running.stop(now=True)
            raise
        return running

    @property
    def _real_time(self) -> bool:
        return self.mode == "real-time"

    @contextmanager
    def _minding_the_clock(self, group: Group) -> Iterator[None]:
        """With state that goes by the clock Spark makes one empty batch after the other, for ever. With `once` it is told not to. Else it
        is told to report also when it looks in vain before the first batch, so that `process_all` can see the end of the records."""
        if not self._by_the_clock(group):
            yield
            return
        setting, value = ("noDataMicroBatches.enabled", "false") if self.trigger.ends else ("noDataProgressEventInterval", "0")
        conf, name = SparkSession.active().conf, f"spark.sql.streaming.{setting}"
        before = conf.get(name)
        conf.set(name, value)
        try:
            yield
        finally:
            conf.set(name, str(before))

    def _finish(
        self, group: Group, checkpoint: Checkpoint, raised: list[Exception], promises: Mapping[str, Promise], running: Running
    ) -> DataStreamWriter | None:
        """The query that ends the input of a group, when all of it has been read; none if there was nothing, or it has been ended."""
        if finishing.planned(checkpoint):
            return None
        if not checkpoint.begun:
            checkpoint.end()
            return None
        finishing.plan(SparkSession.active(), checkpoint.location)
        query = self._prepare(group, checkpoint, raised, promises)
        running.at_end(query.sinks.close)
        query.sinks.open()
        return query.writer

    def _prepare(self, group: Group, checkpoint: Checkpoint, raised: list[Exception], promises: Mapping[str, Promise]) -> _Prepared:
        output_mode = output_modes.choose(group.outputs, self.output_mode, real_time=self._real_time)
        of_windows = output_modes.of_windows(group.outputs, self.output_mode)
        with windows.put_out(of_windows):
            planned = group.fork.preview if of_windows != "complete" else previewed(group.fork)
        modes.check_plan(group, planned, output_mode)
        plan = self._plan(group, planned)
        layouts = checkpoint.compare(plan, self.changes)
        if checkpoint.begun:
            for source in group.fork.sources():
                source.resume(checkpoint.directory)
        for output in group.outputs:
            with pointing_at(output.where):
                output.sink.check(ends=checkpoint.ends)
        ends = checkpoint.ends
        id, epoch = checkpoint.claim(plan.note, layouts, [output.name for output in group.outputs])

        def run(output: str) -> Run:
            return Run(self.job, output, self.mode, epoch, id, ends, promises[output].guarantee, output_mode)  # type: ignore[arg-type]

        with windows.put_out(of_windows):
            if self._real_time:
                sinks, writer = Writers([], {}), realtime.writer(group, layouts)
            else:
                sinks = Writers(group.outputs, {output.name: run(output.name) for output in group.outputs})
                by_spark = promises[group.name].guarantee is Guarantee.AT_LEAST_ONCE
                writer = microbatch.writer(group, layouts, sinks, raised, by_spark=by_spark)
        prepared = (
            writer.queryName(f"{self.job}/{group.label}")
            .outputMode(output_mode)
            .option("checkpointLocation", checkpoint.location)
            .trigger(**self._spark_trigger(group, checkpoint))
        )
        return _Prepared(prepared, sinks)

    def _spark_trigger(self, group: Group, checkpoint: Checkpoint) -> dict[str, Any]:
        if self._real_time:
            return self.trigger.real_time()
        if self.trigger.finishes and finishing.planned(checkpoint):
            return finishing.LAST
        return self.trigger.micro_batch(by_the_clock=self._by_the_clock(group))

    def _by_the_clock(self, group: Group) -> bool:
        return not self._real_time and plans.by_the_clock(group.fork.preview)

    def _plan(self, group: Group, planned: DataFrame) -> Plan:
        """What a checkpoint of this group depends on."""
        sources = [source.identity() for source in group.fork.sources()]
        note = {"job": self.job, "sources": sources, "state": plans.state(planned), "steps": noted_steps(group.fork)}
        return Plan(note, plans.fields(planned), group.fork)


def noted_steps(last: Step) -> list[dict[str, Any]]:
    """What operators say themselves that their state depends on."""
    return [{"operator": step.operator, **step.state} for step in last.ancestry() if step.state]


def _parties(outputs: Sequence[Output]) -> list[Source | Sink]:
    """Everything that a job reads from and writes to."""
    return [*dict.fromkeys(source for output in outputs for source in output.step.sources()), *(output.sink for output in outputs)]
