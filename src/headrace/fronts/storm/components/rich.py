"""Spouts and bolts as Storm's Java has them: `open`, `prepare`, `execute`, `declareOutputFields`, and a collector to emit, ack and fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.fronts.storm.components.streamparse import Bolt, Spout
from headrace.fronts.storm.graph.layout import Stream
from headrace.fronts.storm.graph.tuples import DEFAULT, Tuple
from headrace.fronts.storm.tasks.bolts import BoltTask
from headrace.fronts.storm.tasks.spouts import SpoutTask
from headrace.fronts.storm.tasks.task import Context


class Fields(list[str]):
    """Names of fields: `Fields("word", "count")`."""

    def __init__(self, *names: str) -> None:
        super().__init__(names)


class Values(list[Any]):
    """Values of a tuple: `Values(word, 1)`."""

    def __init__(self, *values: Any) -> None:
        super().__init__(values)


class OutputFieldsDeclarer:
    """What `declareOutputFields` gets."""

    def __init__(self) -> None:
        self.streams: dict[str, Stream] = {}

    def declare(self, *arguments: Any) -> None:
        """`declare(fields)`, or `declare(direct, fields)`."""
        direct, fields = (False, arguments[0]) if len(arguments) == 1 else arguments
        self.declareStream(DEFAULT, direct, fields)

    def declareStream(self, name: str, *arguments: Any) -> None:  # noqa: N802
        """`declareStream(name, fields)`, or `declareStream(name, direct, fields)`."""
        direct, fields = (False, arguments[0]) if len(arguments) == 1 else arguments
        self.streams[name] = Stream(list(fields), name, bool(direct))


def _declared(component: Any) -> dict[str, Stream]:
    declarer = OutputFieldsDeclarer()
    component.declareOutputFields(declarer)
    return declarer.streams


class OutputCollector:
    """Of a rich bolt: nothing is anchored, acked or failed unless it says so."""

    def __init__(self, task: BoltTask) -> None:
        self._task = task

    def emit(self, *arguments: Any) -> list[int]:
        """`emit([stream,] [anchor or anchors,] values)`, as Java's overloads; returns the tasks that it went to."""
        stream, anchors, values = _arguments(arguments)
        return self._task.emit(values, stream, anchors)

    def emitDirect(self, task: int, *arguments: Any) -> None:  # noqa: N802
        stream, anchors, values = _arguments(arguments)
        self._task.emit(values, stream, anchors, task)

    def ack(self, tup: Tuple) -> None:
        self._task.ack(tup)

    def fail(self, tup: Tuple) -> None:
        self._task.fail(tup)

    def resetTimeout(self, tup: Tuple) -> None:  # noqa: N802
        self._task.reset_timeout(tup)

    def reportError(self, error: BaseException) -> None:  # noqa: N802
        self._task.counts.error = f"{type(error).__name__}: {error}"


class BasicOutputCollector:
    """Of a basic bolt: everything is anchored to the tuple at hand."""

    def __init__(self, task: BoltTask, tup: Tuple) -> None:
        self._task, self._tup = task, tup

    def emit(self, *arguments: Any) -> list[int]:
        """`emit([stream,] values)`."""
        stream, _, values = _arguments(arguments)
        return self._task.emit(values, stream, [self._tup])

    def emitDirect(self, task: int, *arguments: Any) -> None:  # noqa: N802
        stream, _, values = _arguments(arguments)
        self._task.emit(values, stream, [self._tup], task)


class SpoutOutputCollector:
    """Of a rich spout."""

    def __init__(self, task: SpoutTask) -> None:
        self._task = task

    def emit(self, *arguments: Any) -> list[int]:
        """`emit([stream,] values [, message id])`."""
        stream, rest = (arguments[0], arguments[1:]) if isinstance(arguments[0], str) else (DEFAULT, arguments)
        return self._task.emit(rest[0], stream, rest[1] if len(rest) > 1 else None)

    def emitDirect(self, task: int, *arguments: Any) -> None:  # noqa: N802
        stream, rest = (arguments[0], arguments[1:]) if isinstance(arguments[0], str) else (DEFAULT, arguments)
        self._task.emit(rest[0], stream, rest[1] if len(rest) > 1 else None, task)


