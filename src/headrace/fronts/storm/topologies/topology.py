"""Topologies: spouts and bolts with names, and who reads what from whom. Checked when they are made, in Storm's words.

class WordCount(Topology):
    sentences = Sentences.spec(par=5)
    split = Split.spec(inputs=[sentences], par=8)
    count = Count.spec(inputs={split: Grouping.fields("word")}, par=12)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, ClassVar

from headrace.errors import DefinitionError, user_line
from headrace.fronts.storm.components.streamparse import Bolt, Component, Spout
from headrace.fronts.storm.graph import settings
from headrace.fronts.storm.graph.groupings import Grouping
from headrace.fronts.storm.graph.layout import Layout, Part, Stream, StreamId
from headrace.fronts.storm.graph.tuples import DEFAULT

_BY_FIELDS = ("fields", "partial key")


class InvalidTopologyException(DefinitionError):  # noqa: N818 - Storm's own name
    """A topology that cannot run, whatever the mode."""


class StreamRef:
    """One stream of a component, `spec["errors"]`."""

    def __init__(self, spec: Spec, stream: str) -> None:
        self.spec, self.stream = spec, stream


class Spec:
    """A component as a part of a topology; `Bolt.spec(…)` makes it, and the attribute that holds it names it."""

    def __init__(
        self,
        code: Any,
        name: str | None = None,
        inputs: Mapping[Any, Grouping] | Iterable[Any] = (),
        par: int = 1,
        tasks: int | None = None,
        config: Mapping[str, Any] | None = None,
        optional_outputs: Sequence[str | Stream] = (),
    ) -> None:
        self.code, self.name, self.par, self.tasks, self.config, self.where = code, name, par, tasks, dict(config or {}), user_line()
        self.more = {each.name: each for each in optional_outputs if isinstance(each, Stream)}
        if fields := [each for each in optional_outputs if isinstance(each, str)]:
            self.more[DEFAULT] = Stream(fields)
        read = inputs if isinstance(inputs, Mapping) else dict.fromkeys([inputs] if isinstance(inputs, Spec) else inputs, Grouping.SHUFFLE)
        self.inputs: dict[Any, Grouping] = dict(read)

    def __set_name__(self, owner: type, attribute: str) -> None:
        self.name = self.name or attribute

    def __getitem__(self, stream: str) -> StreamRef:
        return StreamRef(self, stream)

    def part(self) -> Part:
        instance = self.code() if isinstance(self.code, type) else self.code
        inputs: dict[StreamId, Grouping] = {}
        for source, grouping in self.inputs.items():
            ref = source if isinstance(source, StreamRef) else StreamRef(source, DEFAULT)
            inputs[str(ref.spec.name), ref.stream] = grouping
        return Part(
            str(self.name), self.code, isinstance(instance, Spout), self.par, self.tasks or self.par, inputs,
            {**instance.declared(), **self.more}, {**instance.settings(), **self.config}, self.where,
        )  # fmt: skip


class Topology:
    """A topology as a class, as streamparse writes it. `config` is its configuration, `topology.max.spout.pending` and so on."""

    config: ClassVar[Mapping[str, Any]] = {}

    @classmethod
    def specs(cls) -> list[Spec]:
        """Its components, those of base classes first."""
        return [value for kind in reversed(cls.__mro__) for value in vars(kind).values() if isinstance(value, Spec)]


def layout(topology: Any, *, config: Mapping[str, Any] | None = None, name: str | None = None) -> Layout:
    """A topology, checked; InvalidTopologyException if it cannot run."""
    if isinstance(topology, type) and issubclass(topology, Topology):
        made = laid_out(name or topology.__name__, map(part_of, topology.specs()), {**topology.config, **(config or {})})
    elif isinstance(topology, Layout):
        made = laid_out(name or topology.name, topology.parts.values(), {**topology.config, **(config or {})})
    elif hasattr(topology, "createTopology"):
        return layout(topology.createTopology(), config=config, name=name)
    else:
        raise InvalidTopologyException(
            f"{topology!r} is no topology", fix="give a class of yours, class T(Topology), or what builder.createTopology() gives",
            where=user_line(),
        )  # fmt: skip
    return check_components(made)


def part_of(spec: Spec) -> Part:
    """The part that a spec describes; refused if it is of no component."""
    if not (isinstance(spec.code, type) and issubclass(spec.code, Component)) and not isinstance(spec.code, Component):
        raise _invalid(f"Component: [{spec.name}] is neither a spout nor a bolt: {spec.code!r}", "derive it from Spout or Bolt", spec.where)
    return spec.part()


def named(parts: Iterable[Part]) -> dict[str, Part]:
    """Components by name; refused if two have one."""
    by_name: dict[str, Part] = {}
    for part in parts:
        if part.name in by_name:
            raise _invalid(f"Duplicate component ids: [{part.name}]", "give one of them another name", part.where)
        by_name[part.name] = part
    return by_name


def laid_out(name: str, parts: Iterable[Part], config: Mapping[str, Any]) -> Layout:
    """A topology, if everything fits together; InvalidTopologyException if not."""
    if (wrong := settings.mistake(config)) is not None:
        raise _invalid(f"topology [{name}]: {wrong}", "give it another value", user_line())
    return _check(Layout(name, named(parts), config))


def _check(made: Layout) -> Layout:
    if not any(part.is_spout for part in made.parts.values()):
        raise _invalid(f"topology [{made.name}] has no spout", "give it one: nothing would ever begin", user_line())
    for part in made.parts.values():
        _check_numbers(part)
        if part.is_spout and part.inputs:
            raise _invalid(f"Component: [{part.name}] is a spout and subscribes to streams", "make it a bolt", part.where)
        if not part.is_spout and not part.inputs:
            raise _invalid(f"Component: [{part.name}] is a bolt that nobody feeds", "give it inputs, or leave it out", part.where)
        for (source, stream), grouping in part.inputs.items():
            _check_subscription(made, part, source, stream, grouping)
    _check_circles(made)
    return made


def check_components(made: Layout) -> Layout:
    """The same, if its components can run with its configuration, which is complete only now."""
    for part in made.parts.values():
        if (wrong := settings.mistake(made.conf(part))) is not None:
            raise _invalid(f"Component: [{part.name}]: {wrong}", "give it another value", part.where)
        if (problem := part.make().problem(made.conf(part))) is not None:
            raise _invalid(f"Component: [{part.name}] {problem[0]}", problem[1], part.where)
    return made


def _check_numbers(part: Part) -> None:
    if part.name.startswith("__"):
        raise _invalid(f"Component: [{part.name}] has a name that begins with __, as Storm's own do", "give it another", part.where)
    if part.executors < 1 or part.tasks < part.executors:
        raise _invalid(
            f"Component: [{part.name}] has {part.executors} executors for {part.tasks} tasks",
            "have at least one executor, and no more of them than tasks", part.where,
        )  # fmt: skip


def _check_subscription(made: Layout, part: Part, source: str, stream: str, grouping: Grouping) -> None:
    at = f"Component: [{part.name}] subscribes from"
    if source not in made.parts:
        raise _invalid(f"{at} non-existent component [{source}]", _nearest(source, made.parts), part.where)
    streams = made.parts[source].outputs
    if stream not in streams:
        raise _invalid(f"{at} non-existent stream: [{stream}] of component [{source}]", _nearest(stream, streams), part.where)
    if not isinstance(grouping, Grouping):
        raise _invalid(f"{at} [{source}] by {grouping!r}, which is no grouping", "use Grouping.SHUFFLE, Grouping.fields(…), …", part.where)
    fields = streams[stream].fields
    if wrong := [name for name in grouping.names if name not in fields]:
        raise _invalid(
            f"{at} stream: [{stream}] of component [{source}] with non-existent fields: {wrong}", _nearest(wrong[0], fields), part.where
        )
    if grouping.kind in _BY_FIELDS and not grouping.names:
        raise _invalid(f"{at} [{source}] by {grouping.kind} grouping, without a field", "name one or more", part.where)
    if (grouping.kind == "direct") != streams[stream].direct:
        raise _invalid(
            f"{at} stream: [{stream}] of component [{source}] by {grouping.kind} grouping, and the stream is "
            f"{'direct' if streams[stream].direct else 'not direct'}",
            "use direct grouping for direct streams, Stream(fields, name, direct=True), and for no others", part.where,
        )  # fmt: skip


def _check_circles(made: Layout) -> None:
    done: set[str] = set()

    def visit(part: Part, path: list[str]) -> None:
        if part.name in path:
            circle = " -> ".join([*path[path.index(part.name) :], part.name][::-1])
            raise _invalid(
                f"topology [{made.name}] has a circle: {circle}",
                "let the last one write to a Kafka topic and a spout read that: a Spark query is a graph without circles", part.where,
            )  # fmt: skip
        if part.name not in done:
            for source in made.sources(part):
                visit(source, [*path, part.name])
            done.add(part.name)

    for part in made.parts.values():
        visit(part, [])


def _nearest(name: str, names: Iterable[str]) -> str:
    there = list(names)
    near = get_close_matches(name, there, n=1)
    return f"did you mean [{near[0]}]?" if near else f"there is {', '.join(there) or 'none'}"


def _invalid(what: str, fix: str, where: str | None) -> InvalidTopologyException:
    return InvalidTopologyException(what, fix=fix, where=where)


def is_bolt(code: Any) -> bool:
    return isinstance(code, Bolt) or (isinstance(code, type) and issubclass(code, Bolt))
