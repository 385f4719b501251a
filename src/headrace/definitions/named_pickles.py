"""Objects as bytes, in which some are not copied but named: what a run hands out, and classes that come to a worker by value, with the job.

Only what the job itself has written may be read: reading calls what the bytes name.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import Any


def dumps(value: Any, name: Callable[[Any], Any]) -> bytes:
    """The value as bytes; whatever it raises, if it cannot be copied. `name` gives an object's name, or None for one that is copied."""
    data = io.BytesIO()
    try:
        _Pickler(data, name).dump(value)
    except Exception:  # an instance of a class of the script's own, which cannot be imported by name
        from pyspark import cloudpickle

        class ByValue(cloudpickle.Pickler):
            def persistent_id(self, thing: Any) -> Any:
                return name(thing)

        data = io.BytesIO()
        ByValue(data).dump(value)  # type: ignore[no-untyped-call]
    return data.getvalue()


def loads(data: bytes, named: Callable[[Any], Any]) -> Any:
    """The value that `dumps` wrote. `named` gives the object of a name."""
    return _Unpickler(data, named).load()


class _Pickler(pickle.Pickler):
    def __init__(self, data: io.BytesIO, name: Callable[[Any], Any]) -> None:
        super().__init__(data, 5)
        self.persistent_id = name  # type: ignore[method-assign]


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: bytes, named: Callable[[Any], Any]) -> None:
        super().__init__(io.BytesIO(data))
        self.persistent_load = named  # type: ignore[method-assign]
