"""Heron's Streamlet API: a topology as functions of elements, one after the other. A thin layer: each operation is one bolt.

>>> from headrace.heron import Builder, Config, WindowConfig
>>> from headrace.storm import complete_topology
>>> builder = Builder()
>>> words = builder.new_source(lambda: None).flat_map(lambda line: line.split()).map(lambda word: (word, 1))
>>> counts = words.reduce_by_key_and_window(WindowConfig.create_sliding_window(10, 2), lambda x, y: x + y)
>>> counts.consume(lambda element: None)
>>> lines = {"supplier-1": [["Mary had a little lamb"], ["a lamb"]]}
>>> results = complete_topology(builder, lines, config=Config().settings, seconds=2)
>>> [(element[0].key, element[1]) for (element,) in results["reducebykeyandwindow-1"]]
[('Mary', 1), ('had', 1), ('a', 2), ('little', 1), ('lamb', 2)]

An element is anything that can be pickled; None is no element. Streamlets have Heron's names, `map-1`, `map-2` and so on, unless
`set_name` gives one. A window goes by the clock, and one without elements gives nothing.
"""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from headrace.errors import user_line
from headrace.fronts.storm.components.heron import (
    ByFunction,
    ByKey,
    ConsumeBolt,
    EachBolt,
    GeneratorSpout,
    JoinBolt,
    LogBolt,
    ReduceBolt,
    SlidingWindowBolt,
    TransformBolt,
)
from headrace.fronts.storm.graph.groupings import Grouping
from headrace.fronts.storm.graph.layout import Layout
from headrace.fronts.storm.graph.reliability import MODE, Reliability
from headrace.fronts.storm.topologies.topology import InvalidTopologyException, Spec, laid_out

Function = Callable[..., Any]


class Generator:
    """A source of the program's own."""

    def setup(self, context: Any) -> None:
        """Called once in each task, before the first `get`."""
        raise NotImplementedError(f"{type(self).__name__} has no setup(self, context)")

    def get(self) -> Any:
        """The next element, or None if there is none now."""
        raise NotImplementedError(f"{type(self).__name__} has no get(self)")


class ArrayLooper(Generator):
    """The elements of a list, over and over. Effectively once, it goes on where it was."""

    def __init__(self, user_iterable: Iterable[Any], sleep: float | None = None) -> None:
        self._elements, self._sleep = list(user_iterable), sleep

    def setup(self, context: Any) -> None:
        self._state = context.get_state()

    def get(self) -> Any:
        if self._sleep is not None:
            import time

            time.sleep(self._sleep)
        at = self._state.get("at", 0)
        self._state["at"] = (at + 1) % len(self._elements)
        return self._elements[at]


class TransformOperator:
    """An operator of the program's own."""

    def setup(self, context: Any) -> None:
        """Called once in each task, before the first tuple."""
        raise NotImplementedError(f"{type(self).__name__} has no setup(self, context)")

    def transform(self, tup: Any) -> None:
        """One tuple, whose element is `tup.values[0]`; `context.emit(element)` puts elements out."""
        raise NotImplementedError(f"{type(self).__name__} has no transform(self, tup)")


@dataclass(frozen=True)
class WindowConfig:
    """How a window is cut: so many seconds long, and one every so many seconds; whole seconds, or a timedelta of them."""

    seconds: int
    slide: int

    @staticmethod
    def create_tumbling_window(window_duration: int | datetime.timedelta) -> WindowConfig:
        """One window after the other."""
        return WindowConfig(_seconds(window_duration), _seconds(window_duration))

    @staticmethod
    def create_sliding_window(window_duration: int | datetime.timedelta, slide_interval: int | datetime.timedelta) -> WindowConfig:
        """Windows that overlap, if the interval is shorter."""
        return WindowConfig(_seconds(window_duration), _seconds(slide_interval))

    def settings(self) -> dict[str, Any]:
        return {SlidingWindowBolt.WINDOW_DURATION_SECS: self.seconds, SlidingWindowBolt.WINDOW_SLIDEINTERVAL_SECS: self.slide}


