"""Python objects as bytes, where a program declares no type: in state, in keys, and between two functions.

Plain values are written by `marshal`, whose second version writes equal values as equal bytes; so they can be keys. Anything else is
pickled. A `Row` is written by its values: its class comes to a worker with the job, and another run's class must read it.
"""

from __future__ import annotations

import marshal
from typing import Any

from headrace.definitions import named_pickles
from headrace.fronts.flink.rows import Row


def dumps(value: Any) -> bytes:
    """The value as bytes; whatever it raises, if it cannot be copied."""
    try:
        return b"m" + marshal.dumps(value, 2)
    except ValueError:  # not a plain value
        pass
    return b"p" + named_pickles.dumps(value, _named)


def loads(data: bytes) -> Any:
    """The value that `dumps` wrote. Only what the job itself has written comes here."""
    return marshal.loads(data[1:]) if data[:1] == b"m" else named_pickles.loads(data[1:], _row)


def key_bytes(key: Any) -> bytes:
    """A key as bytes: equal keys give equal bytes. TypeError if nothing can promise that."""
    if isinstance(key, list | dict | set | frozenset | bytearray):
        raise TypeError(f"key_by: {key!r} cannot be a key: give text, a number, or a tuple of such")
    return dumps(tuple(key) if isinstance(key, Row) else key)


def _named(thing: Any) -> Any:
    return (thing.names, tuple(thing)) if type(thing) is Row else None


def _row(named: tuple[Any, Any]) -> Row:
    names, values = named
    return Row.of(names, values)
