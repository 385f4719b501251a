"""Stateful spouts and bolts: a map, `KeyValueState`, that outlives their process.

At least once, the state of a bolt is saved every `topology.state.checkpoint.interval.ms` (1000), in the topic `storm.NAME.state`, and
tuples are acked when it has been: nothing is lost, but after a crash tuples may count twice, as in Storm. Effectively once, it is saved
with the stream's position, and a spout's with the tuples that it has emitted: after a crash all go back to one moment, and every tuple
counts once. State: the whole map is in memory, in one task.

>>> from headrace.storm import FeederSpout, LocalCluster, StatefulBolt, TopologyBuilder
>>> class Sum(StatefulBolt):
...     outputs = ["sum"]
...     def process(self, tup):
...         self.state["sum"] = self.state.get("sum", 0) + tup["value"]
...         self.emit([self.state["sum"]])
>>> feeder, builder = FeederSpout(["value"]), TopologyBuilder()
>>> spout, bolt = builder.setSpout("feeder", feeder), builder.setBolt("sum", Sum()).shuffleGrouping("feeder")
>>> cluster = LocalCluster(builder)
>>> feeder.feed([7])
>>> cluster.advance(2)                 # it is saved
>>> cluster.kill("sum")
>>> feeder.feed([5])
>>> cluster.run()
>>> cluster.emitted["sum", "default"]
[[7], [12]]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headrace.fronts.storm.components.rich import BaseRichBolt
from headrace.fronts.storm.components.streamparse import Bolt, Spout
from headrace.fronts.storm.tasks.state import KeyValueState
from headrace.fronts.storm.tasks.task import Context

if TYPE_CHECKING:
    from headrace.fronts.storm.tasks.bolts import BoltTask


class StatefulComponent:
    """What makes a spout or bolt stateful, as Heron's Python has it: `class Count(Bolt, StatefulComponent)`."""

    def init_state(self, state: KeyValueState) -> None:
        """Called once, before `initialize`, with what was saved last. By default it is `self.state` from then on."""
        self.state = state

    def pre_save(self, checkpoint_id: int) -> None:
        """Called before the state is saved: the last moment to put something into it."""


class StatefulBolt(StatefulComponent, Bolt):
    """A bolt with a state."""


class StatefulSpout(StatefulComponent, Spout):
    """A spout with a state: where it is in what it reads. Its state is saved if the topology runs effectively once; at least once, what
    is not acked comes by `fail`, and after the death of its process from where the spout has it."""


class IStatefulComponent(StatefulComponent):
    """The same as Heron's Java has it: `initState(state)` before `open` or `prepare`, and `preSave(checkpointId)`."""

    def initState(self, state: KeyValueState) -> None:  # noqa: N802
        raise NotImplementedError(f"{type(self).__name__} has no initState(self, state)")

    def preSave(self, checkpointId: int) -> None:  # noqa: N802, N803
        """Called before the state is saved."""

    def init_state(self, state: KeyValueState) -> None:
        self.initState(state)

    def pre_save(self, checkpoint_id: int) -> None:
        self.preSave(checkpoint_id)


class BaseStatefulBolt(StatefulComponent, BaseRichBolt):
    """A stateful bolt as Storm's Java has it: `prepare`, then `initState(state)`, and `execute(tuple)`.

    Of its hooks `prePrepare(txid)` and `preCommit(txid)` are called one after the other before the state is saved; `preRollback` never is:
    a bolt that goes back begins anew.
    """

    def initState(self, state: KeyValueState) -> None:  # noqa: N802
        raise NotImplementedError(f"{type(self).__name__} has no initState(self, state)")

    def prePrepare(self, txid: int) -> None:  # noqa: N802
        """Called before the state is saved."""

    def preCommit(self, txid: int) -> None:  # noqa: N802
        """Called before the state is saved."""

    def preRollback(self) -> None:  # noqa: N802
        """Not called."""

    def begin(self, conf: Mapping[str, Any], ctx: Context, task: BoltTask) -> None:
        super().begin(conf, ctx, task)
        self.initState(self.state)

    def pre_save(self, checkpoint_id: int) -> None:
        self.prePrepare(checkpoint_id)
        self.preCommit(checkpoint_id)
