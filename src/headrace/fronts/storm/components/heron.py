"""Heron's own bolts in Python: windows by the clock, in whole seconds; and what the functions of streamlets run in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, ClassVar, NamedTuple

from headrace.fronts.storm.components.cutting import Duration, TupleWindow
from headrace.fronts.storm.components.state import StatefulComponent, StatefulSpout
from headrace.fronts.storm.components.streamparse import Bolt
from headrace.fronts.storm.components.windows import BaseWindowedBolt
from headrace.fronts.storm.graph.groupings import stable_hash
from headrace.fronts.storm.graph.tuples import Tuple
from headrace.fronts.storm.tasks.bolts import BoltTask
from headrace.fronts.storm.tasks.task import Context as TaskContext

Function = Callable[..., Any]


class WindowContext(NamedTuple):
    """From when to when a window is, in seconds."""

    start: float
    end: float


class SlidingWindowBolt(BaseWindowedBolt):
    """`processWindow(window_info, tuples)` every WINDOW_SLIDEINTERVAL_SECS, with the tuples of the last WINDOW_DURATION_SECS; both are
    settings of the component. Windows without a tuple are not given."""

    WINDOW_DURATION_SECS: ClassVar[str] = "slidingwindowbolt_duration_secs"
    WINDOW_SLIDEINTERVAL_SECS: ClassVar[str] = "slidingwindowbolt_slideinterval_secs"
    auto_anchor = True

    def processWindow(self, window_info: WindowContext, tuples: list[Tuple]) -> None:  # noqa: N802
        raise NotImplementedError(f"{type(self).__name__} has no processWindow(self, window_info, tuples)")

    def declared(self) -> dict[str, Any]:
        return Bolt.declared(self)

    def settings(self) -> dict[str, Any]:
        return Bolt.settings(self)

    def timers(self, conf: Mapping[str, Any]) -> dict[str, float]:
        self._cut(conf)
        return super().timers(conf)

    def problem(self, conf: Mapping[str, Any]) -> tuple[str, str] | None:
        if conf.get(self.WINDOW_DURATION_SECS) is None:
            return "has no window", f"say how long it is: config={{{type(self).__name__}.WINDOW_DURATION_SECS: 10}}"
        self._cut(conf)
        return super().problem(conf)

    def begin(self, conf: Mapping[str, Any], ctx: TaskContext, task: BoltTask) -> None:
        self._cut(conf)
        super().begin(conf, ctx, task)

    def prepare(self, conf: Mapping[str, Any], context: TaskContext, collector: Any) -> None:  # noqa: ARG002
        self.initialize(conf, context)

    def execute(self, window: TupleWindow) -> None:  # type: ignore[override]
        self.processWindow(WindowContext((window.getStartTimestamp() or 0) / 1000, window.getEndTimestamp() / 1000), window.get())

    def _cut(self, conf: Mapping[str, Any]) -> None:
        length = float(conf[self.WINDOW_DURATION_SECS])
        self.withWindow(Duration.seconds(length), Duration.seconds(float(conf.get(self.WINDOW_SLIDEINTERVAL_SECS) or length)))


class TumblingWindowBolt(SlidingWindowBolt):
    """`processWindow(window_info, tuples)` every WINDOW_DURATION_SECS, with the tuples since the last time."""

    WINDOW_DURATION_SECS = "tumblingwindowbolt_duration_secs"
    WINDOW_SLIDEINTERVAL_SECS = "tumblingwindowbolt_duration_secs"


# -- what streamlets are made of -------------------------------------------------------------------------------------------------------


class Window(NamedTuple):
    """From when to when a window of a streamlet is, in seconds."""

    start_time: float
    end_time: float


class KeyedWindow(NamedTuple):
    """A key, and the window that a value of it is of."""

    key: Any
    window: Window


class Context:
    """Where an operator runs: what `setup(context)` gets."""

    def __init__(self, ctx: TaskContext, conf: Mapping[str, Any], state: Any, emit: Function) -> None:
        self._ctx, self._conf, self._state, self._emit = ctx, conf, state, emit

    def get_task_id(self) -> int:
        return self._ctx.getThisTaskId()

    def get_config(self) -> Mapping[str, Any]:
        return self._conf

    def get_stream_name(self) -> str:
        return self._ctx.getThisComponentId()

    def get_num_partitions(self) -> int:
        return len(self._ctx.getComponentTasks(self._ctx.getThisComponentId()))

    def get_partition_index(self) -> int:
        return self._ctx.getThisTaskIndex()

    def get_state(self) -> Any:
        """A `KeyValueState`, which is saved if the topology runs effectively once or, of a bolt, at least once."""
        return self._state

    def emit(self, value: Any) -> None:
        """Put out an element."""
        self._emit([value])


class GeneratorSpout(StatefulSpout):
    """Emits what a generator gives, or a function."""

    outputs = ("value",)

    def __init__(self, generator: Any) -> None:
        self.generator = generator

    def initialize(self, conf: Mapping[str, Any], ctx: TaskContext) -> None:
        if not callable(self.generator):
            self.generator.setup(Context(ctx, conf, self.state, self.emit))

    def next_tuple(self) -> None:
        value = self.generator() if callable(self.generator) else self.generator.get()
        if value is not None:
            self.emit([value])


class EachBolt(Bolt):
    """A function of one element, which gives the elements to put out."""

    outputs = ("value",)

    def __init__(self, function: Callable[[Any], Iterable[Any]]) -> None:
        self.function = function

    def process(self, tup: Tuple) -> None:
        for value in self.function(tup[0]):
            self.emit([value])


class ConsumeBolt(Bolt):
    """A function of one element, whose answer is nobody's."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def process(self, tup: Tuple) -> None:
        self.function(tup[0])


