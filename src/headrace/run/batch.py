"""Batch: everything there is, once."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.errors import pointing_at
from headrace.planning import modes, slots
from headrace.planning.recipe import Frames, Output, check_sources
from headrace.run.reports import messages
from headrace.spark import failures


def run(job: str, outputs: Sequence[Output]) -> None:
    """Write every output. They all see the same input: a source is asked once where it ends."""
    modes.check(outputs, "batch")
    slots.check_one()
    check_sources(outputs)
    for output in outputs:
        with pointing_at(output.where):
            output.sink.check(ends=None)
    for output in outputs:
        with pointing_at(output.where):
            output.sink.prepare()
    messages.of_dropped(job, outputs)
    frames = Frames(lambda source: source.table())
    for output in outputs:
        with failures.of_job(job, output.name, output.where):
            output.sink.save(frames[output.step])
