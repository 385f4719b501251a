"""What a job does that its user may not expect: said when it starts, in Python's log, which shows it unless it is told otherwise."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from headrace.run.recipe import Output

_log = logging.getLogger(__name__)


def of_dropped(job: str, outputs: Sequence[Output]) -> None:
    """Say which bad records go nowhere: those whose dead letters no output takes."""
    taken = dict.fromkeys(step for output in outputs for step in output.step.ancestry())
    for step in taken:
        if step.rest is not None and step.rest not in taken:
            source = step.ancestry()[0]
            _log.warning(
                "job %r drops the records of %s (%s) that cannot be decoded; to keep them, give it an output of the stream's .dead_letters",
                job, source.operator, source.where,
            )  # fmt: skip
