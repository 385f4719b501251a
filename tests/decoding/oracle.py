"""The rules of decoding JSON once more, in plain Python: slow, and sharing nothing with the decoder."""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal, localcontext
from typing import Any

TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(\.\d{1,6})?(Z|[+-]\d\d:\d\d)?", re.ASCII)


def reason(raw: bytes, fields: list[tuple[str, str, bool]]) -> str | None:
    """Why a record is refused; fields are (name, type, required)."""
    try:
        record = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        return "not_json"
    if not isinstance(record, dict):
        return "not_json"
    for name, _, required in fields:
        if required and record.get(name) in (None, ""):
            return f"missing:{name}"
    for name, of, _ in fields:
        if record.get(name) is not None and not fits(record[name], of):
            return f"bad_type:{name}"
    return None


def fits(value: Any, of: str) -> bool:
    if of == "string":
        return isinstance(value, str) and not any("\ud800" <= c <= "\udfff" for c in value)
    if of == "double":
        return isinstance(value, int | float) and not isinstance(value, bool) and finite(value)
    if of == "bigint":
        return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63
    if of == "boolean":
        return isinstance(value, bool)
    assert of == "timestamp"
    return isinstance(value, str) and instant(value) is not None


def finite(value: float) -> bool:
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def instant(text: str) -> datetime | None:
    """The UTC time that the text says, or None."""
    found = TIME.fullmatch(text)
    if found is None:
        return None
    date, time, decimals, zone = found.groups()
    try:
        wall = datetime.fromisoformat(f"{date}T{time}").replace(tzinfo=UTC)
        offset = timedelta(0)
        if zone not in (None, "Z"):
            hours, minutes = int(zone[1:3]), int(zone[4:6])
            if hours > 23 or minutes > 59:
                return None
            offset = timedelta(hours=hours, minutes=minutes) * (-1 if zone[0] == "-" else 1)
        return wall + timedelta(microseconds=int((decimals or ".0")[1:].ljust(6, "0"))) - offset
    except (ValueError, OverflowError):
        return None


EPOCHS = {"epoch_seconds": 6, "epoch_millis": 3, "epoch_micros": 0}


def since_1970(number: str, form: str) -> datetime | None:
    """The UTC time that so many seconds, or parts of them, after 1970 are, or None."""
    with localcontext(prec=100):
        micros = math.floor(Decimal(number).scaleb(EPOCHS[form])) if abs(Decimal(number)) < 10**20 else 10**30
    try:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
    except OverflowError:
        return None
