"""Storm's TopologyBuilder, with Java's names.

builder = TopologyBuilder()
builder.setSpout("spout", RandomSentenceSpout(), 5)
builder.setBolt("split", Split(), 8).shuffleGrouping("spout")
builder.setBolt("count", WordCount(), 12).fieldsGrouping("split", Fields("word"))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.errors import user_line
from headrace.fronts.storm.components.rich import LambdaBolt
from headrace.fronts.storm.components.streamparse import Component
from headrace.fronts.storm.graph.groupings import Grouping
from headrace.fronts.storm.graph.layout import Layout, Part, StreamId
from headrace.fronts.storm.graph.tuples import DEFAULT
from headrace.fronts.storm.topologies.topology import InvalidTopologyException, is_bolt, laid_out


class Declarer:
    """What `setSpout` and `setBolt` give: more is said of the component, one thing after the other."""

    def __init__(self, name: str, code: Component, hint: int) -> None:
        self.name, self.code, self.hint = name, code, hint
        self.tasks: int | None = None
        self.inputs: dict[StreamId, Grouping] = {}
        self.config: dict[str, Any] = {}
        self.where = user_line()

    def setNumTasks(self, tasks: int) -> Declarer:  # noqa: N802
        self.tasks = tasks
        return self

    def setMaxSpoutPending(self, most: int) -> Declarer:  # noqa: N802
        return self.addConfiguration("topology.max.spout.pending", most)

    def addConfiguration(self, key: str, value: Any) -> Declarer:  # noqa: N802
        self.config[key] = value
        return self

    def addConfigurations(self, config: Mapping[str, Any]) -> Declarer:  # noqa: N802
        self.config.update(config)
        return self

    def part(self) -> Part:
        config = {**self.code.settings(), **self.config}
        most = config.get("topology.max.task.parallelism")
        tasks = min(self.tasks or self.hint, int(most)) if most else self.tasks or self.hint
        hint, spout = min(self.hint, tasks) if most else self.hint, not is_bolt(self.code)
        return Part(self.name, self.code, spout, hint, tasks, self.inputs, self.code.declared(), config, self.where)

    def setMaxTaskParallelism(self, most: int) -> Declarer:  # noqa: N802
        return self.addConfiguration("topology.max.task.parallelism", most)


class BoltDeclarer(Declarer):
    """The groupings: `.shuffleGrouping("spout")`, or of a stream that has a name `.shuffleGrouping("spout", "errors")`."""

    def grouping(self, component: str, stream: str, grouping: Grouping) -> BoltDeclarer:
        self.inputs[component, stream] = grouping
        return self

    def shuffleGrouping(self, component: str, stream: str = DEFAULT) -> BoltDeclarer:  # noqa: N802
        return self.grouping(component, stream, Grouping.SHUFFLE)

    def fieldsGrouping(self, component: str, *arguments: Any) -> BoltDeclarer:  # noqa: N802
        """`fieldsGrouping(component, [stream,] Fields("word"))`."""
        return self.grouping(component, arguments[0] if len(arguments) > 1 else DEFAULT, Grouping.fields(list(arguments[-1])))

    def partialKeyGrouping(self, component: str, *arguments: Any) -> BoltDeclarer:  # noqa: N802
        return self.grouping(component, arguments[0] if len(arguments) > 1 else DEFAULT, Grouping.partial_key(list(arguments[-1])))

    def allGrouping(self, component: str, stream: str = DEFAULT) -> BoltDeclarer:  # noqa: N802
        return self.grouping(component, stream, Grouping.ALL)

    def globalGrouping(self, component: str, stream: str = DEFAULT) -> BoltDeclarer:  # noqa: N802
        return self.grouping(component, stream, Grouping.GLOBAL)

    def noneGrouping(self, component: str, stream: str = DEFAULT) -> BoltDeclarer:  # noqa: N802
        return self.grouping(component, stream, Grouping.NONE)

    def directGrouping(self, component: str, stream: str = DEFAULT) -> BoltDeclarer:  # noqa: N802
        return self.grouping(component, stream, Grouping.DIRECT)

    def localOrShuffleGrouping(self, component: str, stream: str = DEFAULT) -> BoltDeclarer:  # noqa: N802
        return self.grouping(component, stream, Grouping.LOCAL_OR_SHUFFLE)

    def customGrouping(self, component: str, *arguments: Any) -> BoltDeclarer:  # noqa: N802
        """`customGrouping(component, [stream,] grouping)`."""
        return self.grouping(component, arguments[0] if len(arguments) > 1 else DEFAULT, Grouping.custom_object(arguments[-1]))


class TopologyBuilder:
    """Describes a topology, one component after the other; `createTopology` checks it."""

    def __init__(self, name: str = "topology") -> None:
        self.name = name
        self._declarers: list[Declarer] = []

    def setSpout(self, name: str, spout: Component, parallelism: int = 1) -> Declarer:  # noqa: N802
        return self._add(Declarer(name, self._made(name, spout), parallelism))

    def setBolt(self, name: str, bolt: Any, parallelism: int = 1, fields: Sequence[str] = ()) -> BoltDeclarer:  # noqa: N802
        """A bolt, or a function `(tuple, collector)` with the names of the fields that it emits."""
        code = LambdaBolt(bolt, fields) if callable(bolt) and not isinstance(bolt, type) and not isinstance(bolt, Component) else bolt
        declarer = BoltDeclarer(name, self._made(name, code), parallelism)
        self._add(declarer)
        return declarer

    def createTopology(self, config: Mapping[str, Any] | None = None) -> Layout:  # noqa: N802
        """The topology, checked; InvalidTopologyException if it cannot run."""
        return laid_out(self.name, (declarer.part() for declarer in self._declarers), dict(config or {}))

    def _add(self, declarer: Declarer) -> Declarer:
        self._declarers.append(declarer)
        return declarer

    def _made(self, name: str, code: Any) -> Component:
        made = code() if isinstance(code, type) else code
        if not isinstance(made, Component):
            raise InvalidTopologyException(
                f"Component: [{name}] is neither a spout nor a bolt: {code!r}", fix="derive it from BaseRichSpout, BaseRichBolt, …",
                where=user_line(),
            )  # fmt: skip
        return made
