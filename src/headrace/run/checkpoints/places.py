"""Where a job remembers how far it is, and the note beside it that says whose it is.

    <data>/jobs/<job>/<query>/checkpoint    Spark's own
    <data>/jobs/<job>/<query>/job.json      what the checkpoint belongs to
    <data>/jobs/<job>/<query>/job.lock      who uses it now (claims.py)

A checkpoint is positions in sources and a table of states. Read by a job with other sources, other keys or another state it gives wrong
answers, or a Java trace; for an output that was not written from it, it skips or repeats records. So it is compared with the note first. It
may be on any file system that Spark's Hadoop client knows.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headrace.definitions import damages
from headrace.embedded import places
from headrace.errors import JobError
from headrace.io import file_system
from headrace.io.connectors import NEW
from headrace.planning.groups import Group
from headrace.planning.recipe import Output, Step
from headrace.run.checkpoints import identity, notes, soundness
from headrace.run.checkpoints.claims import Claim
from headrace.run.checkpoints.identity import Difference
from headrace.run.checkpoints.layouts import PLACE, Changes, Layout, follow
from headrace.spark import cluster, failures

T = TypeVar("T")
_NOTE = "job.json"
_ANEW = "start anew: give this job another name, or move that directory away"
_PARTITIONS = re.compile(rf'"{re.escape(cluster.PARTITIONS)}":"(\d+)"')  # in what Spark writes of a batch


@dataclass(frozen=True)
class Checkpoint:
    """The place of one query's progress."""

    files: Files
    directory: str

    @property
    def location(self) -> str:
        return f"{self.directory}/checkpoint"

    @property
    def planned(self) -> set[int]:
        """The batches that have been planned from it, but for those that are long done."""
        return self._batches("offsets")

    @property
    def begun(self) -> bool:
        """Whether a batch has been planned from it."""
        return bool(self.planned)

    @property
    def complete(self) -> bool:
        """Whether the last batch that has been planned from it was carried out."""
        return max(self.planned, default=-1) in {-1, *self._batches("commits")}

    @property
    def carried_out(self) -> int | None:
        """The last batch that was; none if there is none."""
        return max(self._batches("commits"), default=None)

    @property
    def ends(self) -> range:
        """The batches that its outputs may end with: the last one that was planned, and the one before if that was not completed."""
        if not (planned := self.planned):
            return NEW
        last = max(planned)
        return range(last if last in self._batches("commits") else last - 1, last + 1)

    def _batches(self, log: str) -> set[int]:
        return {int(name) for name in self.files.names(f"{self.location}/{log}") if name.isdigit()}

    @property
    def partitions(self) -> int:
        """How many its state has: as many as it began with, or, before, as the session says."""
        begun_with = _PARTITIONS.search(self._plan(max(self.planned)) if self.begun else "")
        return int(begun_with[1] if begun_with else self.files.spark.conf.get(cluster.PARTITIONS) or 0)

    def positions(self, batch: int) -> list[str]:
        """Where each source is when a batch is done, as Spark writes it."""
        return self._plan(batch).splitlines()[2:]

    def _plan(self, batch: int) -> str:
        return self.files.read(f"{self.location}/offsets/{batch}") or ""

    @property
    def note(self) -> dict[str, Any] | None:
        """What it says of itself, if anything; JobError if that cannot be read any more."""
        file = f"{self.directory}/{_NOTE}"
        text = self.files.read(file)
        note = notes.read(text or "")
        if note is None and self.begun:  # before its first batch there is nothing that could be mistaken
            raise JobError(
                f"{file} is {'gone' if text is None else 'damaged'}: it says whose the checkpoint beside it is, and by which id its outputs"
                " know it",
                fix="put it back from a backup; or, if the checkpoint is this job's, and the job as it was, write {} into it to go on (an"
                f" output that knows it by its id will refuse that); or {damages.ANEW}",
            )
        return note or None

    def compare(self, plan: Plan, changes: Changes) -> list[list[Layout]]:
        """Where each scan of the plan keeps its fields, oldest place first, if it goes on from here; JobError if it cannot."""
        now, written = notes.as_read(plan.note), self.note
        if written is None:
            self._check_never_grown()
            return [[Layout.first(schema)] for schema in plan.schemas]
        if written.get("job") != now["job"]:
            raise JobError(
                f"the checkpoint in {self.directory} is that of the job {written.get('job')!r}, and not of {now['job']!r}", fix=_ANEW
            )
        named = identity.operators(plan.last, now["state"]) if written["state"] != now["state"] else []
        differences, growths = identity.of_states(written["state"], now["state"], named, changes)
        differences += identity.of_steps(written.get("steps", []), now["steps"])
        differences += identity.of_sources(written["sources"], now["sources"]) if "sources" in written else []  # else it was handed over
        if differences:
            raise self._of_another_plan(differences)
        layouts = [[Layout.read(each) for each in places] for places in written["layouts"]]
        return [
            each if growth is None else follow(each, schema, growth.places)
            for each, schema, growth in zip(layouts, plan.schemas, growths, strict=True)
        ]

    def _of_another_plan(self, differences: list[Difference]) -> JobError:
        fixes = dict.fromkeys(difference.fix for difference in differences)
        return JobError(
            f"the checkpoint in {self.directory} is of another plan. {'; '.join(difference.what for difference in differences)}",
            fix=f"{'; '.join(fixes)}. Or {_ANEW}; state can be carried over: docs/guide/upgrading.md",
            where=next((difference.where for difference in differences if difference.where), None),
        )

    def _check_never_grown(self) -> None:
        """Without its note nobody knows where the fields of a scan are that had others before."""
        schemas = f"{self.location}/state"
        for operator in filter(str.isdigit, self.files.names(schemas)):
            directory = f"{schemas}/{operator}/_stateSchema/default"
            if any(f"{PLACE} 2" in (self.files.read(f"{directory}/{file}") or "") for file in self.files.names(directory)):
                raise JobError(
                    f"{self.directory}/{_NOTE} says nothing of which fields the states of the checkpoint beside it have, and had",
                    fix=f"put it back from a backup, or {_ANEW}",
                )

    def claim(self, note: dict[str, Any], layouts: list[list[Layout]], outputs: list[str]) -> tuple[str, int]:
        """Make it this job's, written to by these outputs: what tells it from any other checkpoint, and which start this is."""
        before = self.note or {}
        id, start = str(before.get("id") or uuid.uuid4().hex), int(before.get("starts", 0)) + 1
        places = [[asdict(layout) for layout in each] for each in layouts]
        new = notes.as_read(note) | {
            "sources": identity.sources(before.get("sources", []), note["sources"]),
            "layouts": places,
            "outputs": outputs,
            "id": id,
            "starts": start,
        }
        self._write(new)
        return id, start

    def disown(self) -> None:
        """Let it go on in other sources, whatever they are."""
        self._write({name: value for name, value in (self.note or {}).items() if name != "sources"})

    def end(self) -> None:
        """Note that there is nothing to come, where there has been nothing either: no batch of Spark's can say so."""
        self._write((self.note or {}) | {"ended": True})

    def _write(self, note: dict[str, Any]) -> None:
        self.files.write(f"{self.directory}/{_NOTE}", notes.written(note))


