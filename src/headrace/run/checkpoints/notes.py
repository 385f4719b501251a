"""The text of the note beside a checkpoint, with a sum of itself: one that says something else would let a job go on from what is not its
own, or have it refused for no reason."""

from __future__ import annotations

import hashlib
import json
from typing import Any

_SUM = "sum"


def written(note: dict[str, Any]) -> str:
    return json.dumps(note | {_SUM: _sum(note)}, indent=1)


def read(text: str) -> dict[str, Any] | None:
    """What was written; none if it is damaged. `{}`, of somebody who knows what they do, is a note that says nothing."""
    try:
        note = json.loads(text)
    except ValueError:
        return None
    if not isinstance(note, dict):
        return None
    return note if not note or note.pop(_SUM, None) == _sum(note) else None


def as_read(note: dict[str, Any]) -> dict[str, Any]:
    """As it will be read: lists, not tuples."""
    read: dict[str, Any] = json.loads(json.dumps(note))
    return read


def _sum(note: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(as_read(note), sort_keys=True).encode()).hexdigest()[:16]
