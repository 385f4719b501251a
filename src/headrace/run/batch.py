"""Batch: everything there is, once."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.run import failures, modes, notices, slots
from headrace.run.recipe import Frames, Output


def run(job: str, outputs: Sequence[Output]) -> None:
    """Write every output. They all see the same input: a source is asked once where it ends."""
    modes.check(outputs, "batch")
    slots.check_one()
    for source in {source for output in outputs for source in output.step.sources()}:
        source.check()
    for output in outputs:
        output.sink.check(ends=None)
    for output in outputs:
        output.sink.prepare()
    notices.of_dropped(job, outputs)
    frames = Frames(lambda source: source.table())
    for output in outputs:
        with failures.of_job(job, output.name):
            output.sink.save(frames[output.step])