@dataclass(frozen=True)
class Plan:
    """What goes on from a checkpoint: what is noted of it, the fields of its scans as Spark's JSON (the last scan first), its last step."""

    note: dict[str, Any]
    schemas: list[str]
    last: Step


def temporary(job: str, outputs: Sequence[Output]) -> str | None:
    """Where the checkpoints of a job are that nothing remains of when the process ends: it reads from memory, or writes to nothing else."""
    sources = [source.home for output in outputs for source in output.step.sources() if source.home is not None]
    sinks = [output.sink.home for output in outputs]
    home = sources[0] if sources else sinks[0] if all(sinks) else None
    return None if home is None else f"{home}/{job}"


@dataclass(frozen=True)
class Place:
    """Where the checkpoints of a job are: below `root`, or in the user's data directory. (See `temporary` for those that do not last.)"""

    job: str
    root: str | None

    @cached_property
    def files(self) -> Files:
        spark = SparkSession.active()
        if self.root is None and not cluster.is_on_this_machine(spark.sparkContext.master):
            raise JobError(
                f"job {self.job!r} runs on a cluster, and its checkpoint would be on one machine",
                fix="give it a directory that all machines see: Job(…, checkpoint=…)",
            )
        return Files(spark, self.root or str(places.data() / "jobs" / self.job))

    def of(self, query: str) -> Checkpoint:
        return Checkpoint(self.files, f"{self.files.root}/{query}")

    def claim(self, groups: list[Group]) -> Claim:
        """Have the checkpoints of these queries alone, where that is possible; JobError if another run has one of them."""
        claim = Claim(self.job)
        try:
            for group in groups:
                if (directory := self.files.local(self.of(group.name).directory)) is not None:
                    claim.take(directory)
        except BaseException as error:
            claim.release()
            if isinstance(error, Py4JJavaError):
                raise self.files.unusable(failures.first_line(error)) from None
            raise
        return claim

    def check(self, groups: list[Group]) -> None:
        """JobError if an output would go on from a position that is not its own, or from files that are damaged.

        A query has one position for all its outputs, and which outputs share a query depends on the mode and on the rest of the job.
        """
        written_with = self._written_with()
        for group in groups:
            soundness.check(self.of(group.name))
            for output in group.outputs[1:]:
                if self.of(output.name).begun:
                    raise _moved(output.name, f"had a query of its own, and now shares that of {group.name}")
            if not self.of(group.name).begun and group.name in written_with:
                raise _moved(group.name, f"shared the query of {written_with[group.name]}, and now has one of its own")

    def _written_with(self) -> dict[str, str]:
        """Outputs that were written by the query of another one, and which."""
        moved: dict[str, str] = {}
        for query in self.files.names(self.files.root):
            note = self.of(query).note
            if note is not None and note.get("job") == self.job:
                moved |= {name: query for name in note["outputs"] if name != query}
        return moved


