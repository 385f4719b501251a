"""The sinks of one query, open for one run: a batch that a sink has already is computed, and not written again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame

from headrace.definitions.guarantees import Guarantee
from headrace.errors import JobError, pointing_at
from headrace.io.connectors import Run, Writer, consume
from headrace.planning.recipe import Output


class Writers:
    """Opened all or none; closed once."""

    def __init__(self, outputs: Sequence[Output], runs: Mapping[str, Run]) -> None:
        self._outputs, self._runs = outputs, runs
        self._open: dict[str, Writer] = {}

    def open(self) -> None:
        """Open every sink, and see that it goes on where the job does; JobError if it does not."""
        try:
            for output in self._outputs:
                with pointing_at(output.where):
                    run = self._runs[output.name]
                    self._open[output.name] = writer = output.sink.open(run)
                    _compare(output, writer.committed, run.ends)
        except BaseException:
            self.close()
            raise

    def write(self, output: Output, frame: DataFrame, batch: int) -> None:
        writer, run = self._open[output.name], self._runs[output.name]
        last = run.ends[-1] if run.guarantee is Guarantee.AT_MOST_ONCE and run.ends is not None else -1  # begun before: never again
        if batch <= max(last, -1 if writer.committed is None else writer.committed):
            consume(frame)
        else:
            writer.write(frame, batch)

    def close(self) -> None:
        """Twice is as good as once."""
        for run in self._runs.values():
            run.over.set()
        while self._open:
            _, writer = self._open.popitem()
            writer.close()


def _compare(output: Output, committed: int | None, ends: range | None) -> None:
    """JobError if the sink has come to another batch than the job's checkpoint."""
    if committed is None or committed < 0 or ends is None or committed in ends:
        return
    ahead = committed > ends[-1]
    gone = f"if offsets/{committed} of the checkpoint was there and is gone, put it back from a backup. Otherwise " if ahead else ""
    raise JobError(
        f"{output.name} holds the batches up to {committed}, and the job's checkpoint has come to {ends[-1]}: rows would be"
        f" {'missing there' if not ahead else 'skipped, or there twice'}",
        fix=f"{gone}put back the checkpoint, or what was written, so that both are of one time; or start anew, under another name",
    )
