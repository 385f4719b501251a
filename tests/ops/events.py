"""Records of two keys, in which times and values are missing or come late."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from headrace.testing.clocks import START
from headrace.testing.shapes import BATCH, MICRO_BATCH

each_shape = pytest.mark.parametrize("shape", [BATCH, *MICRO_BATCH], ids=str)  # in real time they are tested by the laws

EVENTS = """
    k | v:double | ts:timestamp | id
    a | 10       | 10:00:00     | x
    a | 30       | 10:00:05     | y
    b | 1        | 10:00:05     | x
    a | -        | 10:00:10     | x
    a | 20       | 10:00:07     | z
    a | 50       | 10:00:20     | y
    a | 7        | -            | -
"""


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)
