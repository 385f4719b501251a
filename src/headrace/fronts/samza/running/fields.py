"""The fields of a task as bytes, which are part of its state.

What the framework handed out, such as stores, is not copied, but named. So are its classes: they come to a worker by value, with the job,
and a `SystemStream` that an earlier run has saved must be one to this run, too.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

from headrace.fronts.samza import messages
from headrace.fronts.samza.stores import KeyValueStore, ReadWriteTable
from headrace.fronts.samza.tasks import Config, Context, TaskContext

_CLASSES = {name: value for name, value in vars(messages).items() if isinstance(value, type) and value.__module__ == messages.__name__}


def dumps(value: Any) -> bytes:
    """The value as bytes; whatever it raises, if it cannot be copied."""
    data = io.BytesIO()
    try:
        _Pickler(data, 5).dump(value)
    except Exception:  # an instance of a class of the script's own, which cannot be imported by name
        from pyspark import cloudpickle

        class ByValue(cloudpickle.Pickler):
            def persistent_id(self, thing: Any) -> Any:
                return _name(thing)

        data = io.BytesIO()
        ByValue(data).dump(value)  # type: ignore[no-untyped-call]
    return data.getvalue()


def loads(data: bytes, context: Context) -> Any:
    """The value that `dumps` wrote, with the stores of this context."""
    return _Unpickler(io.BytesIO(data), context).load()


def _name(thing: Any) -> tuple[str, str] | None:
    if isinstance(thing, KeyValueStore):
        return "store", thing._spec.name
    if isinstance(thing, ReadWriteTable):
        return "table", thing._store._spec.name
    if isinstance(thing, type):
        return ("class", thing.__name__) if _CLASSES.get(thing.__name__) is thing else None
    kinds = {Context: "context", TaskContext: "task", Config: "config"}
    return (kinds[type(thing)], "") if type(thing) in kinds else None


class _Pickler(pickle.Pickler):
    def persistent_id(self, thing: Any) -> Any:
        return _name(thing)


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: io.BytesIO, context: Context) -> None:
        super().__init__(data)
        self.context = context

    def persistent_load(self, named: Any) -> Any:
        kind, name = named
        if kind == "class":
            return _CLASSES[name]
        parts = {"context": self.context, "task": self.context.task, "config": self.context.config}
        return parts[kind] if kind in parts else (self.context.task.getTable if kind == "table" else self.context.task.getStore)(name)