class LogBolt(Bolt):
    """Logs each element."""

    def process(self, tup: Tuple) -> None:
        self.log(str(tup[0]))


class TransformBolt(StatefulComponent, Bolt):
    """An operator of the program's own, with `setup(context)` and `transform(element)`."""

    outputs = ("value",)

    def __init__(self, operator: Any) -> None:
        self.operator = operator

    def initialize(self, conf: Mapping[str, Any], ctx: TaskContext) -> None:
        self.operator.setup(Context(ctx, conf, self.state, self.emit))

    def process(self, tup: Tuple) -> None:
        self.operator.transform(tup)


class ReduceBolt(SlidingWindowBolt):
    """The elements of a window as one; if they have keys, as one for each."""

    outputs = ("value",)

    def __init__(self, function: Function, *, by_key: bool) -> None:
        self.function, self.by_key = function, by_key

    def processWindow(self, window_info: WindowContext, tuples: list[Tuple]) -> None:  # noqa: N802
        window = Window(*window_info)
        if not self.by_key:
            self.emit([(window, reduce(self.function, [tup[0] for tup in tuples]))])
            return
        for key, values in _by_key(tuples).items():
            self.emit([(KeyedWindow(key, window), reduce(self.function, values))])


class JoinBolt(SlidingWindowBolt):
    """Pairs of the elements of a window that have the same key, one of each side; what has no partner is paired with None. `right` is the
    component of the right side."""

    outputs = ("value",)
    right = ""

    def __init__(self, function: Function, outer: Sequence[str]) -> None:
        self.function, self.outer = function, tuple(outer)

    def processWindow(self, window_info: WindowContext, tuples: list[Tuple]) -> None:  # noqa: N802
        lefts = _by_key([tup for tup in tuples if tup.component != self.right])
        rights = _by_key([tup for tup in tuples if tup.component == self.right])
        for key in {**lefts, **rights}:
            left, right = lefts.get(key), rights.get(key)
            if (left or "right" in self.outer) and (right or "left" in self.outer):
                for one in left or [None]:
                    for other in right or [None]:
                        self.emit([(KeyedWindow(key, Window(*window_info)), self.function(one, other))])


def _by_key(tuples: Iterable[Tuple]) -> dict[Any, list[Any]]:
    groups: dict[Any, list[Any]] = {}
    for tup in tuples:
        key, value = pair(tup[0])
        groups.setdefault(key, []).append(value)
    return groups


def pair(element: Any) -> tuple[Any, Any]:
    """The key and the value of an element; ValueError if it is no pair."""
    if not isinstance(element, Sequence) or isinstance(element, str) or len(element) != 2:
        raise ValueError(f"an element that is reduced by key or joined is a pair (key, value), not {element!r}")
    return element[0], element[1]


class ByKey:
    """A grouping: elements of one key go to one task."""

    def prepare(self, context: Any, stream: str, target_tasks: list[int]) -> None:  # noqa: ARG002
        self.tasks = target_tasks

    def choose_tasks(self, task: int, values: Sequence[Any]) -> list[int]:  # noqa: ARG002
        return [self.tasks[stable_hash(pair(values[0])[0]) % len(self.tasks)]]


class ByFunction:
    """A grouping: the function says to which partition an element goes, or to which ones."""

    def __init__(self, function: Function) -> None:
        self.function = function

    def prepare(self, context: Any, stream: str, target_tasks: list[int]) -> None:  # noqa: ARG002
        self.tasks = target_tasks

    def choose_tasks(self, task: int, values: Sequence[Any]) -> list[int]:  # noqa: ARG002
        chosen = self.function(values[0], len(self.tasks))
        return [self.tasks[each % len(self.tasks)] for each in ([chosen] if isinstance(chosen, int) else chosen)]