def _seconds(length: int | datetime.timedelta) -> int:
    seconds = length.total_seconds() if isinstance(length, datetime.timedelta) else length
    if seconds < 1 or seconds != int(seconds):
        raise InvalidTopologyException(f"a window of {seconds:g} seconds", fix="Heron's windows are whole seconds long", where=user_line())
    return int(seconds)


class Config:
    """What a topology runs with."""

    ATMOST_ONCE, ATLEAST_ONCE, EFFECTIVELY_ONCE = Reliability.ATMOST_ONCE, Reliability.ATLEAST_ONCE, Reliability.EFFECTIVELY_ONCE

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        self.settings: dict[str, Any] = {MODE: Reliability.ATMOST_ONCE, **(config or {})}

    def set_delivery_semantics(self, semantics: Reliability) -> None:
        """One of the three; at most once is Heron's default."""
        self.settings[MODE] = semantics

    def set_num_containers(self, ncontainers: int) -> None:
        """Here, workers: so many processes for each level of bolts."""
        self.settings["topology.workers"] = int(ncontainers)

    def set_user_config(self, key: str, value: Any) -> None:
        """Any other setting."""
        self.settings[key] = value


class Streamlet:
    """A stream of elements. Each method makes another one of it, but `log` and `consume`, which are ends."""

    def __init__(self, kind: str, code: Any, parents: Sequence[Streamlet], grouping: Grouping, config: Mapping[str, Any]) -> None:
        self._kind, self._code, self._parents, self._grouping, self._config = kind, code, parents, grouping, dict(config)
        self._name: str | None = None
        self._partitions: int = parents[0]._partitions if parents else 1
        self._builder: Builder = parents[0]._builder if parents else None  # type: ignore[assignment]
        self._where = user_line()

    def set_name(self, name: str) -> Self:
        """Call it so; the component has that name."""
        self._name = name
        return self

    def get_name(self) -> str | None:
        return self._name

    def set_num_partitions(self, num_partitions: int) -> Self:
        """How many tasks it has; as many as the one before if this is not said."""
        self._partitions = num_partitions
        return self

    def get_num_partitions(self) -> int:
        return self._partitions

    def map(self, map_function: Function) -> Streamlet:
        """An element for each element."""
        return self._then("map", EachBolt(lambda element: [map_function(element)]))

    def flat_map(self, flatmap_function: Function) -> Streamlet:
        """The elements of what the function gives for each element."""
        return self._then("flatmap", EachBolt(flatmap_function))

    def filter(self, filter_function: Function) -> Streamlet:
        """Those elements for which the function is true."""
        return self._then("filter", EachBolt(lambda element: [element] if filter_function(element) else []))

    def repartition(self, num_partitions: int, repartition_function: Function | None = None) -> Streamlet:
        """The same elements in so many partitions: `repartition_function(element, num_partitions)` gives the number of the partition, or a
        list of them; without it they go in turn."""
        by = Grouping.SHUFFLE if repartition_function is None else Grouping.custom_object(ByFunction(repartition_function))
        return self._then("repartition", EachBolt(_itself), grouping=by).set_num_partitions(num_partitions)

    def clone(self, num_clones: int) -> list[Streamlet]:
        """So many streamlets, each with all elements."""
        return [self.repartition(self._partitions) for _ in range(num_clones)]

    def union(self, other_streamlet: Streamlet) -> Streamlet:
        """The elements of both."""
        return self._then("union", EachBolt(_itself), other_streamlet)

    def transform(self, transform_operator: TransformOperator) -> Streamlet:
        """What an operator of the program's own makes of it."""
        return self._then("transform", TransformBolt(transform_operator))

    def reduce_by_window(self, window_config: WindowConfig, reduce_function: Function) -> Streamlet:
        """Of each window of a partition one element, `(Window, value)`: the function makes one value of two."""
        return self._then("reducebywindow", ReduceBolt(reduce_function, by_key=False), config=window_config.settings())

    def reduce_by_key_and_window(self, window_config: WindowConfig, reduce_function: Function) -> Streamlet:
        """Of elements `(key, value)`, of each key and window one element, `(KeyedWindow, value)`."""
        code = ReduceBolt(reduce_function, by_key=True)
        return self._then("reducebykeyandwindow", code, config=window_config.settings(), grouping=Grouping.custom_object(ByKey()))

    def join(self, join_streamlet: Streamlet, window_config: WindowConfig, join_function: Function) -> Streamlet:
        """Of elements `(key, value)` of both, those of the same key and window in pairs: `(KeyedWindow, join_function(own, other))`."""
        return self._joined(join_streamlet, window_config, join_function, [])

    def outer_left_join(self, join_streamlet: Streamlet, window_config: WindowConfig, join_function: Function) -> Streamlet:
        """The same, and own elements without a partner with None."""
        return self._joined(join_streamlet, window_config, join_function, ["left"])

    def outer_right_join(self, join_streamlet: Streamlet, window_config: WindowConfig, join_function: Function) -> Streamlet:
        """The same, and elements of the other without a partner."""
        return self._joined(join_streamlet, window_config, join_function, ["right"])

    def outer_join(self, join_streamlet: Streamlet, window_config: WindowConfig, join_function: Function) -> Streamlet:
        """The same, and elements of either without a partner."""
        return self._joined(join_streamlet, window_config, join_function, ["left", "right"])

    def log(self) -> None:
        """Log every element: to Python's logger `headrace.storm`, at INFO."""
        self._then("log", LogBolt())

    def consume(self, consume_function: Function) -> None:
        """Call a function with every element."""
        self._then("consume", ConsumeBolt(consume_function))

    def _joined(self, other: Streamlet, window: WindowConfig, function: Function, outer: list[str]) -> Streamlet:
        return self._then("join", JoinBolt(function, outer), other, config=window.settings(), grouping=Grouping.custom_object(ByKey()))

    def _then(
        self,
        kind: str,
        code: Any,
        *others: Streamlet,
        grouping: Grouping = Grouping.SHUFFLE,
        config: Mapping[str, Any] | None = None,
    ) -> Streamlet:
        made = Streamlet(kind, code, [self, *others], grouping, config or {})
        self._builder._streamlets.append(made)
        return made