def _moved(output: str, how: str) -> JobError:
    return JobError(
        f"output {output} {how}: it would skip or repeat records",
        fix="run the job in the mode and with the outputs that it had, or give it another name to start anew",
    )


@dataclass(frozen=True)
class Files:
    """The few things that are done with files, on any file system; JobError if they cannot be done."""

    spark: SparkSession
    root: str

    def names(self, directory: str) -> list[str]:
        """What is in a directory; nothing if it does not exist."""
        return self._do(
            directory, lambda fs, path: [status.getPath().getName() for status in fs.listStatus(path)] if fs.exists(path) else []
        )

    def read(self, file: str) -> str | None:
        """A file's text; none if it does not exist."""

        def read(fs: Any, path: Any) -> str | None:
            if not fs.exists(path):
                return None
            stream = fs.open(path)
            try:
                return bytes(stream.readAllBytes()).decode(errors="replace")
            finally:
                stream.close()

        return self._do(file, read)

    def write(self, file: str, text: str) -> None:
        """Put a file there whole, or leave the one that is there."""
        self._do(file, lambda fs, path: file_system.put(fs, path, text))

    def delete(self, place: str) -> None:
        """A file, or a directory with all that is in it; nothing happens if it is not there."""
        self._do(place, lambda fs, path: fs.delete(path, True))

    def local(self, directory: str) -> Path | None:
        """Where it is on this machine; None if it is elsewhere."""
        place = self._do(directory, lambda fs, path: path.makeQualified(fs.getUri(), fs.getWorkingDirectory()).toUri())
        return Path(place.getPath()) if place.getScheme() == "file" else None

    def unusable(self, reason: str) -> JobError:
        return JobError(
            f"the checkpoint directory {self.root} cannot be used: {reason}",
            fix="make it writable, or give the job another one: Job(…, checkpoint=…)",
        )

    @property
    def _jvm(self) -> Any:
        return self.spark._jvm

    @property
    def _conf(self) -> Any:
        return self.spark._jsparkSession.sessionState().newHadoopConf()

    def _do(self, where: str, action: Callable[[Any, Any], T]) -> T:
        try:
            path = self._jvm.org.apache.hadoop.fs.Path(where)
            fs = self._jvm.org.apache.hadoop.fs.FileSystem.newInstance(path.toUri(), self._conf)
            # A file of ours is replaced by a rename, and Hadoop would compare it with the sum of the one before.
            fs.setVerifyChecksum(False)
            try:
                return action(fs, path)
            finally:
                fs.close()
        except (Py4JJavaError, PySparkException) as error:
            raise self.unusable(failures.first_line(error)) from None
