"""What a job does that its user may not expect: said when it starts, in Python's log, which shows it unless it is told otherwise."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from headrace.run.recipe import Output

_log = logging.getLogger(__name__)

_WORDS = {"dead_letters": "records that cannot be decoded", "late": "late records"}


def of_dropped(job: str, outputs: Sequence[Output]) -> None:
    """Say which records go nowhere: those of a port, such as dead letters or late records, that no output takes."""
    taken = dict.fromkeys(step for output in outputs for step in output.step.ancestry())
    for step in taken:
        for name, other in step.beside.items():
            if other not in taken:
                _log.warning(
                    "job %r drops the %s of %s; to keep them, give it an output of the stream's .%s", job, _WORDS[name], step.where, name
                )
