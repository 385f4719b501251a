"""A pipeline of Beam's as streams of headrace's: a stream for each PCollection, a step for each primitive transform."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import apache_beam as beam
from apache_beam import pvalue
from apache_beam.io import iobase
from apache_beam.io.iobase import BoundedSource, Read
from apache_beam.pipeline import AppliedPTransform, Pipeline
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms import core, trigger, userstate
from apache_beam.transforms.sideinputs import SideInputMap
from apache_beam.transforms.window import GlobalWindows
from apache_beam.utils.windowed_value import WindowedValue
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headrace.definitions import schemas
from headrace.errors import DefinitionError, user_line
from headrace.fronts.beam import elements, functions, grouping, sources, stateful
from headrace.fronts.beam.functions import MAIN, DoFnSpec
from headrace.fronts.beam.transforms import ReadFromStream, WriteToStream
from headrace.fronts.stream import Stream
from headrace.kernel.ports import port
from headrace.kernel.python.scanning import PythonScanOptions, PythonTimer, scan_python
from headrace.planning import recipe
from headrace.planning.recipe import Output

Evaluate = Callable[[Stream], list[WindowedValue]]

_NEVER_LATE = "timestamp '9999-12-31 00:00:00'"
"""Beam's trigger driver says what is too late, not the scan."""


@dataclass(frozen=True)
class Collection:
    """A PCollection: a stream of elements, and functions that are still to be called with them."""

    stream: Stream
    links: tuple[DoFnSpec, ...] = ()

    def made(self) -> Stream:
        """With nothing left to be called."""
        return self.tagged().select("value", "time") if self.links else self.stream

    def tagged(self) -> Stream:
        return self.stream.flat_map(functions.chain(self.links), functions.OUTPUT, keep=["time"])

    def keyed(self) -> Stream:
        """The same with the key as a column."""
        called = self.stream.flat_map(functions.chain(self.links, keyed=True), functions.KEYED, keep=["time"])
        return called.select("key", "value", "time")