def _itself(element: Any) -> list[Any]:
    return [element]


class Builder:
    """Where streamlets begin: `new_source`. What is built of it is a topology like any other."""

    def __init__(self) -> None:
        self._streamlets: list[Streamlet] = []

    def new_source(self, source: Generator | Callable[[], Any]) -> Streamlet:
        """The elements of a Generator, or those that a function gives, one at each call."""
        if not callable(source) and not isinstance(source, Generator):
            raise InvalidTopologyException(
                f"{source!r} is no source", fix="give a Generator, or a function without arguments", where=user_line()
            )
        made = Streamlet("supplier" if callable(source) else "generator", GeneratorSpout(source), [], Grouping.SHUFFLE, {})
        made._builder = self
        self._streamlets.append(made)
        return made

    def createTopology(self, config: Mapping[str, Any] | None = None, name: str = "streamlets") -> Layout:  # noqa: N802
        """The topology that it describes, checked."""
        numbers: dict[str, itertools.count[int]] = {}
        specs: dict[Streamlet, Spec] = {}
        for one in self._streamlets:
            called = one._name or f"{one._kind}-{next(numbers.setdefault(one._kind, itertools.count(1)))}"
            if isinstance(one._code, JoinBolt):
                one._code.right = str(specs[one._parents[1]].name)
            inputs = {specs[parent]: one._grouping for parent in one._parents}
            specs[one] = Spec(one._code, called, inputs, one._partitions, config=one._config)
            specs[one].where = one._where
        return laid_out(name, (spec.part() for spec in specs.values()), dict(config or {}))


class Runner:
    """Runs what a builder describes."""

    def run(self, name: str, config: Config, builder: Builder, **how: Any) -> Any:
        """Submit it under a name: a `RunningTopology`. More is said as to `headrace.storm.submit`: `mode="micro-batch"`."""
        from headrace.fronts.storm.spark.submit import submit

        return submit(builder.createTopology(config.settings, name), name, **how)
