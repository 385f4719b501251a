"""The shapes in which one operator can be executed, and one call that runs it in all of them.

batch              the whole input as a batch job
one-batch          the whole input as one micro-batch
record-per-batch   a micro-batch for every record
random-cuts(seed)  micro-batches cut at random places
finish             three micro-batches, and then the end of the input, as the trigger `finish` brings it about
real-time          from topic to topic on a real broker, in real-time mode
restarted          the same from a topic of two partitions, stopped in the middle and started again

    for shape, result in run(operator, rows, schema).items():
        assert_table(result, '''...''')
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import accumulate, pairwise
from typing import Any, TypedDict, Unpack

from pyspark.sql import DataFrame, SparkSession

from headrace.spark.session import session
from headrace.testing import realtime
from headrace.testing.microbatches import MicroBatches, Operator, OutputMode, configured
from headrace.testing.results import Result
from headrace.testing.tables import Rows, Schema, table


@dataclass(frozen=True)
class Trial:
    """An operator and the input on which to try it.

    `latest_by` says that the operator puts out updates of a table with these key columns, so that only the last row of a key counts (an
    aggregation, which a stream puts out again at every change). `closing` are rows that only streams are given, after the input, to move
    the watermark past it: a batch job knows where its input ends, a stream does not (unless it is finished).
    """

    operator: Operator
    rows: Rows
    schema: Schema | None = None
    latest_by: tuple[str, ...] = ()
    closing: Rows | None = None
    output_mode: OutputMode = "update"
    partitions: int = 2
    spark: SparkSession = field(default_factory=session)

    @cached_property
    def _table(self) -> DataFrame:
        return table(self.spark, self.rows, self.schema)

    @cached_property
    def records(self) -> Any:
        """The input as the `java.util.List` that `MicroBatches.push` takes parts of."""
        return self._table._jdf.collectAsList()

    @cached_property
    def input(self) -> DataFrame:
        """The input as a batch DataFrame of one partition, so that arrival order is defined."""
        return self.frame(self.records)

    def frame(self, records: Any) -> DataFrame:
        """Some of the records as a batch DataFrame of one partition."""
        return DataFrame(self.spark._jsparkSession.createDataFrame(records, self._table._jdf.schema()), self.spark).coalesce(1)

    @cached_property
    def given(self) -> Result:
        """The input as it is shown, and its keys are counted."""
        return Result.of(self.input)

    def parts(self, number: int) -> list[Any]:
        """The records in so many parts of about the same size."""
        cuts = [self.records.size() * i // number for i in range(number + 1)]
        return [self.records.subList(start, end) for start, end in pairwise(cuts)]

    def stream(self) -> MicroBatches:
        """The operator as a running query that waits for its first micro-batch."""
        schema = self.input.schema
        return MicroBatches(self.operator, schema, spark=self.spark, output_mode=self.output_mode, partitions=self.partitions)

    def step(self, stream: MicroBatches, part: Any) -> None:
        """Run one micro-batch, a second after the one before: an operator that looks at the clock shall be found out."""
        stream.clock.advance("1 second")
        stream.push(part)

    def close(self, stream: MicroBatches) -> Result:
        """What comes out of a stream after its input: nothing, or what the closing rows and the watermark that they move let out."""
        return stream.feed(self.closing) + stream.tick() if self.closing is not None else stream.nothing

    def read(self, result: Result) -> Result:
        """The result as it counts: every row, or the last of each key."""
        return result.latest_by(self.latest_by) if self.latest_by else result


class Options(TypedDict, total=False):
    """What can be said of a trial by keyword; see `Trial`."""

    latest_by: tuple[str, ...]
    closing: Rows | None
    output_mode: OutputMode
    partitions: int
    spark: SparkSession


@dataclass(frozen=True)
class Shape:
    """A way to execute an operator; compares and prints by its name."""

    name: str
    execute: Callable[[Trial], Result] = field(compare=False, repr=False)

    def run(self, operator: Operator, rows: Rows, schema: Schema | None = None, **options: Unpack[Options]) -> Result:
        """What `operator` makes of `rows` in this shape. Options: see `Trial`."""
        trial = Trial(operator, rows, schema, **options)
        return trial.read(self.execute(trial))

    def __str__(self) -> str:
        return self.name


def _batch(trial: Trial) -> Result:
    with configured(trial.spark, {"spark.sql.shuffle.partitions": str(trial.partitions)}):
        return Result.of(trial.operator(trial.input))


def _micro_batches(trial: Trial, sizes: Callable[[int], Iterator[int]]) -> Result:
    """Run the trial in micro-batches of the sizes that `sizes` gives for a number of records."""
    ends = list(accumulate(sizes(trial.records.size()), initial=0))
    parts = [trial.records.subList(start, end) for start, end in pairwise(ends)]
    with trial.stream() as stream:
        for part in parts or trial.parts(1):  # no records at all make one empty batch
            trial.step(stream, part)
        return stream.output() + trial.close(stream)


def _finish(trial: Trial) -> Result:
    with trial.stream() as stream:
        for part in trial.parts(3):
            trial.step(stream, part)
        return stream.output() + stream.finish()


def _real_time(trial: Trial, *, inputs: int, runs: int) -> Result:
    parts = [trial.frame(part) for part in trial.parts(runs)]
    closing = None if trial.closing is None else table(trial.spark, trial.closing, trial.input.schema)
    return realtime.run(
        trial.spark, trial.operator, parts, closing, output_mode=trial.output_mode, partitions=trial.partitions, inputs=inputs
    )


def _random_sizes(seed: int) -> Callable[[int], Iterator[int]]:
    def sizes(total: int) -> Iterator[int]:
        chance = random.Random(seed)
        while total > 0:
            size = chance.randint(1, min(total, 4))
            total -= size
            yield size

    return sizes


def random_cuts(seed: int) -> Shape:
    """Micro-batches of one to four records, cut as the seed says."""
    return Shape(f"random-cuts({seed})", lambda trial: _micro_batches(trial, _random_sizes(seed)))


def in_parts(number: int) -> Shape:
    """So many micro-batches of about the same size."""
    return Shape(f"in-parts({number})", lambda trial: _micro_batches(trial, lambda _: (part.size() for part in trial.parts(number))))


BATCH = Shape("batch", _batch)
ONE_BATCH = Shape("one-batch", lambda trial: _micro_batches(trial, lambda total: iter([total])))
RECORD_PER_BATCH = Shape("record-per-batch", lambda trial: _micro_batches(trial, lambda total: iter([1] * total)))
MICRO_BATCH: tuple[Shape, ...] = (ONE_BATCH, RECORD_PER_BATCH, random_cuts(8))  # a seed that makes something between them of three records
FINISH = Shape("finish", _finish)
REAL_TIME = Shape("real-time", partial(_real_time, inputs=1, runs=1))
RESTARTED = Shape("restarted", partial(_real_time, inputs=2, runs=2))
"""Real time again: from two partitions, rows with the same first column from the same one, and with a restart in the middle."""
ALL: tuple[Shape, ...] = (BATCH, *MICRO_BATCH, FINISH, REAL_TIME, RESTARTED)


def run(
    operator: Operator, rows: Rows, schema: Schema | None = None, *, shapes: Sequence[Shape] = ALL, **options: Unpack[Options]
) -> dict[Shape, Result]:
    """What `operator` makes of `rows` in each of the shapes. Options: see `Trial`."""
    return {shape: shape.run(operator, rows, schema, **options) for shape in shapes}
