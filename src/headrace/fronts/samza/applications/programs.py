"""What a program is: tasks or a described application, with a configuration, cut into stages.

A stage is what is connected without a `partitionBy` or `broadcast` between: its tasks are the keys of one scan. A table joins what uses
it into one stage. Stages are joined by topics in streams, as in Samza, and run one after the other in a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from headrace.errors import user_line
from headrace.fronts.samza.applications.descriptors import InputDescriptor, OffsetType, OutputDescriptor, StreamDescriptor, TableDescriptor
from headrace.fronts.samza.applications.operators import Each, Forward, Graph, Operator
from headrace.fronts.samza.applications.streams import BETWEEN, Intermediate, StreamApplicationDescriptor
from headrace.fronts.samza.config import Configuration, Input, column, refused
from headrace.fronts.samza.serdes import Serde
from headrace.fronts.samza.stores import StoreSpec
from headrace.kernel.python.calls import travels_with_the_job


class StreamApplication:
    """An application in the high-level API."""

    def describe(self, app: StreamApplicationDescriptor) -> None:
        """Say what is read, done and written."""
        raise NotImplementedError


class TaskApplicationDescriptor:
    """What `TaskApplication.describe` gets."""

    def __init__(self) -> None:
        self.inputs: dict[str, InputDescriptor] = {}
        self.outputs: dict[str, OutputDescriptor] = {}
        self.tables: dict[str, TableDescriptor] = {}
        self.factory: Callable[[], Any] | None = None

    def withInputStream(self, descriptor: InputDescriptor) -> TaskApplicationDescriptor:
        """Read a stream."""
        self.inputs[descriptor.streamId] = descriptor
        return self

    def withOutputStream(self, descriptor: OutputDescriptor) -> TaskApplicationDescriptor:
        """Send to a stream."""
        self.outputs[descriptor.streamId] = descriptor
        return self

    def withTable(self, descriptor: TableDescriptor) -> TaskApplicationDescriptor:
        """Have a table: `context.getTaskContext().getTable(name)`."""
        self.tables[descriptor.tableId] = descriptor
        return self

    def withTaskFactory(self, factory: Callable[[], Any]) -> TaskApplicationDescriptor:
        """What makes the tasks: a class, or a function without parameters."""
        self.factory = factory
        return self

    setTaskFactory = withTaskFactory


class TaskApplication:
    """An application in the low-level API whose streams are described in code."""

    def describe(self, app: TaskApplicationDescriptor) -> None:
        """Say what is read and written, and what makes the tasks."""
        raise NotImplementedError


@dataclass(frozen=True)
class Stage:
    """Tasks that share a scan: what makes them, and the streams that they read."""

    factory: Callable[[], Any]
    inputs: Mapping[str, Input]
    stores: tuple[StoreSpec, ...]
    feeds: tuple[str, ...] = ()


@dataclass(frozen=True)
class Application:
    """A program, checked. `where` is the user's line."""

    config: Configuration
    stages: tuple[Stage, ...]
    described: Mapping[str, StreamDescriptor]
    intermediates: Mapping[str, Intermediate] = field(default_factory=dict)
    where: str | None = None

    def serdes(self, stream: str) -> tuple[Serde | None, Serde | None]:
        """Of key and message, as the program or the configuration says."""
        if stream in self.intermediates:
            return self.intermediates[stream].serde.key, self.intermediates[stream].serde.value
        key, value = self.described[stream].serdes() if stream in self.described else (None, None)
        configured = self.config.stream_serdes(stream)
        return key or configured[0], value or configured[1]

    def system(self, stream: str) -> str:
        """The system that a program names to send to a stream."""
        return BETWEEN if stream in self.intermediates else self.config.system

    @property
    def window_ms(self) -> int:
        return self.config.number("task.window.ms", -1)


def application(program: Any, config: Mapping[str, Any] | None) -> Application:
    """The application that a task class, an application class, or an instance of one, makes with a configuration."""
    settings = Configuration(config)
    described = program() if isinstance(program, type) and issubclass(program, StreamApplication | TaskApplication) else program
    if isinstance(described, StreamApplication):
        return _of_streams(described, settings)
    if isinstance(described, TaskApplication):
        tasks = TaskApplicationDescriptor()
        described.describe(tasks)
        if tasks.factory is None:
            raise refused("the TaskApplication makes no task", "call app.withTaskFactory(MyTask) in describe")
        return _of_tasks(tasks, settings)
    if not callable(program):
        raise refused(f"{program!r} is neither a task nor an application", "give the class of a StreamTask, or a StreamApplication")
    low = TaskApplicationDescriptor()
    low.factory = program
    return _of_tasks(low, settings)


def _of_tasks(tasks: TaskApplicationDescriptor, settings: Configuration) -> Application:
    factory: Any = tasks.factory
    if isinstance(factory, type) and not hasattr(factory, "process") and not hasattr(factory, "processAsync"):
        raise refused(f"{factory.__name__} has no process", "give it process(self, envelope, collector, coordinator): see StreamTask")
    if isinstance(factory, type) and settings.number("task.window.ms", -1) > 0 and not hasattr(factory, "window"):
        raise refused(f"task.window.ms is given, but {factory.__name__} has no window", "give it window(self, collector, coordinator)")
    travels_with_the_job(factory)
    settings.adopt(stream.system for stream in (*tasks.inputs.values(), *tasks.outputs.values()))
    inputs = _inputs(settings, tasks.inputs)
    if not inputs:
        raise refused("the job reads no stream", "name some: 'task.inputs': 'kafka.sentences'")
    stores = (*settings.stores(), *(_store(table) for table in tasks.tables.values()))
    return Application(settings, (Stage(factory, inputs, stores),), {**tasks.inputs, **tasks.outputs}, where=user_line())


