"""The settings of a topology that must be numbers, and what they may be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.fronts.storm.graph.reliability import reliability_of

_WHOLE = {
    "topology.workers": 1,
    "topology.acker.executors": 0,
    "topology.max.spout.pending": 1,
    "topology.max.task.parallelism": 1,
}
_SECONDS = (
    "topology.message.timeout.secs",
    "topology.tick.tuple.freq.secs",
    "topology.state.checkpoint.interval.ms",
    "topology.stateful.checkpoint.interval.seconds",
)


def mistake(config: Mapping[str, Any]) -> str | None:
    """What is wrong with a configuration, in words; none if nothing is. Settings that are not Storm's are the program's own."""
    for name, least in _WHOLE.items():
        value = config.get(name)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
            return f"{name} is {value!r}; it is a whole number from {least} on"
    for name in _SECONDS:
        value = config.get(name)
        if value is not None and (not isinstance(value, int | float) or isinstance(value, bool) or value <= 0):
            return f"{name} is {value!r}; it is a number greater than 0"
    try:
        reliability_of(config)
    except ValueError as error:
        return str(error)
    return None
