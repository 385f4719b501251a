"""Spouts and bolts in the dialect of streamparse: classes with `outputs`, `initialize`, `next_tuple` or `process`, and `self.emit`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from headrace.fronts.storm.graph.layout import Stream
from headrace.fronts.storm.graph.reliability import Reliability, reliability_of
from headrace.fronts.storm.graph.tuples import DEFAULT, Tuple
from headrace.fronts.storm.tasks.task import Context

if TYPE_CHECKING:
    from headrace.fronts.storm.tasks.bolts import BoltTask
    from headrace.fronts.storm.tasks.spouts import SpoutTask
    from headrace.fronts.storm.topologies.topology import Spec


class _Specs:
    """`Count.spec(inputs={split: Grouping.fields("word")}, par=4)`: a component as a part of a topology; of an object as of a class.

    name    that of the attribute, if none is given
    inputs  what it reads, each with its grouping, or a list for shuffle
    par     its executors, and its tasks if `tasks` are not given
    config  settings of its own, on top of the topology's
    optional_outputs  fields or streams, beside those that the class declares
    """

    def __get__(self, instance: Any, owner: type) -> Callable[..., Spec]:
        from headrace.fronts.storm.topologies.topology import Spec

        return partial(Spec, owner if instance is None else instance)


class Component:
    """What spouts and bolts share. A task makes its own object of the class, without arguments, or gets a copy of the object given."""

    outputs: ClassVar[Sequence[str | Stream]] = ()
    """The fields of the one stream, `["word", "count"]`, or several streams: `[Stream(["word"]), Stream(["error"], name="errors")]`."""
    config: ClassVar[Mapping[str, Any]] = {}

    spec = _Specs()

    def declared(self) -> dict[str, Stream]:
        """The streams that this declares, by name."""
        if all(isinstance(output, str) for output in self.outputs):
            return {DEFAULT: Stream(list(map(str, self.outputs)))} if self.outputs else {}
        return {output.name: output for output in self.outputs if isinstance(output, Stream)}

    def settings(self) -> dict[str, Any]:
        """The configuration that the component brings itself."""
        return dict(self.config)

    def problem(self, conf: Mapping[str, Any]) -> tuple[str, str] | None:
        """Why it cannot run with this configuration, and what to do; none if it can."""
        return self.forgets() if reliability_of(conf) is Reliability.EFFECTIVELY_ONCE else None

    def forgets(self) -> tuple[str, str] | None:
        """Why it cannot be taken back to a moment, as effectively once must be, and what to do; none if it can."""
        return None

    def kept(self) -> Any:
        """For the task: what is to be saved beside the state, a new object each time; none if there is nothing."""
        return None

    def recall(self, kept: Any) -> None:
        """For the task: go on from what was saved, after `begin`."""

    def initialize(self, conf: Mapping[str, Any], ctx: Context) -> None:
        """Called once in each task, before the first tuple."""

    def close(self) -> None:
        """Called when the task ends in order: never after a crash."""

    def log(self, message: str, level: str = "info") -> None:
        logging.getLogger("headrace.storm").log(getattr(logging, level.upper(), logging.INFO), "%s", message)

    @property
    def logger(self) -> logging.Logger:
        return logging.getLogger("headrace.storm")


class Spout(Component):
    """A source. `next_tuple` must not block: it emits what there is, if there is something, and returns."""

    _task: SpoutTask

    def begin(self, conf: Mapping[str, Any], ctx: Context, task: SpoutTask) -> None:
        self._task = task
        self.initialize(conf, ctx)

    def forgets(self) -> tuple[str, str] | None:
        if hasattr(self, "init_state"):
            return None
        return "is a spout without state, and effectively once must know where it was", "derive it from StatefulSpout, or use a KafkaSpout"

    def next_tuple(self) -> None:
        raise NotImplementedError(f"{type(self).__name__} has no next_tuple")

    def activate(self) -> None:
        """Called before the first `next_tuple`."""

    def ack(self, tup_id: Any) -> None:
        """All that came from this tuple has been processed."""

    def fail(self, tup_id: Any) -> None:
        """Some of it has failed, or not been done in time. Whether to emit it again is the spout's own decision."""

    def emit(
        self,
        tup: Sequence[Any],
        tup_id: Any = None,
        stream: str = DEFAULT,
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> list[int] | None:
        """Put out a tuple. With a `tup_id` it is tracked: `ack` or `fail` will be called with that. Without, neither will."""
        sent = self._task.emit(tup, stream, tup_id, direct_task)
        return sent if need_task_ids else None


class ReliableSpout(Spout):
    """Emits a failed tuple again, up to `max_fails` times; after that it lets it go, as if it had been acked."""

    max_fails = 3

    def begin(self, conf: Mapping[str, Any], ctx: Context, task: SpoutTask) -> None:
        self.unacked_tuples: dict[Any, tuple[Sequence[Any], str, int | None]] = {}
        self.failed_tuples: dict[Any, int] = {}
        super().begin(conf, ctx, task)

    def emit(
        self,
        tup: Sequence[Any],
        tup_id: Any = None,
        stream: str = DEFAULT,
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> list[int] | None:
        if tup_id is None:
            raise ValueError(f"{type(self).__name__} is reliable: give each tuple an id, self.emit(values, tup_id=…)")
        self.unacked_tuples[tup_id] = (tup, stream, direct_task)
        return super().emit(tup, tup_id, stream, direct_task, need_task_ids)

    def ack(self, tup_id: Any) -> None:
        self.failed_tuples.pop(tup_id, None)
        self.unacked_tuples.pop(tup_id, None)

    def fail(self, tup_id: Any) -> None:
        self.failed_tuples[tup_id] = self.failed_tuples.get(tup_id, 0) + 1
        if self.failed_tuples[tup_id] <= self.max_fails and tup_id in self.unacked_tuples:
            self.emit(self.unacked_tuples[tup_id][0], tup_id, *self.unacked_tuples[tup_id][1:])
        else:
            self.ack(tup_id)


class Bolt(Component):
    """Processes tuples. With the flags as they are, what `process` emits is anchored to its tuple, the tuple is acked when `process`
    returns, and failed if it raises; the error is reported, and the next tuple is processed."""

    auto_anchor: ClassVar[bool] = True
    auto_ack: ClassVar[bool] = True
    auto_fail: ClassVar[bool] = True
    tick_freq: ClassVar[float | None] = None
    """Seconds between tick tuples, which `process_tick` gets. Also `config = {"topology.tick.tuple.freq.secs": …}`."""

    _task: BoltTask

    def begin(self, conf: Mapping[str, Any], ctx: Context, task: BoltTask) -> None:
        """For the task: made ready."""
        self._task, self._current = task, list[Tuple]()
        self.initialize(conf, ctx)

    def timers(self, conf: Mapping[str, Any]) -> dict[str, float]:
        """Streams of tuples that the clock sends, with the seconds between them."""
        seconds = conf.get("topology.tick.tuple.freq.secs")
        return {"__tick": float(seconds)} if seconds else {}

    def settings(self) -> dict[str, Any]:
        return {**self.config, **({"topology.tick.tuple.freq.secs": self.tick_freq} if self.tick_freq else {})}

    def take(self, tup: Tuple) -> None:
        """For the task: one tuple."""
        self._current = [tup]
        if tup.is_tick():
            self.process_tick(tup)
        else:
            self.process(tup)
        if self.auto_ack:
            self.ack(tup)

    def current(self) -> list[Tuple]:
        """For the task: what is failed if `take` raises."""
        return self._current if self.auto_fail else []

    def process(self, tup: Tuple) -> None:
        raise NotImplementedError(f"{type(self).__name__} has no process(self, tup)")

    def process_tick(self, tup: Tuple) -> None:
        """A tick tuple."""

    def emit(
        self,
        tup: Sequence[Any],
        stream: str = DEFAULT,
        anchors: Sequence[Tuple] | None = None,
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> list[int] | None:
        """Put out a tuple; with `need_task_ids` it returns the tasks that it went to. `anchors=[]` is unanchored."""
        by = (self._current if self.auto_anchor else []) if anchors is None else anchors
        sent = self._task.emit(tup, stream, by, direct_task)
        return sent if need_task_ids else None

    def ack(self, tup: Tuple) -> None:
        self._task.ack(tup)

    def fail(self, tup: Tuple) -> None:
        self._task.fail(tup)

    def reset_timeout(self, tup: Tuple) -> None:
        """Let the time-out of the tuple's roots begin anew."""
        self._task.reset_timeout(tup)


class BatchingBolt(Bolt):
    """Gathers tuples by `group_key`, and hands each group to `process_batch` at every `ticks_between_batches`th tick.

    A group is acked when `process_batch` returns, and failed, all of it, if it raises. What waits is lost with the process, and comes again
    when its time-out is over.
    """

    tick_freq = 1.0
    ticks_between_batches: ClassVar[int] = 1

    def begin(self, conf: Mapping[str, Any], ctx: Context, task: BoltTask) -> None:
        self._batches: dict[Any, list[Tuple]] = {}
        self._ticks = 0
        super().begin(conf, ctx, task)

    def kept(self) -> Any:
        return {"batches": {key: list(tups) for key, tups in self._batches.items()}, "ticks": self._ticks} if self._task.exact else None

    def recall(self, kept: Any) -> None:
        self._batches, self._ticks = {key: list(tups) for key, tups in kept["batches"].items()}, kept["ticks"]

    def group_key(self, tup: Tuple) -> Any:  # noqa: ARG002
        """The key of a tuple's group; all are of one group if this is not defined."""
        return None

    def process_batch(self, key: Any, tups: list[Tuple]) -> None:
        raise NotImplementedError(f"{type(self).__name__} has no process_batch(self, key, tups)")

    def take(self, tup: Tuple) -> None:
        if not tup.is_tick():
            self._current = [tup]
            self._batches.setdefault(self.group_key(tup), []).append(tup)
            return
        self._current = []
        self._ticks += 1
        if self._ticks % self.ticks_between_batches == 0:
            while self._batches:
                key = next(iter(self._batches))
                self._current = self._batches.pop(key)
                self.process_batch(key, self._current)
                for done in self._current if self.auto_ack else ():
                    self.ack(done)


class TicklessBatchingBolt(BatchingBolt):
    """The same by seconds instead of ticks."""

    secs_between_batches: ClassVar[float] = 2

    def settings(self) -> dict[str, Any]:
        return {**self.config, "topology.tick.tuple.freq.secs": self.secs_between_batches}