def _inputs(settings: Configuration, described: Mapping[str, InputDescriptor]) -> dict[str, Input]:
    inputs = settings.inputs(list(described))
    for name, descriptor in described.items():
        declared = inputs[name]
        oldest = declared.oldest if descriptor.offset is None else descriptor.offset is OffsetType.OLDEST
        bootstrap, priority = declared.bootstrap or descriptor.bootstrap, max(declared.priority, descriptor.priority)
        inputs[name] = Input(name, bootstrap, priority, oldest or bootstrap, declared.broadcast)
    return inputs


def _store(table: TableDescriptor) -> StoreSpec:
    return StoreSpec(table.tableId, column(table.tableId), table.serde.key, table.serde.value, table.changelog)


def _of_streams(program: StreamApplication, settings: Configuration) -> Application:
    travels_with_the_job(type(program))
    app = StreamApplicationDescriptor(settings.job)
    program.describe(app)
    if not app.inputs:
        raise refused("the application reads no stream", "call app.getInputStream(…) in describe")
    described: dict[str, StreamDescriptor] = {**app.inputs, **app.outputs}
    settings.adopt(stream.system for stream in described.values())
    inputs = _inputs(settings, app.inputs)
    inputs.update({name: Input(name, _all_bootstrap(app, name, inputs), oldest=True) for name in app.intermediates})
    for operator in app.operators:
        for function in operator.functions:
            if function is not None:
                travels_with_the_job(function)
    stages = [_stage(app, inputs, piece) for part in _parts(app) for piece in _unlooped(app, part)]
    return Application(settings, tuple(_in_order(stages)), described, app.intermediates, user_line())


def _all_bootstrap(app: StreamApplicationDescriptor, intermediate: str, inputs: Mapping[str, Input]) -> bool:
    """Whether an intermediate stream comes from bootstrap streams alone: in a batch it is one, too."""
    (forward,) = (operator for operator in app.operators if isinstance(operator, Forward) and operator.stream.stream == intermediate)
    before = _before(app.operators, forward)
    return all(inputs[name].bootstrap for name, (source, _) in app.sources.items() if source in before and name in inputs)


def _before(operators: list[Operator], last: Operator) -> list[Operator]:
    """An operator and all that lead to it, the last first."""
    operators_before = [last]
    while more := [
        operator for operator in operators if operator not in operators_before and any(after in operators_before for after in operator.next)
    ]:
        operators_before += more
    return operators_before


def _parts(app: StreamApplicationDescriptor) -> list[list[Operator]]:
    """The operators that are connected, each part in the order of the program."""
    home = {operator: operator for operator in app.operators}

    def find(operator: Operator) -> Operator:
        while home[operator] is not operator:
            operator = home[operator]
        return operator

    edges = [(operator, after) for operator in app.operators for after in operator.next] + app.together
    edges += [(table.users[0], user) for table in app.tables.values() for user in table.users[1:]]
    for one, other in edges:
        home[find(other)] = find(one)
    parts: dict[Operator, list[Operator]] = {}
    for operator in app.operators:
        parts.setdefault(find(operator), []).append(operator)
    return list(parts.values())


def _unlooped(app: StreamApplicationDescriptor, part: list[Operator]) -> list[list[Operator]]:
    """Such a part, without a way from it back to itself, where that can be had: what only forwards messages, and keeps nothing, is made a
    part of its own, which reads the same streams."""
    ours = {name for name, (source, _) in app.sources.items() if source in part}
    pieces = []
    for forward in [operator for operator in part if isinstance(operator, Forward) and operator.stream.stream in ours]:
        before = _before(part, forward)
        if all(type(operator) in (Operator, Each, Forward) for operator in before):
            copies = {operator: replace(operator, next=[]) for operator in reversed(before)}
            for operator, copy in copies.items():
                copy.next.extend(copies[after] for after in operator.next if after in copies)
                if forward in operator.next:
                    operator.next.remove(forward)
            pieces.append(list(copies.values()))
            part = [operator for operator in part if operator is not forward]
    return [*pieces, part]


def _stage(app: StreamApplicationDescriptor, inputs: Mapping[str, Input], part: list[Operator]) -> Stage:
    numbers = {operator.number: operator for operator in part}
    sources = {name: (numbers[source.number], keyed) for name, (source, keyed) in app.sources.items() if source.number in numbers}
    tables = [table for table in app.tables.values() if any(user in part for user in table.users)]
    feeds = tuple(operator.stream.stream for operator in part if isinstance(operator, Forward))
    stores = tuple(_store(table.descriptor) for table in tables)
    return Stage(Graph(sources, tuple(part)), {name: inputs[name] for name in sources}, stores, feeds)


def _in_order(stages: list[Stage]) -> list[Stage]:
    """A stage after those that feed it. One that feeds itself, or a circle, stays where it is: a batch refuses it."""
    ordered: list[Stage] = []
    while len(ordered) < len(stages):
        left = [stage for stage in stages if stage not in ordered]
        ready = [stage for stage in left if not any(name in stage.inputs for other in left if other is not stage for name in other.feeds)]
        ordered.append((ready or left)[0])
    return ordered
