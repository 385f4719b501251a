"""Where streams begin. At each batch's time an input says which part of its source the batch has; that is logged before the batch runs, so
that a batch that is run again has the same records. Only then is an RDD made of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from pyspark import RDD

from headrace.definitions import pickles
from headrace.errors import DefinitionError
from headrace.fronts.dstreams.checkpoints import storage
from headrace.fronts.dstreams.streams.nodes import AnyRDD, Node, Plan
from headrace.io.receiver import Receiver as Log

if TYPE_CHECKING:
    from headrace.fronts.dstreams.context import StreamingContext

Part = Any
"""Which part of a source a batch has, as JSON can hold it."""


class Input(Plan):
    """A source. Its parts are kept for as long as some stream may ask for the RDDs again."""

    def __init__(self, slide: int) -> None:
        super().__init__(slide)
        self.parts: dict[int, Part] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("parts", *self.transient)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.parts = {}

    counts: ClassVar[bool] = False
    """Whether it knows how many records a batch has."""
    transient: ClassVar[tuple[str, ...]] = ()
    """What belongs to a run, and not to the program."""

    def open(self, node: Node, last: Part | None) -> Part | None:
        """Be ready. `last` is the part of the newest batch in the checkpoint, from which to go on; None: begin anew. Gives where that
        is."""
        return last

    def part(self, time: int, node: Node) -> Part:
        """What belongs to the batch of this time."""
        raise NotImplementedError

    def rdd(self, part: Part, node: Node) -> AnyRDD:
        raise NotImplementedError

    def records(self, part: Part) -> int:
        """How many records that is, where it is known."""
        return 0

    def close(self) -> None:
        """Receive no more."""

    def waiting(self) -> bool:
        """Whether something was received that no batch has yet."""
        return False

    def completed(self, part: Part, records: int, processing: int, scheduling: int, now: int) -> None:
        """A batch is done: how many records it had, and how many milliseconds it took and waited."""

    def compute(self, time: int, node: Node) -> AnyRDD | None:
        if time not in self.parts:
            raise node._gone(time)
        part = self.parts[time]
        return node._ssc._nothing() if part is None else self.rdd(part, node)

    def forget(self, limit: int) -> None:
        self.parts = {time: part for time, part in self.parts.items() if time > limit}


class Queue(Input):
    """RDDs that the program brings along: for tests. They cannot be recovered."""

    kind = "queueStream"
    transient = ("queue", "default")

    def __init__(self, ssc: StreamingContext, rdds: Iterable[Any], one_at_a_time: bool, default: Any) -> None:
        super().__init__(ssc._interval)
        self.queue = [_as_rdd(ssc, rdd) for rdd in rdds]
        self.one_at_a_time, self.default = one_at_a_time, None if default is None else _as_rdd(ssc, default)

    def open(self, node: Node, last: Part | None) -> Part | None:
        if not hasattr(self, "queue"):
            raise DefinitionError(
                "queueStream cannot be recovered from a checkpoint: its RDDs were in the process that has ended",
                fix="use a source that can be read again (Kafka, files), or sc.setCheckpointDir(…) instead of ssc.checkpoint(…)",
                where=node._line,
            )
        return 0

    def part(self, time: int, node: Node) -> Part:
        """The place in the queue."""
        latest = max(self.parts, default=None)
        start = 0 if latest is None else self.parts[latest][1]
        return [start, min(len(self.queue), start + 1 if self.one_at_a_time else len(self.queue))]

    def rdd(self, part: Part, node: Node) -> AnyRDD:
        taken = self.queue[part[0] : part[1]]
        if not taken:
            return node._ssc._nothing() if self.default is None else self.default
        return taken[0] if len(taken) == 1 else node._ssc._sc.union(taken)


def _as_rdd(ssc: StreamingContext, data: Any) -> AnyRDD:
    return data if isinstance(data, RDD) else ssc._sc.parallelize(data)


class Files(Input):
    """New files of a directory, each in the first batch after it was modified last.

    Exactly-once in: the files of a batch are logged. A file counts as new for a minute (and while batches are late); it must come whole, by
    a move. Names that begin with a dot are ignored.
    """

    kind = "textFileStream"
    transient = ("seen", "since")
    memory = 60_000  # milliseconds for which names are remembered

    def __init__(
        self, ssc: StreamingContext, directory: str, read: Callable[[Any, str], AnyRDD], *, new_only: bool = True,
        wanted: Callable[[str], bool] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(ssc._interval)
        self.directory, self.read, self.new_only, self.wanted = str(directory), read, new_only, wanted

    def open(self, node: Node, last: Part | None) -> Part | None:
        self.seen = dict(last["seen"]) if last else {}
        self.since = last["since"] if last else (node._ssc._clock.now() if self.new_only else -1)
        return {"files": [], "seen": list(self.seen.items()), "since": self.since}

    def part(self, time: int, node: Node) -> Part:
        oldest = max(self.since, time - max(self.memory, 2 * self.slide))
        self.seen = {file: modified for file, modified in self.seen.items() if modified > oldest}
        new = [
            (modified, file)
            for file, modified in storage.files(self.directory)
            if oldest < modified <= time and file not in self.seen and (self.wanted is None or self.wanted(file))
        ]
        self.seen |= {file: modified for modified, file in new}
        return {"files": [file for _, file in sorted(new)], "seen": list(self.seen.items()), "since": self.since}

    def rdd(self, part: Part, node: Node) -> AnyRDD:
        sc = node._ssc._sc
        rdds = [self.read(sc, _escaped(file)) for file in part["files"]]
        return sc.union(rdds) if rdds else node._ssc._nothing()


def _escaped(file: str) -> str:
    """A path in which Hadoop takes no character for a pattern."""
    return re.sub(r"([*?\[\]{}\\])", r"\\\1", file).replace(",", r"{\,}")  # a bare comma would end the path


class Positions(Input):
    """A log with positions, `headrace.io.receiver.Receiver`: read by tasks, exactly-once in if it gives the same records again."""

    kind = "receiverStream"
    counts = True
    transient = ("next",)

    def __init__(self, ssc: StreamingContext, log: Log) -> None:
        super().__init__(ssc._interval)
        pickles.check(f"receiverStream: {type(log).__qualname__}", log)
        self.log = log

    def open(self, node: Node, last: Part | None) -> Part | None:
        self.next = last[1] if last else self.log.first()
        return [self.next, self.next]

    def part(self, time: int, node: Node) -> Part:
        start, self.next = self.next, max(self.next, self.log.end())
        return [start, self.next]

    def rdd(self, part: Part, node: Node) -> AnyRDD:
        log, (start, end), tasks = self.log, part, node._ssc._sc.defaultParallelism
        step = -(-(end - start) // tasks) or 1
        ranges: Sequence[tuple[int, int]] = [(at, min(at + step, end)) for at in range(start, end, step)]
        return node._ssc._sc.parallelize(ranges, max(1, len(ranges))).flatMap(lambda ends: log.read(*ends))

    def records(self, part: Part) -> int:
        return int(part[1] - part[0])

    def completed(self, part: Part, records: int, processing: int, scheduling: int, now: int) -> None:
        self.log.done(part[1])
