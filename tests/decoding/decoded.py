"""Records to decode, and how what comes of them is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import Row

Decode = Callable[..., list[Any]]

TRANSACTION = "tx_id STRING NOT NULL, customer STRING NOT NULL, card STRING, amount DOUBLE NOT NULL, ts TIMESTAMP_NTZ NOT NULL"
GOOD = b'{"tx_id":"t1","customer":"c1","card":"4111","amount":12.34,"ts":"2026-02-02T02:40:00.005Z"}'


def plain(value: Any) -> Any:
    if isinstance(value, Row):
        return tuple(plain(each) for each in value)
    return bytes(value) if isinstance(value, bytearray) else value
