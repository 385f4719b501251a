"""What a YAML topology describes, made: objects of Python classes, spouts, bolts and streams.

className        a Python class, `module.Class`; Flux's own FluxShellSpout and FluxShellBolt are ShellSpout and ShellBolt
constructorArgs  the arguments of its constructor: values, `{ref: id}` of a component before it, or `{reflist: [id, id]}`
factory          a static method that makes the object, instead of the constructor; its arguments are `factoryArgs`
properties       attributes to set: `{name: port, value: 9092}` or `{name: scheme, ref: id}`
configMethods    methods to call: `{name: withLag, args: [5]}`; if one gives an object, it takes the place of this one
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headrace.errors import DefinitionError
from headrace.fronts.storm.components.multilang import ShellBolt, ShellSpout
from headrace.fronts.storm.graph.groupings import Grouping
from headrace.fronts.storm.graph.layout import Layout
from headrace.fronts.storm.graph.tuples import DEFAULT
from headrace.fronts.storm.topologies.builder import BoltDeclarer, TopologyBuilder
from headrace.fronts.storm.topologies.topology import InvalidTopologyException

_PLAIN = {
    "SHUFFLE": Grouping.SHUFFLE,
    "ALL": Grouping.ALL,
    "GLOBAL": Grouping.GLOBAL,
    "NONE": Grouping.NONE,
    "DIRECT": Grouping.DIRECT,
    "LOCAL_OR_SHUFFLE": Grouping.LOCAL_OR_SHUFFLE,
}
_FLUX_OWN = {
    "org.apache.storm.flux.wrappers.spouts.FluxShellSpout": ShellSpout,
    "org.apache.storm.flux.wrappers.bolts.FluxShellBolt": ShellBolt,
}


def wrong(file: str, what: str, fix: str) -> DefinitionError:
    """A mistake in a file."""
    return DefinitionError(f"{file} {what}", fix=fix, where=file)


class Described:
    """A topology as the file has it."""

    def __init__(self, described: Mapping[str, Any], file: str) -> None:
        self.described, self.file = described, file
        self.objects: dict[str, Any] = {}

    def layout(self) -> Layout:
        builder = TopologyBuilder(str(self.described.get("name") or Path(self.file).stem))
        for component in self._list("components"):
            self.objects[self._get(component, "id")] = self._made(component)
        for spout in self._list("spouts"):
            declarer = builder.setSpout(self._get(spout, "id"), self._made(spout), self._number(spout, "parallelism"))
            self._sized(declarer, spout)
        bolts: dict[str, BoltDeclarer] = {}
        for bolt in self._list("bolts"):
            bolts[bolt["id"]] = builder.setBolt(self._get(bolt, "id"), self._made(bolt), self._number(bolt, "parallelism"))
            self._sized(bolts[bolt["id"]], bolt)
        for stream in self._list("streams"):
            to, grouping = self._get(stream, "to"), stream.get("grouping") or {"type": "SHUFFLE"}
            if to not in bolts:
                raise self._wrong(f"has a stream to {to!r}, which is no bolt", f"there is {', '.join(bolts) or 'none'}")
            bolts[to].grouping(self._get(stream, "from"), str(grouping.get("streamId") or DEFAULT), self._grouping(grouping))
        try:
            return builder.createTopology(self.described.get("config"))
        except InvalidTopologyException as error:
            error.where = self.file
            raise

    def _sized(self, declarer: Any, described: Mapping[str, Any]) -> None:
        declarer.where = self.file
        if described.get("numTasks"):
            declarer.setNumTasks(self._number(described, "numTasks"))

    def _number(self, described: Mapping[str, Any], key: str) -> int:
        try:
            return int(described.get(key, 1))
        except (TypeError, ValueError):
            raise self._wrong(f"has {key}: {described[key]!r}, which is no number", "give a whole number") from None

    def _grouping(self, described: Mapping[str, Any]) -> Grouping:
        kind = str(described.get("type", "SHUFFLE")).upper()
        if kind in _PLAIN:
            return _PLAIN[kind]
        if kind == "FIELDS":
            return Grouping.fields(list(described.get("args") or []))
        if kind == "PARTIAL_KEY":
            return Grouping.partial_key(list(described.get("args") or []))
        if kind == "CUSTOM":
            return Grouping.custom_object(self._made(self._get(described, "customClass")))
        raise self._wrong(f"has a grouping {kind!r}", f"use one of {', '.join([*_PLAIN, 'FIELDS', 'PARTIAL_KEY', 'CUSTOM'])}")

    def _made(self, described: Mapping[str, Any]) -> Any:
        """The object that a description names."""
        name = str(self._get(described, "className"))
        code = _FLUX_OWN.get(name) or self._class(name)
        try:
            if "factory" in described:
                made = getattr(code, described["factory"])(*self._values(described, "factoryArgs"))
            else:
                made = code(*self._values(described, "constructorArgs"))
            for each in described.get("properties") or []:
                setattr(made, self._get(each, "name"), self._value(each if "ref" in each else each.get("value")))
            for method in described.get("configMethods") or []:
                made = getattr(made, self._get(method, "name"))(*self._values(method, "args")) or made
        except (TypeError, AttributeError) as error:
            raise self._wrong(f"describes an object of {name!r} that cannot be made: {error}", "compare it with the class") from None
        return made

    def _class(self, name: str) -> Any:
        module, _, kind = name.rpartition(".")
        try:
            return getattr(importlib.import_module(module), kind)
        except (ImportError, ValueError, AttributeError) as error:
            raise self._wrong(f"names the class {name!r}: {error}", "name a Python class, module.Class, that can be imported") from None

    def _values(self, described: Mapping[str, Any], key: str) -> list[Any]:
        return [self._value(each) for each in described.get(key) or []]

    def _value(self, argument: Any) -> Any:
        if isinstance(argument, Mapping) and "ref" in argument:
            return self._referred(argument["ref"])
        if isinstance(argument, Mapping) and "reflist" in argument:
            return [self._referred(each) for each in argument["reflist"]]
        return argument

    def _referred(self, name: str) -> Any:
        if name not in self.objects:
            raise self._wrong(f"refers to {name!r}, which is no component before it", "define it under components")
        return self.objects[name]

    def _list(self, name: str) -> list[Any]:
        return list(self.described.get(name) or [])

    def _get(self, described: Mapping[str, Any], key: str) -> Any:
        if not isinstance(described, Mapping) or key not in described:
            raise self._wrong(f"has {described!r} without {key!r}", f"give it {key}: …")
        return described[key]

    def _wrong(self, what: str, fix: str) -> DefinitionError:
        return wrong(self.file, what, fix)
