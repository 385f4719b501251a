"""A node of the graph: one RDD for each time at which the stream is due, computed when it is first asked for, kept as long as it is needed.

What is computed is the node's *plan*: a small object that knows the node's parents and makes the RDD of a time from theirs. Plans are
pickled into the checkpoint, with the functions of the user; what a run makes (RDDs, positions) is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark import RDD, StorageLevel

from headrace.errors import DefinitionError, JobError, user_line
from headrace.fronts.dstreams.times import moment, words

if TYPE_CHECKING:
    from headrace.fronts.dstreams.context import StreamingContext
    from headrace.fronts.dstreams.streams.dstream import DStream

AnyRDD = RDD[Any]


class Plan:
    """How the RDD of a time is made."""

    kind: str
    """What the user called: the name of the stream in messages and, with a number, in the checkpoint."""
    level: StorageLevel | None = None
    """How the RDDs are kept if the user says nothing."""
    saves: bool = False
    """Whether RDDs depend on the one before: then they are saved from time to time, or their history would grow without end."""

    def __init__(self, slide: int, *parents: Node) -> None:
        self.slide, self.parents = slide, parents

    def compute(self, time: int, node: Node) -> AnyRDD | None:
        """The RDD of a time at which the node is due."""
        raise NotImplementedError

    def begin(self, zero: int, node: Node) -> None:
        """The stream starts anew: the first batch is the one after `zero`."""

    def window(self) -> int:
        """How much longer than the node itself its parents must remember."""
        return 0

    def interval(self, batch: int) -> int:
        """How often RDDs are saved if the user says nothing: a multiple of the slide, and at least ten seconds."""
        return self.slide * max(1, -(-10_000 // self.slide))


class Node:
    """What every DStream is, whatever its methods."""

    def __init__(self, ssc: StreamingContext, plan: Plan) -> None:
        self._ssc, self._plan = ssc, plan
        self._line = user_line()
        self._name: str | None = None
        self._level = plan.level
        self._interval: int | None = None
        self._forget_all()
        ssc._add(self)

    def _forget_all(self) -> None:
        self._rdds: dict[int, AnyRDD] = {}
        self._kept: set[int] = set()  # the times of RDDs that were persisted here, and not by the user
        self._marked: dict[int, AnyRDD] = {}  # RDDs that the next job saves
        self._remember = 0

    def __getstate__(self) -> dict[str, Any]:
        left_out = ("_ssc", "_rdds", "_kept", "_marked", "_remember")
        return {name: value for name, value in vars(self).items() if name not in left_out}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._forget_all()

    def _new(self, plan: Plan) -> DStream:
        from headrace.fronts.dstreams.streams.dstream import DStream  # which is made of what is defined with this

        return DStream(self._ssc, plan)

    @property
    def _slide(self) -> int:
        return self._plan.slide

    def _due(self, time: int) -> bool:
        zero = self._ssc._zero
        return time > zero and (time - zero) % self._slide == 0

    def _rdd(self, time: int) -> AnyRDD | None:
        """The RDD of a time; None if the stream has none then."""
        if time in self._rdds or not self._due(time):
            return self._rdds.get(time)
        rdd = self._plan.compute(time, self)
        if rdd is None:
            return None
        if not isinstance(rdd, RDD):
            raise JobError(f"{self._words()} gave {rdd!r}, which is no RDD", fix="return an RDD from the function", where=self._line)
        if self._interval and (time - self._ssc._zero) % self._interval == 0 and self._ssc._saves():
            rdd = self._mark(time, rdd)
        if self._level and not rdd.is_cached:
            rdd.persist(self._level)
            self._kept.add(time)
        self._rdds[time] = rdd
        return rdd

    def _mark(self, time: int, rdd: AnyRDD) -> AnyRDD:
        """Have the first job that computes the RDD save it, too."""
        rdd = rdd._reserialize()  # so that what is saved is always read back in one way
        rdd.checkpoint()
        self._marked[time] = rdd
        return rdd

    def _saved(self) -> dict[int, str]:
        """The RDDs that have been saved since the last call, and where."""
        files = {time: file for time, rdd in self._marked.items() if (file := rdd.getCheckpointFile())}
        for time in files:
            del self._marked[time]
        return files

    def _between(self, after: int, upto: int) -> list[AnyRDD]:
        """The RDDs of the times in (after, upto]."""
        zero, slide = self._ssc._zero, self._slide
        first = zero + ((after - zero) // slide + 1) * slide
        return [rdd for time in range(first, upto + 1, slide) if (rdd := self._rdd(time)) is not None]

    def _forget(self, now: int) -> None:
        """Let go of what no batch after this one asks for."""
        limit = now - self._remember
        for time in [time for time in self._rdds if time <= limit]:
            rdd = self._rdds.pop(time)
            if time in self._kept:
                self._kept.remove(time)
                rdd.unpersist()
        self._marked = {time: rdd for time, rdd in self._marked.items() if time > limit}

    def _words(self) -> str:
        return f"{self._plan.kind} {self._name!r}" if self._name else self._plan.kind

    def _gone(self, time: int) -> JobError:
        return JobError(
            f"{self._words()} does not remember its batch of {moment(time)}",
            fix=f"remember longer: ssc.remember(seconds); it is {words(max(self._remember, self._slide))} now",
            where=self._line,
        )


def same_context(at: str, nodes: list[Node]) -> None:
    if any(node._ssc is not nodes[0]._ssc for node in nodes):
        raise DefinitionError(f"{at}: the streams are of different StreamingContexts", fix="make them from one ssc", where=user_line())


def same_slide(at: str, nodes: list[Node]) -> None:
    slides = sorted({node._slide for node in nodes})
    if len(slides) > 1:
        raise DefinitionError(
            f"{at}: one stream has an RDD every {words(slides[0])}, another every {words(slides[-1])}",
            fix="give both the same slide, with window(length, slide)", where=user_line(),
        )  # fmt: skip
