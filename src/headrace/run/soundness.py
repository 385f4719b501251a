"""A look at a checkpoint before a query goes on from it: files that are cut, emptied, changed or gone.

Spark itself stops at most of them, in words of its own. But where the last entry of one of its logs is gone, it takes the one before for
the last, and rows are missing or there twice. So what its logs must hold is looked up here, and the few entries that it goes on from are
read, which costs the same however large the state is. The files of the state are many: Spark compares them with their sums as it opens
them, and what it says then is put into words in `failures.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from headrace.definitions import damages
from headrace.errors import JobError
from headrace.io import file_system, files_log

if TYPE_CHECKING:
    from headrace.run.checkpoints import Checkpoint

_INTERVAL = "spark.sql.streaming.fileSource.log.compactInterval"


def check(checkpoint: Checkpoint) -> None:
    """JobError if a file is damaged that the query would go on from."""
    for file in _needed(checkpoint):
        if (flaw := file_system.flaw(file)) is not None:
            raise JobError(f"{file} {flaw}: the job cannot go on without it", fix=damages.way_on(file))


def _needed(checkpoint: Checkpoint) -> Iterator[str]:
    """What Spark reads before the first batch."""
    place, planned, done = checkpoint.location, checkpoint.planned, checkpoint.carried_out
    last = max([*planned, -1 if done is None else done], default=-1)  # a batch is planned before it is carried out
    if last < 0:
        return
    yield f"{place}/metadata"
    yield f"{place}/offsets/{last}"
    if last > 0:
        yield f"{place}/offsets/{last - 1}"
        yield f"{place}/commits/{last if done == last else last - 1}"  # the last batch may not be done, the one before it is
    elif done is not None:
        yield f"{place}/commits/{done}"
    yield from _of_sources(checkpoint, last)


def _of_sources(checkpoint: Checkpoint, last: int) -> Iterator[str]:
    """The logs in which sources of files note what they have read, up to the position that a batch has there."""
    for number, position in enumerate(checkpoint.positions(last)):
        with suppress(ValueError, TypeError, KeyError):
            yield from files_log.entries(f"{checkpoint.location}/sources/{number}", json.loads(position)["logOffset"], _INTERVAL)
