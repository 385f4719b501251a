"""A job: a name and the outputs that it keeps up to date. A frozen description; nothing happens until it is run or started.

>>> import headrace as hr
>>> numbers = hr.read.memory("n int", [(1,), (2,)], [(3,)])
>>> even = numbers.where("n % 2 = 0").to.memory()
>>> hr.Job("even", even).run("batch")
>>> even.sink.rows
[Row(n=2)]
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from headrace.definitions import arguments, guarantees
from headrace.definitions.guarantees import Guarantee
from headrace.errors import DefinitionError, JobError, ModeError, pointing_at, user_line
from headrace.planning import groups, modes, triggers
from headrace.planning.recipe import Output
from headrace.planning.table import Mode
from headrace.planning.triggers import Trigger, once
from headrace.run import backfilling, batch
from headrace.run.checkpoints.layouts import Changes
from headrace.run.checkpoints.places import Place, temporary
from headrace.run.running import Running
from headrace.run.streaming import Start
from headrace.spark import jvm_exit

OutputMode = Literal["append", "update", "complete"]


@dataclass(frozen=True, init=False)
class Job:
    """What to run.

    name         names the checkpoint: a job that is started again under its name goes on where it was
    outputs      what `stream.to.…` gave
    trigger      when to look for new records: `every("10 seconds")`, `once` or `finish` (all there is now), or as fast as possible; also as
                 text, "10 seconds", "once" or "finish"
    output_mode  what an aggregate puts out: "update" the rows that changed (the default), "append" only rows that will not change any
                 more, "complete" the whole result each time
    checkpoint   a directory for its checkpoints, instead of one in the user's data directory; on a cluster, one that all machines see
    guarantee    what it must have, or it is not started: "exactly-once" or "at-least-once"; without a wish, what each output gives by
                 itself, which for some is less than they can (Kafka), for it costs less. "at-most-once": a batch that a crash interrupted
                 is not written again
    removed      features, and fields of scans, that are not there any more since the job ran last: what was kept of them is forgotten
    renamed      those that have another name now: {"new name": "old name"}. Both may be left in, and say nothing to a job that is new
    """

    name: str
    outputs: tuple[Output, ...]
    trigger: Trigger
    output_mode: OutputMode | None
    checkpoint: str | None
    guarantee: Guarantee | None
    removed: tuple[str, ...]
    renamed: Mapping[str, str]

    def __init__(
        self,
        name: str,
        *outputs: Output,
        trigger: Trigger | str | None = None,
        output_mode: OutputMode | None = None,
        checkpoint: str | Path | None = None,
        guarantee: Guarantee | Literal["at-most-once", "at-least-once", "exactly-once"] | None = None,
        removed: Sequence[str] = (),
        renamed: Mapping[str, str] | None = None,
    ) -> None:
        fields = {
            "name": name,
            "outputs": outputs,
            "trigger": Trigger() if trigger is None else triggers.trigger(trigger),
            "output_mode": output_mode,
            "checkpoint": None if checkpoint is None else arguments.path("checkpoint", checkpoint),
            "guarantee": None if guarantee is None else guarantees.guarantee(guarantee),
            "removed": tuple(arguments.names("removed", removed)),
            "renamed": dict(arguments.mapping("renamed", renamed or {})),
        }
        for field, value in fields.items():
            object.__setattr__(self, field, value)
        self._validate()

    def _validate(self) -> None:
        def refuse(what: str, fix: str) -> None:
            raise DefinitionError(what, fix=fix, where=user_line())

        if not isinstance(self.name, str) or not re.fullmatch(r"[A-Za-z0-9][\w.-]*", self.name):
            name = arguments.shown(self.name)
            refuse(
                f"{name} cannot be the name of a job, which is also a directory's", 'use letters, digits, dots, - and _: Job("by-day", …)'
            )
        if not self.outputs:
            refuse(f"job {self.name!r} has no output", 'give it one or more: Job("name", stream.to.kafka("topic"))')
        for output in self.outputs:
            if not isinstance(output, Output):
                refuse(
                    f"job {self.name!r}: {arguments.shown(output)} is no output",
                    'give each stream an end, one after the other: Job("name", stream.to.kafka("topic"), other.to.memory())',
                )
        if self.output_mode not in (None, *get_args(OutputMode)):
            refuse(f"there is no output mode {self.output_mode!r}", f"use one of {', '.join(get_args(OutputMode))}")
        names = [output.name for output in self.outputs]
        if twice := [name for name in names if names.count(name) > 1]:
            refuse(f"job {self.name!r} has two outputs that are called {twice[0]!r}", "give one of them another name: .to.…(…, name=…)")
        places = [output.sink.place for output in self.outputs if output.sink.place is not None]
        if twice := [place for place in places if places.count(place) > 1]:
            refuse(f"job {self.name!r} has two outputs that write to {twice[0]}", "give each a place of its own, or join them: .union(…)")

    @jvm_exit.translated(JobError)
    def run(self, mode: Mode = "micro-batch", *, trigger: Trigger | str | None = None) -> None:
        """Run to the end: a batch's, or that of all there is if the trigger is `once` or `finish`. Otherwise until it fails or is
        interrupted."""
        if mode == "batch":
            with pointing_at(user_line()):
                batch.run(self.name, self.outputs, self.guarantee)
            return
        with self.start(mode, trigger=trigger) as running:
            running.wait()

    @jvm_exit.translated(JobError)
    def backfill(
        self, live: Mode = "real-time", *, history: Mapping[Any, Any] | None = None, trigger: Trigger | str | None = None
    ) -> Running:
        """Work off all that there is now, in large batches, and go on live from exactly there: the job, running.

        Without `history` it ends at the newest record of each partition of the sources when this is called. `history={payments: archive}`
        says that the past of a stream is in another one with the same columns, such as files: that is worked off first, and then the stream
        itself from its `start=` on, where the archive ends. The job reads one source then, and the archive is one, too.

        Position and state are handed over in the checkpoint, so every record is taken once, whatever operators the job has, and the rows
        are those of one stream over everything. Nothing is worked off twice: if the job has a checkpoint, it goes on from there, and so
        does a backfill that was interrupted.

        `trigger` is that of the live part. What goes by the clock, goes by it during the backfill, too.
        """
        modes.check(self.outputs, live)
        backfilling.check_queries(self.outputs, live)
        if history is None:
            self.run("micro-batch", trigger=once)
            return self.start(live, trigger=trigger)
        past = backfilling.from_history(self.outputs, history)
        place = Place(self.name, self.checkpoint or temporary(self.name, self.outputs))

        def work_off() -> None:
            start = Start(self.name, "micro-batch", once, self.output_mode, place.files.root, self.guarantee, self._changes)
            with pointing_at(user_line()), start(past) as running:
                running.wait()

        backfilling.work_off(place, [group.name for group in groups.shared(self.outputs)], work_off)
        return self.start(live, trigger=trigger)

    @jvm_exit.translated(JobError)
    def start(self, mode: Mode = "micro-batch", *, trigger: Trigger | str | None = None) -> Running:
        """Start it as micro-batch or real-time, and return."""
        if mode == "batch":
            raise ModeError("a batch runs to its end and cannot be left running", fix='job.run("batch")', where=user_line())
        when = self.trigger if trigger is None else triggers.trigger(trigger)
        with pointing_at(user_line()):
            return Start(self.name, mode, when, self.output_mode, self.checkpoint, self.guarantee, self._changes)(self.outputs)

    @property
    def _changes(self) -> Changes:
        return Changes(frozenset(self.removed), self.renamed)