class Translation:
    """The streams and outputs of a pipeline. `ends` tells of a stream whether it does, `evaluate` its elements, for side inputs."""

    def __init__(self, pipeline: Pipeline, evaluate: Evaluate, ends: Callable[[Stream], bool]) -> None:
        self.collections: dict[pvalue.PValue, Collection] = {}
        self.outputs: list[Output] = []
        self.evaluate, self.ends = evaluate, ends
        self._evaluated: dict[pvalue.PValue, list[WindowedValue]] = {}
        self._used: set[pvalue.PValue] = set()
        self._walk(pipeline._root_transform())
        for value, collection in self.collections.items():
            if value not in self._used:
                self.outputs.append(collection.made().to.callback(_consume, name=f"end-{len(self.outputs)}"))

    def _walk(self, applied: AppliedPTransform) -> None:
        translate = self._known(applied)
        if translate is not None:
            self._used.update(applied.inputs)
            self._used.update(side.pvalue for side in applied.side_inputs)
            translate(applied)
            return
        for part in applied.parts:
            self._walk(part)
        for output in applied.outputs.values():
            if isinstance(output, pvalue.PCollection) and output not in self.collections and not applied.parts:
                raise _refused(applied, "is not known here", "use a transform that the page on Beam lists, or write it with ParDo")

    def _known(self, applied: AppliedPTransform) -> Callable[[AppliedPTransform], None] | None:
        roots: list[tuple[Any, Callable[[Any], Stream]]] = [
            (beam.Create, lambda transform: sources.values(transform.values)),
            (beam.Impulse, lambda _: sources.values([b""])),
            (TestStream, sources.test_stream),
            (ReadFromStream, sources.stream),
        ]
        for kind, made in roots:
            if isinstance(applied.transform, kind):
                return lambda applied: self._put(applied, made(applied.transform))
        if isinstance(applied.transform, Read) and isinstance(applied.transform.source, BoundedSource):
            return lambda applied: self._put(applied, sources.bounded(applied.transform.source))
        inner: list[tuple[Any, Callable[[AppliedPTransform], None]]] = [
            (core.ParDo, self._par_do),
            (core.GroupByKey, self._group_by_key),
            (core.Flatten, self._flatten),
            (beam.Reshuffle, lambda applied: self._put(applied, self._input(applied).made())),
            (WriteToStream, self._write),
        ]
        return next((translate for kind, translate in inner if isinstance(applied.transform, kind)), None)

    def _input(self, applied: AppliedPTransform) -> Collection:
        return self.collections[applied.inputs[0]]

    def _put(self, applied: AppliedPTransform, stream: Stream) -> None:
        outputs = list(applied.outputs.values())
        if len(outputs) != 1:
            raise _refused(applied, "has several outputs", "give each its own transform")
        self.collections[outputs[0]] = Collection(stream)

    def _flatten(self, applied: AppliedPTransform) -> None:
        streams = [self.collections[each].made() for each in applied.inputs]
        self._put(applied, reduce(Stream.union, streams) if streams else sources.values([]))

    def _write(self, applied: AppliedPTransform) -> None:
        transform = applied.transform
        names = schemas.structure("WriteToStream: schema", transform.schema).names
        self.outputs.append(transform.to(self._input(applied).made().flat_map(_Columns(tuple(names)), transform.schema)))

    # -- functions -------------------------------------------------------------------------------------------------------------------

    def _par_do(self, applied: AppliedPTransform) -> None:
        transform = applied.transform
        signature = beam.runners.common.DoFnSignature(transform.fn)
        if signature.is_splittable_dofn():
            raise _refused(applied, "is a splittable DoFn", "read with a BoundedSource, or with ReadFromStream")
        tags = {MAIN if tag in (None, "None") else str(tag): output for tag, output in applied.outputs.items()}
        sides = tuple(self._side(applied, side) for side in applied.side_inputs)
        spec = DoFnSpec(
            transform.fn, tuple(transform.args), dict(transform.kwargs), sides, next(iter(applied.outputs.values())).windowing,
            tuple(tag for tag in tags if tag != MAIN), applied.full_label,
        )  # fmt: skip
        before = self._input(applied)
        if isinstance(transform.fn, iobase._WriteBundleDoFn):  # it writes a file for each bundle, and a bundle is one element here
            before = self._as_one(before, spec)
            spec = replace(spec, function=iobase._WriteKeyedBundleDoFn(transform.fn.sink))
        last = replace(before, links=(*before.links, spec))
        if not signature.is_stateful_dofn() and list(tags) == [MAIN]:
            self.collections[tags[MAIN]] = last
            return
        stream = self._stateful(applied, before, spec) if signature.is_stateful_dofn() else last.tagged()
        for tag, output in tags.items():
            self.collections[output] = Collection(stream.where(F.col("tag") == tag).select("value", "time"))

    def _side(self, applied: AppliedPTransform, side: pvalue.AsSideInput) -> SideInputMap:
        stream = self.collections[side.pvalue].made()
        if not self.ends(stream):
            raise _refused(applied, "has a side input without an end", "join with CoGroupByKey; a side input must be of bounded sources")
        if side.pvalue.windowing.windowfn != GlobalWindows():
            raise _refused(applied, "has a side input with windows", "give it one value for all: beam.WindowInto(GlobalWindows())")
        if side.pvalue not in self._evaluated:
            # Once: what makes a directory or a random number must not do so again for the next one who asks.
            self._evaluated[side.pvalue] = values = self.evaluate(stream)
            self.collections[side.pvalue] = Collection(sources.elements_of(values))
        return SideInputMap(type(side), _options(side), self._evaluated[side.pvalue])

    def _as_one(self, before: Collection, spec: DoFnSpec) -> Collection:
        """All elements, at the end of the input, as one: the list of them under the key None."""
        paired = replace(spec, function=beam.Map(lambda element: (None, element)).fn, args=(), kwargs={}, sides=(), tags=())
        return Collection(_grouped(replace(before, links=(*before.links, paired)), beam.Windowing(GlobalWindows())))

    def _stateful(self, applied: AppliedPTransform, before: Collection, spec: DoFnSpec) -> Stream:
        if unknown := [each for each in userstate.get_dofn_specs(spec.function)[0] if not isinstance(each, stateful.STATES)]:
            raise _refused(applied, f"has the state {unknown[0].name!r} of an unknown kind", "use a bag, and sort what it has")
        if (timers := stateful.timers_by_the_clock(spec.function)) and not _batches_without_time(applied):
            raise _refused(applied, f"has the timer {timers[0]!r} by the clock", "use TimeDomain.WATERMARK")
        options = _options_of_scan(stateful.STATE, stateful.OUTPUT, stateful.OnElement(spec), stateful.OnAlarm(spec))
        return _scanned(before.keyed(), options)

    # -- grouping --------------------------------------------------------------------------------------------------------------------

    def _group_by_key(self, applied: AppliedPTransform) -> None:
        windowing = applied.inputs[0].windowing
        if _by_the_clock(windowing.triggerfn):
            raise _refused(applied, "has a trigger by the clock", "use AfterCount or AfterWatermark")
        self._put(applied, _grouped(self._input(applied), windowing))


