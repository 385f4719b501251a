"""The fields of a window, as columns, and conditions on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

Flag = bool | Column
Fields = dict[str, Column]
Known = Mapping[str, Column]


def either(*flags: Flag) -> Flag:
    """Whether one of them is true, as far as possible without an expression."""
    columns = [flag for flag in flags if not isinstance(flag, bool)]
    if any(flag is True for flag in flags):
        return True
    return _joined(columns, lambda one, other: one | other) if columns else False


def both(*flags: Flag) -> Flag:
    columns = [flag for flag in flags if not isinstance(flag, bool)]
    if any(flag is False for flag in flags):
        return False
    return _joined(columns, lambda one, other: one & other) if columns else True


def negated(flag: Flag) -> Flag:
    return not flag if isinstance(flag, bool) else ~flag


def chosen(flag: Flag, then: Known, otherwise: Known) -> Fields:
    """The fields of the first if it is true, else those of the second, which has all of them."""
    if isinstance(flag, bool):
        return {**otherwise, **then} if flag else dict(otherwise)
    return {**otherwise, **{name: F.when(flag, value).otherwise(otherwise[name]) for name, value in then.items()}}


def column(flag: Flag) -> Column:
    return F.lit(flag) if isinstance(flag, bool) else flag


def _joined(columns: list[Column], join: Any) -> Column:
    whole = columns[0]
    for each in columns[1:]:
        whole = join(whole, each)
    return whole


@dataclass(frozen=True)
class Moment:
    """What a trigger may know when it is asked: whether the watermark has `passed` the window's end, and the time of the clock."""

    passed: Flag
    now: Column


def never() -> Column:
    """No time."""
    return F.lit(None).cast("timestamp")
