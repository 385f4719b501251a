"""An element of a PCollection as a row: its value with timestamp, windows and pane, as bytes, and a time.

The column `time` is no timestamp of Beam's, which a program may set anew, and which is in the value. It is by what the scan orders elements
and alarms. Beam has no order: what is due is so by the watermark alone. So an element comes at the first of all times.
"""

from __future__ import annotations

import io
import marshal
import pickle
from datetime import UTC, datetime, timedelta
from typing import Any

from apache_beam.coders import FastPrimitivesCoder
from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP, Timestamp
from apache_beam.utils.windowed_value import PANE_INFO_UNKNOWN, WindowedValue

COLUMNS = "value binary, time timestamp"
Row = dict[str, Any]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LAST = datetime(9999, 12, 30, tzinfo=UTC)
"""The end of time, as far as an alarm can be set; what is due at the end of the input is due then."""
ENDED = datetime(9999, 1, 1, tzinfo=UTC)
"""So far has a source come that has given all it has."""
FIRST = datetime(1, 1, 2, tzinfo=UTC)

_KEYS = FastPrimitivesCoder().as_deterministic_coder("GroupByKey")


def first(value: Any, timestamp: Timestamp = MIN_TIMESTAMP) -> WindowedValue:
    """A value as a source gives it."""
    return WindowedValue(value, timestamp, (GlobalWindow(),), PANE_INFO_UNKNOWN)


def dumps(value: Any) -> bytes:
    """A Python object as bytes; whatever it raises, if it cannot be copied."""
    try:
        return b"m" + marshal.dumps(value, 2)
    except ValueError:  # not a plain value
        pass
    try:
        data = pickle.dumps(value, 5)
        if b"__main__" not in data:  # a class of the script's own, which a worker cannot import by name
            return b"p" + data
    except Exception:  # the same in a worker, which knows that class by value
        pass
    from pyspark import cloudpickle

    by_value = io.BytesIO()
    cloudpickle.Pickler(by_value).dump(value)  # type: ignore[no-untyped-call]
    return b"p" + by_value.getvalue()


def loads(data: bytes) -> Any:
    """The object that `dumps` wrote. Only what the job itself has written comes here."""
    return marshal.loads(data[1:]) if data[:1] == b"m" else pickle.loads(data[1:])


def packed(element: WindowedValue) -> bytes:
    """An element as bytes."""
    return dumps((dumps(element.value), element.timestamp.micros, pickle.dumps((element.windows, element.pane_info), 5)))


def unpacked(data: bytes) -> WindowedValue:
    """The element that `packed` wrote."""
    value, micros, rest = loads(data)
    windows, pane = pickle.loads(rest)
    return WindowedValue(loads(value), Timestamp(micros=micros), windows, pane)


def key_bytes(key: Any) -> bytes:
    """A key as bytes: equal keys give equal bytes. Beam's coder refuses what cannot promise that."""
    encoded: bytes = _KEYS.encode(key)
    return encoded


def key_value(data: bytes) -> Any:
    """The key that `key_bytes` wrote."""
    return _KEYS.decode(data)


def to_time(timestamp: Timestamp) -> datetime:
    """As Spark and Python can have it."""
    micros = timestamp.micros
    if micros >= _micros(LAST):
        return LAST
    return FIRST if micros <= _micros(FIRST) else EPOCH + timedelta(microseconds=micros)


def to_timestamp(time: datetime | None) -> Timestamp:
    """What a time of the kernel is in Beam: none is before all, the last day is the end of all."""
    if time is None or time <= FIRST:
        return MIN_TIMESTAMP
    return MAX_TIMESTAMP if time >= LAST else Timestamp(micros=_micros(time))


def _micros(time: datetime) -> int:
    return (time - EPOCH) // timedelta(microseconds=1)
