"""Stateful bolts: a map that outlives the process of the bolt.

It is saved every `topology.state.checkpoint.interval.ms` (1000). A tuple is acked only when what it changed has been saved, so nothing is
lost with a process; but what was saved and not yet acked comes again, and counts twice, as in Storm. In a test it is saved in the cluster,
on Spark in the topic `storm.NAME.state`, which is compacted, and is read when a task begins. State: the whole map, in memory and in the
topic.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from headrace.fronts.storm.components.rich import BaseRichBolt, OutputCollector
from headrace.fronts.storm.components.streamparse import Bolt
from headrace.fronts.storm.graph.tuples import SYSTEM, Tuple
from headrace.fronts.storm.tasks.task import Context

if TYPE_CHECKING:
    from headrace.fronts.storm.tasks.bolts import BoltTask

CHECKPOINT = "$checkpoint"
"""The stream of the clock's tuples at which state is saved."""


class KeyValueState:
    """A map of keys to values, both of which can be pickled."""

    def __init__(self, saved: Mapping[Any, Any]) -> None:
        self._values = dict(saved)
        self._changed: dict[Any, None] = {}

    def get(self, key: Any, default: Any = None) -> Any:
        return self._values.get(key, default)

    def put(self, key: Any, value: Any) -> None:
        self._values[key] = value
        self._changed[key] = None

    def delete(self, key: Any) -> None:
        if self._values.pop(key, None) is not None:
            self._changed[key] = None

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return iter(list(self._values.items()))

    def __len__(self) -> int:
        return len(self._values)

    def changes(self) -> dict[Any, tuple[Any, ...]]:
        """What has changed since the last call: a key with its value, or with nothing if it was deleted."""
        changed, self._changed = self._changed, {}
        return {key: (self._values[key],) if key in self._values else () for key in changed}


class StatefulBolt(Bolt):
    """A bolt with a state: `init_state(state)` after `initialize`, and by default `self.state`."""

    def init_state(self, state: KeyValueState) -> None:
        self.state = state

    def pre_commit(self) -> None:
        """Called before the state is saved."""

    def begin(self, conf: Mapping[str, Any], ctx: Context, task: BoltTask) -> None:
        super().begin(conf, ctx, task)
        self._kept, self._done = KeyValueState(task.saved()), list[Tuple]()
        self.init_state(self._kept)

    def timers(self, conf: Mapping[str, Any]) -> dict[str, float]:
        return {**super().timers(conf), CHECKPOINT: float(conf.get("topology.state.checkpoint.interval.ms") or 1000) / 1000}

    def take(self, tup: Tuple) -> None:
        if tup.component == SYSTEM and tup.stream == CHECKPOINT:
            self._commit()
        else:
            super().take(tup)

    def ack(self, tup: Tuple) -> None:
        """When the state has been saved."""
        self._done.append(tup)

    def _commit(self) -> None:
        self.pre_commit()
        self._task.save(self._kept.changes())
        done, self._done = self._done, []
        for tup in done:
            self._task.ack(tup)


class BaseStatefulBolt(StatefulBolt, BaseRichBolt):
    """The same as Storm's Java has it: `prepare`, `initState(state)`, `execute(tuple)`, `preCommit(txid)`."""

    def initState(self, state: KeyValueState) -> None:  # noqa: N802
        raise NotImplementedError(f"{type(self).__name__} has no initState(self, state)")

    def preCommit(self, txid: int) -> None:  # noqa: N802
        """Called before the state is saved."""

    def init_state(self, state: KeyValueState) -> None:
        self._saves = 0
        self.initState(state)

    def pre_commit(self) -> None:
        self._saves += 1
        self.preCommit(self._saves)

    def collector(self, task: BoltTask) -> OutputCollector:
        return StatefulCollector(task, self)


class StatefulCollector(OutputCollector):
    """Acks when the state has been saved."""

    def __init__(self, task: BoltTask, bolt: BaseStatefulBolt) -> None:
        super().__init__(task)
        self._bolt = bolt

    def ack(self, tup: Tuple) -> None:
        self._bolt.ack(tup)
