"""`HeadraceRunner`: a pipeline of Apache Beam's as a job of headrace's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.pipeline import Pipeline
from apache_beam.runners.runner import PipelineResult, PipelineRunner, PipelineState

from headrace.definitions import arguments
from headrace.errors import pointing_at, user_line
from headrace.fronts.beam import elements
from headrace.fronts.beam.translating import Translation
from headrace.fronts.stream import Stream
from headrace.job import Job
from headrace.planning.recipe import Output
from headrace.planning.table import Mode
from headrace.planning.triggers import Trigger, finish
from headrace.run.running import Running


class HeadraceResult(PipelineResult):  # type: ignore[misc]
    """What `pipeline.run()` gives: of a pipeline with an end, that it has run; of another one, a hold on it."""

    def __init__(self, running: Running | None) -> None:
        super().__init__(PipelineState.DONE if running is None else PipelineState.RUNNING)
        self.running = running

    def wait_until_finish(self, duration: int | None = None) -> str:
        """Until it ends, or for so many milliseconds; its state."""
        if self.running is not None and self.running.wait(None if duration is None else duration / 1000):
            self._state = PipelineState.DONE
        return str(self._state)

    def cancel(self) -> None:
        """Stop it: the batch under way is completed and saved."""
        if self.running is not None:
            self.running.stop()
            self._state = PipelineState.CANCELLED


class HeadraceRunner(PipelineRunner):  # type: ignore[misc]
    """Runs pipelines on Spark: `with beam.Pipeline(runner=HeadraceRunner()) as p: …`.

    mode        "batch" (default), "micro-batch" or "real-time". Real time goes from a stream of Kafka's to one, with one GroupByKey.
    name        the job's
    trigger, checkpoint   those of a `Job`. Without a trigger, a pipeline whose sources all have an end runs to that.
    """

    def __init__(
        self, mode: Mode = "batch", *, name: str = "beam", trigger: Trigger | str | None = None, checkpoint: str | Path | None = None
    ) -> None:
        super().__init__()
        self.mode: Mode = arguments.one_of("HeadraceRunner: mode", mode, ("batch", "micro-batch", "real-time"))  # type: ignore[assignment]
        self.name, self.trigger, self.checkpoint = name, trigger, checkpoint

    def is_fnapi_compatible(self) -> bool:
        """As Beam asks: functions are called here, not by its harness."""
        return False

    def run_pipeline(self, pipeline: Pipeline, options: PipelineOptions) -> HeadraceResult:  # noqa: ARG002 - as Beam calls it
        """Run it, to its end if it has one."""
        with pointing_at(user_line()):
            outputs = Translation(pipeline, self._elements, self._ends).outputs
            ends = all(self._ends(output) for output in outputs)
            trigger = self.trigger or (finish if ends and self.mode == "micro-batch" else None)
            job = Job(self.name, *outputs, trigger=trigger, checkpoint=self.checkpoint)
            if ends:
                job.run(self.mode)
                return HeadraceResult(None)
            return HeadraceResult(job.start(self.mode))

    def _ends(self, stream: Stream | Output) -> bool:
        return self.mode == "batch" or all(source.kind == "memory" for source in stream.step.sources())

    def _elements(self, stream: Stream) -> list[Any]:
        """The elements of a side input: a batch of its own, before the job."""
        output = stream.select("value").to.memory("side")
        Job(f"{self.name}-side", output).run("batch")
        return [elements.unpacked(bytes(row["value"])) for row in output.sink.rows]  # type: ignore[attr-defined]
