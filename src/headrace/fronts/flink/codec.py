"""Python objects as bytes, where a program declares no type: in state, in keys, and between two functions.

Plain values are written by `marshal`, whose second version writes equal values as equal bytes; so they can be keys. Anything else is
pickled. A `Row` is written by its values: its class comes to a worker with the job, and another run's class must read it.
"""

from __future__ import annotations

import io
import marshal
import pickle
from typing import Any

from headrace.fronts.flink.rows import Row


def dumps(value: Any) -> bytes:
    """The value as bytes; whatever it raises, if it cannot be copied."""
    try:
        return b"m" + marshal.dumps(value, 2)
    except ValueError:  # not a plain value
        pass
    data = io.BytesIO()
    try:
        _Pickler(data, 5).dump(value)
    except Exception:  # an instance of a class of the script's own, which cannot be imported by name
        from pyspark import cloudpickle

        class ByValue(cloudpickle.Pickler):
            def persistent_id(self, thing: Any) -> Any:
                return _named(thing)

        data = io.BytesIO()
        ByValue(data).dump(value)  # type: ignore[no-untyped-call]
    return b"p" + data.getvalue()


def loads(data: bytes) -> Any:
    """The value that `dumps` wrote. Only what the job itself has written comes here."""
    return marshal.loads(data[1:]) if data[:1] == b"m" else _Unpickler(io.BytesIO(data[1:])).load()


def key_bytes(key: Any) -> bytes:
    """A key as bytes: equal keys give equal bytes. TypeError if nothing can promise that."""
    if isinstance(key, list | dict | set | frozenset | bytearray):
        raise TypeError(f"key_by: {key!r} cannot be a key: give text, a number, or a tuple of such")
    return dumps(tuple(key) if isinstance(key, Row) else key)


def _named(thing: Any) -> Any:
    return (thing.names, tuple(thing)) if type(thing) is Row else None


class _Pickler(pickle.Pickler):
    def persistent_id(self, thing: Any) -> Any:
        return _named(thing)


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, named: Any) -> Any:
        names, values = named
        return Row.of(names, values)
