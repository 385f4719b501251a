"""How surely a tuple is processed: Heron's three modes."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

MODE = "topology.reliability.mode"


class Reliability(enum.Enum):
    """Heron's modes, the value of `topology.reliability.mode`, also as text.

    ATMOST_ONCE       no ackers; what a process had when it died is lost
    ATLEAST_ONCE      every tuple that a spout emits with an id is acked, or fails and may be emitted again
    EFFECTIVELY_ONCE  no acks: the states of all spouts and bolts are saved together, and after a failure all of them go back to the same
                      save. So a tuple counts once in every state, whatever dies
    """

    ATMOST_ONCE = 0
    ATLEAST_ONCE = 1
    EFFECTIVELY_ONCE = 2


def reliability_of(config: Mapping[str, Any]) -> Reliability | None:
    """What a configuration asks for; none if it says nothing, and ValueError if there is no such mode."""
    chosen = config.get(MODE)
    if chosen is None or isinstance(chosen, Reliability):
        return chosen
    try:
        return Reliability[str(chosen)]
    except KeyError:
        raise ValueError(f"{MODE} is {chosen!r}; there is {', '.join(each.name for each in Reliability)}") from None
