"""The graph of a topology: nodes with their parents. A node has one function over one partition, the same in-process and on Spark.

Nodes between two repartitionings form a group; all nodes of a group have the same number of partitions: the greatest `parallelismHint`
among them, or the default. Who queries a state is in the group of who updates it, so that partition i asks the state of partition i.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from headrace.errors import user_line
from headrace.fronts.trident.operations import Task
from headrace.fronts.trident.states.kinds import StateFactory
from headrace.fronts.trident.steps.routes import Route
from headrace.fronts.trident.tuples import Row

Process = Callable[..., Iterable[Row]]


@dataclass(eq=False, kw_only=True)
class Node:
    """What every node has. `label` is how messages call it, `operations` are the user's objects that want `prepare` and `cleanup`."""

    label: str
    fields: Sequence[str]
    parents: tuple[Node, ...] = ()
    operations: tuple[Any, ...] = ()
    hint: int | None = None
    name: str | None = None
    where: str | None = field(default_factory=user_line)


@dataclass(eq=False, kw_only=True)
class Source(Node):
    """A spout, a headrace stream or a DRPC function. `most` is how many partitions it can have."""

    id: str
    origin: Any
    most: int | None = None

    @property
    def asked(self) -> bool:
        """Whether it is a DRPC function: its batches are requests."""
        return isinstance(self.origin, Requests)


@runtime_checkable
class Requests(Protocol):
    """Where DRPC requests come from: `execute(function, args)` of a program ends at what is registered here."""

    def register(self, function: str, answer: Callable[[str], str]) -> None:
        """Send requests of this function there."""

    def unregister(self, function: str, answer: Callable[[str], str]) -> None:
        """And no longer."""


@dataclass(eq=False, kw_only=True)
class Repartition(Node):
    """`route` says where each tuple goes. `same`: to as many partitions as it comes from."""

    route: Route
    same: bool = False


@dataclass(eq=False, kw_only=True)
class Processor(Node):
    """`process(task, rows)` gives the tuples of a partition; with several parents, `process(task, rows of one, rows of the next, …)`."""

    process: Process


@dataclass(eq=False, kw_only=True)
class StateOf:
    """A state: its factory, and which group it belongs to."""

    label: str
    factory: StateFactory
    where: str | None = field(default_factory=user_line)


@dataclass(eq=False, kw_only=True)
class Query(Node):
    """`process(task, state, rows)` reads a state."""

    state: StateOf
    process: Process


@dataclass(eq=False, kw_only=True)
class Update(Node):
    """`process(task, state, rows)` changes a state, in the commit phase, if there are rows."""

    state: StateOf
    process: Process


@dataclass(eq=False, kw_only=True)
class Windowed(Node):
    """`open()` makes what a partition keeps of earlier batches; `kept(task, now, rows)` gives the tuples of the windows that are due."""

    open: Callable[[], Callable[[Task, float, list[Row]], list[Row]]]
    by_time: bool


@dataclass(frozen=True)
class Graph:
    """All nodes, parents first."""

    nodes: tuple[Node, ...]

    @property
    def states(self) -> list[StateOf]:
        """Every state, in the order of their first use."""
        return list(dict.fromkeys(node.state for node in self.nodes if isinstance(node, Query | Update)))

    def below(self, sources: Iterable[Source]) -> Graph:
        """The nodes that come from these sources alone or together."""
        reached: set[Node] = set(sources)
        for node in self.nodes:
            if any(parent in reached for parent in node.parents):
                reached.add(node)
        return Graph(tuple(node for node in self.nodes if node in reached))

    def children(self, node: Node) -> list[Node]:
        """Who takes its tuples."""
        return [child for child in self.nodes if node in child.parents]

    def leaves(self) -> list[Node]:
        """Whose tuples nobody takes."""
        return [node for node in self.nodes if not self.children(node)]

    def partitions(self, default: int) -> dict[Node | StateOf, int]:
        """How many partitions each node and each state has."""
        group: dict[Node | StateOf, Node | StateOf] = {}

        def root(each: Node | StateOf) -> Node | StateOf:
            while group.setdefault(each, each) is not each:
                each = group[each]
            return each

        for node in self.nodes:
            together: list[Node | StateOf] = [] if isinstance(node, Repartition) and not node.same else list(node.parents)
            together += [node.state] if isinstance(node, Query | Update) else []
            for other in together:
                group[root(other)] = root(node)
        for node in self.nodes:
            root(node)
        members: dict[Node | StateOf, list[Node]] = {}
        for node in self.nodes:
            members.setdefault(root(node), []).append(node)
        streamed = set(self.below(node for node in self.nodes if isinstance(node, Source) and not node.asked).nodes)

        def count(nodes: list[Node]) -> int:
            usual = default if any(node in streamed for node in nodes) else 1  # a request is one tuple
            asked = max((node.hint for node in nodes if node.hint), default=usual)
            return min([asked, *(node.most for node in nodes if isinstance(node, Source) and node.most)])

        counts = {key: count(nodes) for key, nodes in members.items()}
        return {each: counts[root(each)] for each in group}
