"""Topologies written in YAML, as Storm's Flux reads them.

    name: word-count
    config: {topology.workers: 2}
    spouts:
      - {id: sentences, className: my_topology.Sentences, parallelism: 5}
    bolts:
      - {id: split, className: my_topology.Split, parallelism: 8}
      - {id: count, className: my_topology.Count, parallelism: 12}
    streams:
      - {from: sentences, to: split, grouping: {type: SHUFFLE}}
      - {from: split, to: count, grouping: {type: FIELDS, args: [word]}}

`className` is a Python class, `module.Class`. `constructorArgs`, `properties`, `configMethods` and `ref` to one of `components` are as in
Flux. `${name}` stands for a setting that is given, `${ENV-NAME}` for a variable of the environment. Not supported: `topologySource`, for
which there is Python, and `includes`.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headrace.errors import DefinitionError, SetupError
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
_KEYS = {"name", "config", "components", "spouts", "bolts", "streams"}


def load_flux(file: str | Path, settings: Mapping[str, str] | None = None) -> Layout:
    """The topology of a YAML file, checked; DefinitionError if it is none."""
    try:
        import yaml
    except ModuleNotFoundError:
        raise SetupError("topologies in YAML need PyYAML", fix="pip install 'headrace[storm]'") from None
    path = Path(file)
    if not path.is_file():
        raise DefinitionError(f"there is no file {file}", fix="give the path of a YAML file with spouts, bolts and streams")
    try:
        described = yaml.safe_load(_filled(path.read_text(), settings or {}, str(path)))
    except yaml.YAMLError as error:
        raise DefinitionError(f"{file} is no YAML: {str(error).splitlines()[0]}", fix="mend it", where=str(file)) from None
    return _Flux(described, str(path)).layout()


def _filled(text: str, settings: Mapping[str, str], file: str) -> str:
    def value(match: re.Match[str]) -> str:
        name = match.group(1)
        found = os.environ.get(name.removeprefix("ENV-")) if name.startswith("ENV-") else settings.get(name)
        if found is None:
            raise DefinitionError(f"{file} needs a value for ${{{name}}}", fix=f"--set {name}=…, or set the variable")
        return str(found)

    return re.sub(r"\$\{([^}]+)\}", value, text)


class _Flux:
    def __init__(self, described: Any, file: str) -> None:
        self.file = file
        if not isinstance(described, dict):
            raise self._wrong("is no topology", "it has name, config, components, spouts, bolts and streams")
        if unknown := sorted(set(described) - _KEYS):
            raise self._wrong(f"has {unknown[0]!r}, which is not supported", f"leave it out; there is {', '.join(sorted(_KEYS))}")
        self.described = described
        self.objects: dict[str, Any] = {}

    def layout(self) -> Layout:
        builder = TopologyBuilder(str(self.described.get("name") or Path(self.file).stem))
        for component in self._list("components"):
            self.objects[self._get(component, "id")] = self._made(component)
        for spout in self._list("spouts"):
            declarer = builder.setSpout(self._get(spout, "id"), self._made(spout), int(spout.get("parallelism", 1)))
            self._sized(declarer, spout)
        bolts: dict[str, BoltDeclarer] = {}
        for bolt in self._list("bolts"):
            bolts[bolt["id"]] = builder.setBolt(self._get(bolt, "id"), self._made(bolt), int(bolt.get("parallelism", 1)))
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
            declarer.setNumTasks(int(described["numTasks"]))

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
        """The object that a description names: its class, called with its arguments, with its properties set."""
        name = self._get(described, "className")
        module, _, kind = str(name).rpartition(".")
        try:
            code = getattr(importlib.import_module(module), kind)
        except (ImportError, ValueError, AttributeError) as error:
            raise self._wrong(f"names the class {name!r}: {error}", "name a Python class, module.Class, that can be imported") from None
        made = code(*[self._value(argument) for argument in described.get("constructorArgs") or []])
        for each in described.get("properties") or []:
            setattr(made, self._get(each, "name"), self.objects[each["ref"]] if "ref" in each else each.get("value"))
        for method in described.get("configMethods") or []:
            made = getattr(made, self._get(method, "name"))(*[self._value(each) for each in method.get("args") or []]) or made
        return made

    def _value(self, argument: Any) -> Any:
        if isinstance(argument, dict) and set(argument) == {"ref"}:
            if argument["ref"] not in self.objects:
                raise self._wrong(f"refers to {argument['ref']!r}, which is no component before it", "define it under components")
            return self.objects[argument["ref"]]
        return argument

    def _list(self, name: str) -> list[Any]:
        return list(self.described.get(name) or [])

    def _get(self, described: Mapping[str, Any], key: str) -> Any:
        if not isinstance(described, Mapping) or key not in described:
            raise self._wrong(f"has {described!r} without {key!r}", f"give it {key}: …")
        return described[key]

    def _wrong(self, what: str, fix: str) -> DefinitionError:
        return DefinitionError(f"{self.file} {what}", fix=fix, where=self.file)