def _options_of_scan(state: str, output: str, on_element: Any, on_alarm: Any) -> PythonScanOptions:
    return {
        "state": state, "function": on_element, "output": output, "timer": PythonTimer(at="state.wake", function=on_alarm),
        "event_time": "time", "wait": False, "late_after": _NEVER_LATE, "time_out": "time", "watermark": "watermark",
    }  # fmt: skip


def _grouped(before: Collection, windowing: Any) -> Stream:
    spec = grouping.Spec(windowing)
    options = _options_of_scan(grouping.STATE, "value binary, time timestamp", grouping.OnElement(spec), grouping.OnAlarm(spec))
    return _scanned(before.keyed(), {**options, "maps": [grouping.ENTRIES]})


def _scanned(stream: Stream, options: PythonScanOptions) -> Stream:
    def apply(df: DataFrame) -> DataFrame:
        return port(scan_python(df, keys=["key"], **options), "main")

    return Stream(recipe.grow("scan_python", apply, stream.step, row="scan_python"))


class _Columns:
    """An element as a row of these columns."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    def __call__(self, record: elements.Row) -> list[elements.Row]:
        value = elements.unpacked(record["value"]).value
        if isinstance(value, dict):
            return [{name: value.get(name) for name in self.names}]
        return [dict(zip(self.names, value if isinstance(value, tuple | list) else [value], strict=True))]


def _consume(rows: DataFrame, batch: int) -> None:  # noqa: ARG001 - called with the number of the batch
    rows.write.format("noop").mode("append").save()


def _options(side: pvalue.AsSideInput) -> dict[str, Any]:
    return {name: value for name, value in side._view_options().items() if name != "coder"}


def _batches_without_time(applied: AppliedPTransform) -> bool:
    """Whether this is of a GroupIntoBatches, which has a timer by the clock always, and sets it only if it is to wait so long at most."""
    around = applied.parent.transform
    return isinstance(around, beam.GroupIntoBatches) and not around.params.max_buffering_duration_secs


def _by_the_clock(one: Any) -> bool:
    parts: Iterable[Any] = list(vars(one).values()) if hasattr(one, "__dict__") else []
    inner = [each for part in parts for each in (part if isinstance(part, list | tuple) else [part]) if isinstance(each, trigger.TriggerFn)]
    return isinstance(one, trigger.AfterProcessingTime) or any(map(_by_the_clock, inner))


def _refused(applied: AppliedPTransform, what: str, fix: str) -> DefinitionError:
    return DefinitionError(f"{applied.full_label}: {type(applied.transform).__name__} {what}", fix=fix, where=user_line())
