"""Topologies written in YAML, as Storm's Flux reads them.

    name: word-count
    config: {topology.workers: 2}
    includes:
      - {file: common.yaml, override: false}
    spouts:
      - {id: sentences, className: my_topology.Sentences, parallelism: 5}
    bolts:
      - {id: split, className: my_topology.Split, parallelism: 8}
      - {id: count, className: my_topology.Count, parallelism: "${counters}"}
    streams:
      - {from: sentences, to: split, grouping: {type: SHUFFLE}}
      - {from: split, to: count, grouping: {type: FIELDS, args: [word]}}

`className` is a Python class, `module.Class`; what can be said of an object is in flux_objects.py. `${name}` stands for a setting that is
given, or for one of a `.properties` file, `${ENV-NAME}` for a variable of the environment: they are filled in before the YAML is read.
Included files add what this one does not have, or with `override: true` take the place of what it has; what they include themselves is
ignored. Their paths are relative to the file that includes them, or with `resource: true` to a directory of Python's path.

Not supported: `topologySource`, for which there is Python, and `workerHooks`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headrace.errors import DefinitionError, SetupError
from headrace.fronts.storm.graph.layout import Layout
from headrace.fronts.storm.topologies.flux_objects import Described, wrong

_LISTS = ("components", "spouts", "bolts")
_KEYS = {"name", "config", "includes", *_LISTS, "streams"}


def load_flux(file: str | Path, settings: Mapping[str, Any] | None = None, *, properties: str | Path | None = None) -> Layout:
    """The topology of a YAML file, checked; DefinitionError if it is none.

    settings    values for `${name}`, as `--set name=value` gives them; they go before those of the file
    properties  a file of Java's kind, lines of `name=value` or `name: value`, as Flux's `--filter` has it
    """
    path = Path(file)
    if not path.is_file():
        raise DefinitionError(f"there is no file {file}", fix="give the path of a YAML file with spouts, bolts and streams")
    values = {**({} if properties is None else read_properties(properties)), **(settings or {})}
    described = _read(path, values)
    for include in described.pop("includes", None) or []:
        _include(described, include, path, values)
    return Described(described, str(path)).layout()


def read_properties(file: str | Path) -> dict[str, str]:
    """The values of a `.properties` file. Blank lines and those that begin with # or ! are left out; a line that ends with a backslash goes
    on in the next."""
    path = Path(file)
    if not path.is_file():
        raise DefinitionError(f"there is no file {file}", fix="give the path of a file with lines of name=value")
    text = re.sub(r"\\\n\s*", "", path.read_text())
    lines = [line.strip() for line in text.splitlines()]
    pairs = [re.split(r"\s*[=:]\s*|\s+", line, maxsplit=1) for line in lines if line and line[0] not in "#!"]
    return {pair[0]: pair[1] if len(pair) > 1 else "" for pair in pairs}


def _read(path: Path, values: Mapping[str, Any]) -> dict[str, Any]:
    try:
        import yaml
    except ModuleNotFoundError:
        raise SetupError("topologies in YAML need PyYAML", fix="pip install 'headrace[storm]'") from None
    try:
        described = yaml.safe_load(_filled(path.read_text(), values, str(path)))
    except yaml.YAMLError as error:
        raise DefinitionError(f"{path} is no YAML: {str(error).splitlines()[0]}", fix="mend it", where=str(path)) from None
    if not isinstance(described, dict):
        raise wrong(str(path), "is no topology", f"it has {', '.join(sorted(_KEYS))}")
    if unknown := sorted(set(described) - _KEYS):
        raise wrong(str(path), f"has {unknown[0]!r}, which is not supported", f"leave it out; there is {', '.join(sorted(_KEYS))}")
    return described


def _filled(text: str, values: Mapping[str, Any], file: str) -> str:
    def value(match: re.Match[str]) -> str:
        name = match.group(1)
        chosen = os.environ.get(name.removeprefix("ENV-")) if name.startswith("ENV-") else values.get(name)
        if chosen is None:
            raise DefinitionError(
                f"{file} needs a value for ${{{name}}}", fix=f"--set {name}=…, a line in a file for --filter, or set the variable"
            )
        return str(chosen)

    return re.sub(r"\$\{([^}]+)\}", value, text)


def _include(into: dict[str, Any], include: Any, path: Path, values: Mapping[str, Any]) -> None:
    if not isinstance(include, Mapping) or "file" not in include:
        raise wrong(str(path), f"includes {include!r}", "name a file: includes: [{file: common.yaml, override: false}]")
    places = [Path(each) for each in sys.path] if include.get("resource") else [path.parent]
    file = next((place / include["file"] for place in places if (place / include["file"]).is_file()), None)
    if file is None:
        raise wrong(str(path), f"includes {include['file']!r}, which is not there", "its path is relative to this file")
    _merge(into, _read(file, values), override=bool(include.get("override")))


def _merge(into: dict[str, Any], other: Mapping[str, Any], *, override: bool) -> None:
    """Flux's rule: what has a name is there once, and streams are added to each other."""
    if other.get("name") and (override or not into.get("name")):
        into["name"] = other["name"]
    own, more = into.get("config") or {}, other.get("config") or {}
    into["config"] = {**own, **more} if override else {**more, **own}
    for kind in _LISTS:
        named = {each.get("id"): each for each in into.get(kind) or []}
        for each in other.get(kind) or []:
            if override or each.get("id") not in named:
                named[each.get("id")] = each
        into[kind] = list(named.values())
    into["streams"] = [*(into.get("streams") or []), *(other.get("streams") or [])]
