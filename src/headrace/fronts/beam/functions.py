"""DoFns, called with one element at a time, in Spark's Python workers. Beam's own runner of a DoFn calls them. Those without state that
follow each other are one call: a chain."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from apache_beam.runners.common import DoFnRunner, Receiver
from apache_beam.transforms.core import DoFn
from apache_beam.transforms.sideinputs import SideInputMap
from apache_beam.utils.windowed_value import WindowedValue

from headrace.fronts.beam import elements
from headrace.fronts.beam.elements import Row

MAIN = ""
"""The tag of the output that has none."""
OUTPUT = "tag string, value binary"
KEYED = "tag string, value binary, key binary"


@dataclass(frozen=True)
class DoFnSpec:
    """What a worker needs of a ParDo. `windowing` is that of its output, `step` its name in the program."""

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    sides: tuple[SideInputMap, ...]
    windowing: Any
    tags: tuple[str, ...]
    step: str


class Outputs(Receiver):  # type: ignore[misc]
    """What a function puts out under one tag."""

    def __init__(self, tag: str, given: list[tuple[str, WindowedValue]]) -> None:
        self.tag, self.given = tag, given

    def receive(self, windowed_value: WindowedValue) -> None:
        self.given.append((self.tag, windowed_value))


@dataclass
class Host:
    """A DoFn in a process: set up with the first element."""

    spec: DoFnSpec
    state: Any = None
    given: list[tuple[str, WindowedValue]] = field(default_factory=list)
    _runner: DoFnRunner | None = None

    def __getstate__(self) -> DoFnSpec:
        return self.spec

    def __setstate__(self, spec: DoFnSpec) -> None:
        self.spec, self.state, self.given, self._runner = spec, None, [], None

    @property
    def runner(self) -> DoFnRunner:
        if self._runner is None:
            spec = self.spec
            tagged = {None: Outputs(MAIN, self.given)} | {tag: Outputs(tag, self.given) for tag in spec.tags}
            self._runner = DoFnRunner(
                spec.function, spec.args, spec.kwargs, list(spec.sides), spec.windowing, tagged,
                step_name=spec.step, user_state_context=self.state,
            )  # fmt: skip
            self._runner.setup()
        return self._runner

    def bundle(self, call: Any) -> list[tuple[str, WindowedValue]]:
        """What a bundle of one call puts out."""
        self.given.clear()
        self.runner.start()
        call(self.runner)
        self.runner.finish()
        return list(self.given)

    def close(self) -> None:
        if self._runner is not None:
            self._runner.teardown()


class Chain:
    """Functions one after the other, as one call with each element: what comes out of the last one, with its tags. If `keyed`, elements are
    pairs, and the key is a column of its own."""

    def __init__(self, specs: tuple[DoFnSpec, ...], *, keyed: bool) -> None:
        self.hosts, self.keyed = [Host(spec) for spec in specs], keyed

    def __call__(self, record: Row) -> list[Row]:
        results = [(MAIN, elements.unpacked(record["value"]))]
        for host in self.hosts:
            results = [one for _, element in results for one in host.bundle(lambda runner, element=element: runner.process(element))]
        rows = [{"tag": tag, "value": elements.packed(element)} for tag, element in results]
        if not self.keyed:
            return rows
        return [row | {"key": elements.key_bytes(_key(element.value))} for row, (_, element) in zip(rows, results, strict=True)]


class ClosedChain(Chain):
    """One of whose DoFns one has a teardown: it keeps its process, and is told of its end."""

    def open(self) -> None:
        """Nothing: functions are set up with the first element."""

    def close(self) -> None:
        """The end of the process."""
        for host in self.hosts:
            host.close()


def chain(specs: tuple[DoFnSpec, ...], *, keyed: bool = False) -> Chain:
    """A chain, which keeps its process only if something is to be torn down."""
    closes = any(type(spec.function).teardown is not DoFn.teardown for spec in specs)
    return (ClosedChain if closes else Chain)(specs, keyed=keyed)


def _key(pair: Any) -> Any:
    try:
        key, _ = pair
    except (TypeError, ValueError):
        raise TypeError(f"{pair!r} is no pair of a key and a value, which GroupByKey and a DoFn with state need") from None
    return key
