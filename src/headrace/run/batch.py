"""Batch: everything there is, once."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.definitions.guarantees import Guarantee
from headrace.errors import pointing_at
from headrace.io.connectors import Run
from headrace.kernel.python.mapping import led_past
from headrace.planning import guarantees, modes, slots
from headrace.planning.recipe import Frames, Output, check_sources
from headrace.run.reports import messages
from headrace.run.writing import Writers
from headrace.spark import failures


def run(job: str, outputs: Sequence[Output], guarantee: Guarantee | None = None) -> None:
    """Write every output. They all see the same input: a source is asked once where it ends."""
    modes.check(outputs, "batch")
    promises = guarantees.promise(outputs, "batch", guarantee)
    slots.check_one()
    check_sources(outputs)
    for output in outputs:
        with pointing_at(output.where):
            output.sink.check(ends=None)
    for output in outputs:
        with pointing_at(output.where):
            output.sink.prepare()
    messages.of_dropped(job, outputs)
    messages.of_promises(job, promises.values())
    with_origins = any(output.sink.origins for output in outputs)
    frames = Frames(lambda source: source.table())
    for output in outputs:
        with failures.of_job(job, output.name, output.where):
            writers = Writers([output], {output.name: Run(job, output.name, "batch", guarantee=promises[output.name].guarantee)})
            writers.open()
            try:
                with led_past(with_origins):
                    rows = frames[output.step]
                writers.write(output, rows, 0)
            finally:
                writers.close()
