"""A batch that fails is run again, after a pause that grows: 10 ms, then twice as long with each failure, at most 10 s.

The first two failures are silent: something was not there for a moment. From the third on Python's log says which batch fails, and of what.
"""

from __future__ import annotations

import logging

_FIRST, _LONGEST = 0.01, 10.0
_SILENT = 2

_log = logging.getLogger(__name__)


def pause(topology: str, txid: int | None, failures: int, reason: str) -> float:
    """Seconds to wait before the batch runs again, after it has failed so many times in a row; it is said why.

    >>> [pause("words", 1, failures, "") for failures in (1, 2)]
    [0.01, 0.02]
    """
    seconds = min(_LONGEST, _FIRST * 2.0 ** min(failures - 1, 20))
    if failures > _SILENT:
        _log.warning(
            "topology %r: batch %s has failed %d times, the last time of this: %s; it is run again in %.2g s",
            topology, txid, failures, reason, seconds,
        )  # fmt: skip
    return seconds
