"""One batch: first what can be computed without changing a state, then, in the order of the txids, the states and what they give.

A batch that fails before its commit has changed nothing, unless it failed between two states: that is what the kinds of states are for.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

from headrace.errors import pointing_at
from headrace.fronts.trident.nodes import Graph, Node, Processor, Query, Repartition, Source, StateOf, Update, Windowed
from headrace.fronts.trident.operations import Task, TransactionAttempt
from headrace.fronts.trident.running.partitions import Local, Partitions
from headrace.fronts.trident.running.work import Work, close, prepared
from headrace.fronts.trident.steps import routes
from headrace.fronts.trident.tuples import Row


class Batches:
    """Runs the batches of one topology. `default` is the number of partitions where nothing is said, `clock` the processing time."""

    def __init__(self, graph: Graph, conf: Mapping[str, Any], *, default: int = 1, clock: Callable[[], float] = time.time) -> None:
        self._graph, self._conf, self._clock = graph, dict(conf), clock
        self.counts = graph.partitions(default)
        self._states: dict[StateOf, list[Any]] = {}
        self._windows: dict[Node, list[Any]] = {}
        self._lock = threading.RLock()  # a state has one reader or writer at a time: DRPC requests come in other threads
        self._open = ExitStack()
        self._rewound = False

    def open(self) -> None:
        """Open every state, so that one that is not there is known before the first batch; prepare every operation."""
        for state in self._graph.states:
            with pointing_at(state.where):
                count = self.counts[state]
                self._states[state] = [state.factory.makeState(self._conf, number, count) for number in range(count)]
        operations = list({id(each): each for node in self._graph.nodes for each in node.operations}.values())
        self._open.enter_context(prepared(operations, self._conf))

    def close(self) -> None:
        """Clean up operations, and let go of states."""
        self._open.close()
        for states in self._states.values():
            for state in states:
                close(state)

    def states(self, state: StateOf) -> list[Any]:
        """The partitions of a state."""
        return self._states[state]

    def run(self, graph: Graph, batch: TransactionAttempt, sources: Mapping[Source, Partitions]) -> dict[Node, Partitions]:
        """A batch of some sources through what is below them; the tuples of each node."""
        made: dict[Node, Partitions] = {}
        commits = self._below_updates(graph)
        for node in graph.nodes:
            if node not in commits:
                made[node] = self._node(node, batch, made, sources)
                children = graph.children(node)
                if len(children) != 1 or children[0] in commits:
                    made[node] = made[node].computed()
        if batch.txid is not None and (batch.attempt > 0 or not self._rewound):
            self._rewind(graph, batch.txid)
        for node in graph.nodes:
            if node in commits:
                made[node] = self._node(node, batch, made, sources)
                if isinstance(node, Update) or len(graph.children(node)) != 1:
                    made[node] = made[node].computed()
        return made

    def _below_updates(self, graph: Graph) -> set[Node]:
        reached: set[Node] = set()
        for node in graph.nodes:
            if isinstance(node, Update) or any(parent in reached for parent in node.parents):
                reached.add(node)
        return reached

    def _rewind(self, graph: Graph, txid: int) -> None:
        """Take back what an earlier attempt has done to states that can: also to keys that this attempt will not have."""
        for state in dict.fromkeys(node.state for node in graph.nodes if isinstance(node, Update)):
            with self._lock, pointing_at(state.where):
                for each in self._states[state]:
                    if callable(rewind := getattr(each, "rewind", None)):
                        rewind(txid)
        self._rewound = True

    def _node(
        self, node: Node, batch: TransactionAttempt, made: Mapping[Node, Partitions], sources: Mapping[Source, Partitions]
    ) -> Partitions:
        count = self.counts[node]
        before = [made[parent] for parent in node.parents if parent in made]

        def work(function: Callable[..., Iterable[Any]], **more: Any) -> Work:
            return Work(node.name or node.label, node.where, function, batch, count, self._conf, node.operations, **more)

        if isinstance(node, Source):
            return sources[node] if sources[node].count == count else sources[node].exchange(work(_routed(routes.stay, count)), count)
        if isinstance(node, Repartition):
            return before[0].exchange(work(_routed(node.route, count)), count)
        if isinstance(node, Query | Update):
            if node.state.factory.remote and not isinstance(before[0], Local):
                return before[0].process(work(node.process, opens=node.state.factory))
            return before[0].here().process(work(self._with_state(node)))
        if isinstance(node, Windowed):
            return before[0].here().process(work(self._with_windows(node)))
        assert isinstance(node, Processor)
        return before[0].beside(before[1:], work(node.process)) if len(before) > 1 else before[0].process(work(node.process))

    def _with_state(self, node: Query | Update) -> Callable[[Task, list[Row]], list[Row]]:
        states = self._states[node.state]

        def process(task: Task, rows: list[Row]) -> list[Row]:
            with self._lock:
                return list(node.process(task, states[task.partition], rows))

        return process

    def _with_windows(self, node: Windowed) -> Callable[[Task, list[Row]], list[Row]]:
        windows = self._windows.setdefault(node, [node.open() for _ in range(self.counts[node])])
        now = self._clock()
        return lambda task, rows: windows[task.partition](task, now, rows)


def _routed(route: routes.Route, count: int) -> Callable[[Task, list[Row]], Iterator[tuple[int, Row]]]:
    return lambda task, rows: route(task, rows, count)