def _arguments(arguments: Sequence[Any]) -> tuple[str, list[Tuple], Sequence[Any]]:
    stream, rest = (arguments[0], arguments[1:]) if isinstance(arguments[0], str) else (DEFAULT, arguments)
    if len(rest) == 1:
        return stream, [], rest[0]
    return stream, [rest[0]] if isinstance(rest[0], Tuple) else list(rest[0]), rest[1]


class BaseRichSpout(Spout):
    """`open(conf, context, collector)`, `nextTuple()`, `ack(id)`, `fail(id)`, `declareOutputFields(declarer)`."""

    def declareOutputFields(self, declarer: OutputFieldsDeclarer) -> None:  # noqa: N802
        """Declares nothing unless it is defined."""

    def open(self, conf: Mapping[str, Any], context: Context, collector: SpoutOutputCollector) -> None:
        """Called once in each task."""

    def nextTuple(self) -> None:  # noqa: N802
        raise NotImplementedError(f"{type(self).__name__} has no nextTuple")

    def getComponentConfiguration(self) -> Mapping[str, Any] | None:  # noqa: N802
        return None

    def declared(self) -> dict[str, Stream]:
        return _declared(self)

    def settings(self) -> dict[str, Any]:
        return dict(self.getComponentConfiguration() or {})

    def begin(self, conf: Mapping[str, Any], ctx: Context, task: SpoutTask) -> None:
        self._task = task
        self.open(conf, ctx, SpoutOutputCollector(task))

    def next_tuple(self) -> None:
        self.nextTuple()


class BaseRichBolt(Bolt):
    """`prepare(conf, context, collector)`, `execute(tuple)`, `cleanup()`, `declareOutputFields(declarer)`. It acks and fails by hand, and
    an error of its own ends the topology's workers, as Storm's does."""

    auto_anchor = auto_ack = auto_fail = False

    def declareOutputFields(self, declarer: OutputFieldsDeclarer) -> None:  # noqa: N802
        """Declares nothing unless it is defined."""

    def prepare(self, conf: Mapping[str, Any], context: Context, collector: OutputCollector) -> None:
        """Called once in each task."""

    def execute(self, tup: Tuple) -> None:
        raise NotImplementedError(f"{type(self).__name__} has no execute(self, tup)")

    def cleanup(self) -> None:
        """Called when the task ends in order."""

    def getComponentConfiguration(self) -> Mapping[str, Any] | None:  # noqa: N802
        return None

    def declared(self) -> dict[str, Stream]:
        return _declared(self)

    def settings(self) -> dict[str, Any]:
        return dict(self.getComponentConfiguration() or {})

    def begin(self, conf: Mapping[str, Any], ctx: Context, task: BoltTask) -> None:
        self._task, self._current = task, []
        self.prepare(conf, ctx, self.collector(task))

    def collector(self, task: BoltTask) -> OutputCollector:
        """For the task: what `prepare` gets."""
        return OutputCollector(task)

    def take(self, tup: Tuple) -> None:
        self.execute(tup)

    def close(self) -> None:
        self.cleanup()


class BaseBasicBolt(BaseRichBolt):
    """`execute(tuple, collector)`: what it emits is anchored, the tuple is acked when it returns, and failed if it raises."""

    auto_anchor = auto_ack = auto_fail = True

    def prepare(self, conf: Mapping[str, Any], context: Context) -> None:  # type: ignore[override]
        """Called once in each task."""

    def execute(self, tup: Tuple, collector: BasicOutputCollector) -> None:  # type: ignore[override]
        raise NotImplementedError(f"{type(self).__name__} has no execute(self, tup, collector)")

    def begin(self, conf: Mapping[str, Any], ctx: Context, task: BoltTask) -> None:
        self._task, self._current = task, []
        self.prepare(conf, ctx)

    def take(self, tup: Tuple) -> None:
        self._current = [tup]
        self.execute(tup, BasicOutputCollector(self._task, tup))
        self._task.ack(tup)


class LambdaBolt(BaseBasicBolt):
    """A bolt that is one function."""

    def __init__(self, function: Callable[..., Any], fields: Sequence[str]) -> None:
        self.function, self.fields = function, list(fields)

    def declared(self) -> dict[str, Stream]:
        return {DEFAULT: Stream(self.fields)} if self.fields else {}

    def execute(self, tup: Any, collector: Any) -> None:  # type: ignore[override]
        self.function(tup, collector)
