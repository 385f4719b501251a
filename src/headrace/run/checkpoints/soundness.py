"""A look at a checkpoint before a query goes on from it: files that are cut, emptied, changed or gone.

Spark itself stops at most of them, in words of its own. But where the last entry of one of its logs is gone, it takes the one before for
the last, and rows are missing or there twice. So what its logs must hold is looked up here, and the few entries that it goes on from are
read, which costs the same however large the state is. The files of the state are many: Spark compares them with their sums as it opens
them, and what it says then is put into words in `failures.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from headrace.definitions import damages
from headrace.errors import JobError
from headrace.io import file_system, files_log

if TYPE_CHECKING:
    from headrace.run.checkpoints.places import Checkpoint

_SUMS = ".crc"
_SCHEMAS = re.compile(r'"([^"]+/_stateSchema/[^"]+)"')
_INTERVAL = "spark.sql.streaming.fileSource.log.compactInterval"


def check(checkpoint: Checkpoint) -> None:
    """JobError if a file is damaged that the query would go on from."""
    for file in _needed(checkpoint):
        if (flaw := file_system.flaw(file)) is not None:
            raise JobError(f"{file.removeprefix('file:')} {flaw}: the job cannot go on without it", fix=damages.way_on(file))
    for file in _following(checkpoint):
        if file_system.is_lost(file):
            raise JobError(f"{file} is gone, and its sums are there: the job cannot write it again", fix=damages.again(file))


def flawed(directory: str) -> tuple[str, str] | None:
    """A damaged file of a directory, or below it, and what is wrong with it. All are read."""
    there = file_system.names(directory, hidden=True)
    for name in there:
        if not name.startswith("."):
            place = f"{directory}/{name}"
            flaw = file_system.flaw(place) if file_system.is_file(place) else flawed(place)
            if flaw is not None:
                return (place, flaw) if isinstance(flaw, str) else flaw
    sums = (name.removesuffix(_SUMS) for name in there if name.endswith(_SUMS))
    lost = min((of for name in sums if (of := name.removeprefix(".")) not in there and not of.startswith(".")), default=None)
    return None if lost is None else (f"{directory}/{lost}", "is gone")


def _needed(checkpoint: Checkpoint) -> Iterator[str]:
    """What Spark reads before the first batch."""
    place, done, last = checkpoint.location, checkpoint.carried_out, _last(checkpoint)
    if last < 0:
        return
    yield f"{place}/metadata"
    yield f"{place}/offsets/{last}"
    if last > 0:
        yield f"{place}/offsets/{last - 1}"
        yield f"{place}/commits/{last if done == last else last - 1}"  # the last batch may not be done, the one before it is
    elif done is not None:
        yield f"{place}/commits/{done}"
    for log, position in _logs_of_files(checkpoint, last):
        yield from files_log.entries(log, position, _INTERVAL)
    for operator in filter(str.isdigit, checkpoint.files.names(f"{place}/state") if done is not None else []):
        yield from _of_operator(checkpoint, f"{place}/state/{operator}")


def _of_operator(checkpoint: Checkpoint, state: str) -> Iterator[str]:
    """What says what an operator keeps; of a scan the newest entry of a log, and the schemas that it names."""
    if "v2" not in checkpoint.files.names(f"{state}/_metadata"):
        yield f"{state}/_metadata/metadata"
        return
    log = f"{state}/_metadata/v2"
    yield (newest := f"{log}/{max((int(name) for name in checkpoint.files.names(log) if name.isdigit()), default=0)}")
    yield from _SCHEMAS.findall(checkpoint.files.read(newest) or "")


def _following(checkpoint: Checkpoint) -> Iterator[str]:
    """What Spark writes next."""
    last = _last(checkpoint)
    yield f"{checkpoint.location}/offsets/{last + 1}"
    yield f"{checkpoint.location}/commits/{last}"
    for log, position in _logs_of_files(checkpoint, last):
        yield files_log.following(log, position, _INTERVAL)


def _last(checkpoint: Checkpoint) -> int:
    """The last batch that was planned; each is, before it is carried out."""
    return max([*checkpoint.planned, -1 if (done := checkpoint.carried_out) is None else done], default=-1)


def _logs_of_files(checkpoint: Checkpoint, batch: int) -> Iterator[tuple[str, int]]:
    """The logs in which sources of files note what they have read, each with the position that a batch has there."""
    for number, position in enumerate(checkpoint.positions(batch) if batch >= 0 else []):
        with suppress(ValueError, TypeError, KeyError):
            yield f"{checkpoint.location}/sources/{number}", int(json.loads(position)["logOffset"])
