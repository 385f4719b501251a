"""The user's program: a Python file with something called `job` in it.

job = Job("name", …)                              a job
def job(topic: str = "orders", limit: int = 3):   or a function that gives one; its parameters are the settings
    return Job("name", …)
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import ModuleType, NoneType
from typing import Any, get_args, get_type_hints

from pyspark import cloudpickle

from headrace.errors import DefinitionError
from headrace.job import Job
from headrace.spark import shipping

_TRUE, _FALSE = ("true", "yes", "1"), ("false", "no", "0")


def load(file: Path, settings: Mapping[str, str]) -> Job:
    """The job of a program, with its settings converted to the types that its parameters have."""
    job = getattr(module(file), "job", None)
    if callable(job):
        job = job(**_arguments(file, job, settings))
    elif settings:
        raise DefinitionError(f"the job of {file} has no settings", fix="define it as a function: def job(name: type = default)")
    if not isinstance(job, Job):
        raise DefinitionError(f"{file} defines no job", fix="define `job`: a headrace.Job, or a function that returns one")
    return job


def beside(file: Path) -> None:
    """Let what lies beside a program be imported, as `python file` does; by Spark's workers too, if it is called before they start."""
    if not file.is_file():
        raise DefinitionError(f"there is no file {file}", fix="give the path of a Python file that defines `job`")
    directory = str(file.parent.resolve())
    shipping.beside(file)
    sys.path.insert(0, directory)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [directory, os.environ.get("PYTHONPATH")]))


def module(file: Path) -> ModuleType:
    """A program, run; its functions and classes travel to workers."""
    name = f"headrace_program_{file.stem}"  # not the stem alone: a program called `statistics` shall not hide the library
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise DefinitionError(f"{file} is no Python file", fix="give the path of one, name.py, that defines `job`")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    # Its functions and classes travel to workers, which cannot import it.
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    spec.loader.exec_module(module)
    return module


def settings(pairs: Iterable[str], option: str = "--set") -> dict[str, str]:
    """`key=value` texts as a dict."""
    for pair in pairs:
        if "=" not in pair:
            raise DefinitionError(f"{option} {pair} sets nothing", fix=f"{option} {pair}=value")
    return dict(pair.split("=", 1) for pair in pairs)


def values(pairs: Iterable[str]) -> dict[str, Any]:
    """`field=value` texts as a dict: a value that is JSON is what it says, anything else is text."""

    def read(text: str) -> Any:
        try:
            return json.loads(text)
        except ValueError:
            return text

    return {name: read(text) for name, text in settings(pairs, "a request").items()}


def conf(pairs: Iterable[str], master: str | None) -> dict[str, str]:
    """Spark's settings, as `key=value` texts; DefinitionError for one that cannot be Spark's, or is not what `--master` says."""
    options = settings(pairs, "--conf")
    for key, value in options.items():
        if not re.fullmatch(r"spark\.\S+", key):
            raise DefinitionError(
                f"--conf {key}={value}: Spark has no setting of that name",
                fix=f"they begin with spark., as spark.driver.memory; a setting of the job's own is --set {key}={value}",
            )
    if master is not None and options.get("spark.master", master) != master:
        raise DefinitionError(
            f"--master {master} and --conf spark.master={options['spark.master']} contradict each other", fix="leave one of them out"
        )
    return options


def _arguments(file: Path, function: Callable[..., Any], settings: Mapping[str, str]) -> dict[str, Any]:
    parameters, types = inspect.signature(function).parameters, get_type_hints(function)
    for name in settings:
        if name not in parameters:
            raise DefinitionError(f"the job of {file} has no setting {name!r}", fix=f"it has {', '.join(parameters) or 'none'}")
    missing = [name for name, parameter in parameters.items() if parameter.default is parameter.empty and name not in settings]
    if missing:
        raise DefinitionError(f"the job of {file} needs a setting {missing[0]!r}", fix=f"--set {missing[0]}=…")
    return {name: _convert(name, text, _given(types.get(name, str))) for name, text in settings.items()}


def _given(kind: Any) -> Any:
    """The type of what is set: that of an `int | None` is an int."""
    kinds = [each for each in get_args(kind) if each is not NoneType]
    return kinds[0] if NoneType in get_args(kind) and len(kinds) == 1 else kind


def _convert(name: str, text: str, kind: Any) -> Any:
    try:
        if kind is bool:
            return {**dict.fromkeys(_TRUE, True), **dict.fromkeys(_FALSE, False)}[text.lower()]
        return kind(text) if kind in (int, float, Path) else text
    except (ValueError, KeyError):
        raise DefinitionError(f"setting {name}={text!r} is no {kind.__name__}", fix=f"--set {name}=<{kind.__name__}>") from None
