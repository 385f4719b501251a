"""A stream's recipe: steps, each a function from DataFrames to a DataFrame, with sources at the far end.

The mode is chosen when a job runs, so a stream cannot hold a DataFrame of its own. It holds the last `Step` of a recipe, from which the
batch, the micro-batch and the real-time DataFrame are all built. Each step also has a *preview*: the recipe so far over an empty stream of
the right columns. Spark analyses it at once, so a mistake is found at the line that makes it, and the preview's plan tells what the step is
made of, whoever wrote it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headrace.definitions import arguments
from headrace.errors import DefinitionError, pointing_at, unknown_name, user_line
from headrace.io.connectors import Sink, Source
from headrace.kernel import casts, origins
from headrace.kernel.python.mapping import led_past
from headrace.ops.windows import final
from headrace.planning import plans
from headrace.planning.table import Row, of_operator
from headrace.spark import failures


@dataclass(frozen=True, eq=False, repr=False)
class Step:
    """One link of a recipe. Two steps are equal only if they are one object.

    row     its row in the table of modes, which an operator of headrace names; a user's own function has none
    state   what its checkpoint depends on: keys and types
    beside  the steps that have the records which this one leaves out, by the name of their port: dead letters, late ones
    """

    operator: str
    preview: DataFrame
    where: str | None
    parents: tuple[Step, ...] = ()
    apply: Callable[..., DataFrame] | None = None
    source: Source | None = None
    row: Row | None = None
    state: Mapping[str, Any] = field(default_factory=dict)
    beside: Mapping[str, Step] = field(default_factory=dict)

    @cached_property
    def kinds(self) -> list[str]:
        """The kinds of Spark's operators from this step up to its sources, the last first. Asking costs a run of the optimiser."""
        return plans.kinds(self.preview)

    @cached_property
    def own_kinds(self) -> list[str]:
        """The kinds of Spark's operators of this step itself, not of those before it."""
        before = Counter(kind for parent in self.parents for kind in parent.kinds)
        return list((Counter(self.kinds) - before).elements())

    @cached_property
    def stateful(self) -> bool:
        """Whether this step itself, not one before it, keeps something between records."""
        if self.source is not None:
            return False
        return self.row.stateful if self.row is not None else any(kind in plans.STATEFUL for kind in self.own_kinds)

    def ancestry(self) -> list[Step]:
        """All steps down to this one, sources first, each once."""
        seen: dict[Step, None] = {}

        def visit(step: Step) -> None:
            if step not in seen:
                for parent in step.parents:
                    visit(parent)
                seen[step] = None

        visit(self)
        return list(seen)

    def trunk(self) -> list[Step]:
        """The steps down to this one from its source, or from the last place where streams meet."""
        steps = [self]
        while len(steps[-1].parents) == 1:
            steps.append(steps[-1].parents[0])
        return steps[::-1]

    def sources(self) -> Iterator[Source]:
        return (step.source for step in self.ancestry() if step.source is not None)


@dataclass(frozen=True, eq=False, repr=False)
class Output:
    """The end of a recipe: a stream, and where it goes. `stream.to.…` gives one, and `Job` takes it; `sink` is where its rows are."""

    step: Step
    sink: Sink
    where: str | None

    @property
    def name(self) -> str:
        return self.sink.name

    if not TYPE_CHECKING:  # a type checker shall go on to find wrong names by itself

        def __getattr__(self, name: str) -> NoReturn:
            raise unknown_name("an output", name, ["name", "sink"], _HINTS)

    def __repr__(self) -> str:
        return " → ".join([*(step.operator for step in self.step.ancestry()), f"to.{self.sink.kind}({self.name})"])


_HINTS = dict.fromkeys(("run", "start"), 'give it to a job: Job("name", output).run()') | dict.fromkeys(
    ("rows", "collect", "show"), "the rows of .to.memory() are output.sink.rows, after the job has run"
)


def begin(spark: SparkSession, source: Source) -> Step:
    """The first step: a source."""
    where, operator = user_line(), f"read.{source.kind}"
    with pointing_at(where), failures.of_definition(operator, where, []):
        return Step(operator, _empty_stream(spark, source.schema()), where, source=source)


def grow(
    operator: str,
    apply: Callable[..., DataFrame],
    *parents: Step,
    row: str | None = None,
    state: Mapping[str, Any] | None = None,
    beside: Mapping[str, Step] | None = None,
) -> Step:
    """The step after `parents`; DefinitionError at the user's line if Spark cannot analyse it."""
    where, previews = user_line(), [parent.preview for parent in parents]
    with failures.of_definition(operator, where, previews):
        preview = apply(*previews)
    if not isinstance(preview, DataFrame):
        raise DefinitionError(
            f"{operator} gave {arguments.shown(preview)}, not a DataFrame", fix="return the DataFrame: lambda df: df.where(…)", where=where
        )
    casts.check(operator, preview, previews)
    return Step(
        operator, preview, where, parents, apply, row=None if row is None else of_operator(row), state=state or {}, beside=beside or {}
    )


def end(step: Step, sink: Sink) -> Output:
    """The last step: a sink."""
    where = user_line()
    with failures.of_definition(f"to.{sink.kind}", where, [step.preview]):
        casts.check(f"to.{sink.kind}", sink.shape(step.preview), [step.preview])
    return Output(step, sink, where)


def check_origins(step: Step, at: str) -> None:
    """DefinitionError if what a row was made of cannot be told of each row: which step it is that hides it, and why."""
    with led_past():
        if origins.refusal(previewed(step)) is None:
            return
        refused = next(each for each in step.ancestry() if origins.refusal(previewed(each)) is not None)
        raise DefinitionError(
            f"{at}: a row of {refused.operator} has none by itself ({refused.where}): {origins.refusal(previewed(refused))}",
            fix=f'write one of your own, of columns that are the same when the row is made again: {at}=["customer", "start"]',
            where=user_line(),
        )


def check_sources(outputs: Sequence[Output]) -> None:
    """Raise JobError, at the line that reads it, for the first source that is not there."""
    for step in dict.fromkeys(step for output in outputs for step in output.step.ancestry()):
        if step.source is not None:
            with pointing_at(step.where):
                step.source.check()


class Frames:
    """The DataFrames of some recipes, for one query. A step that they share is built once, so a source that they share is read once.

    Windows behind which another step keeps something put out each row once, when it is final: that step would take each change of a row for
    a record more.

    `known` starts in the middle: what comes before a step whose DataFrame is given is not built.
    """

    def __init__(self, open: Callable[[Source], DataFrame], known: Mapping[Step, DataFrame] | None = None) -> None:
        self._open, self._made = open, dict(known or {})

    def __getitem__(self, step: Step) -> DataFrame:
        return self._made_for(step, ())

    def _made_for(self, step: Step, behind: tuple[Step, ...]) -> DataFrame:
        if step not in self._made:
            self._made[step] = self._build(step, behind)
        return self._made[step]

    def _build(self, step: Step, behind: tuple[Step, ...]) -> DataFrame:
        if step.source is not None:
            return self._open(step.source)
        assert step.apply is not None
        parents = [self._made_for(parent, (step, *behind)) for parent in step.parents]
        ends = step.row is not None and "window" in step.row.operators and step.state["window"]["timed"]
        with final() if ends and any(each.stateful for each in behind) else nullcontext():
            return step.apply(*parents)


def previewed(step: Step) -> DataFrame:
    """The preview of a step, made anew: for a job whose output mode changes what its operators are."""
    sources = {each: each.preview for each in step.ancestry() if each.source is not None}
    return Frames(lambda source: _empty_stream(SparkSession.active(), source.schema()), sources)[step]


def _empty_stream(spark: SparkSession, schema: StructType) -> DataFrame:
    """No rows, but a streaming plan: watermarks, duplicates and joins are analysed as they will be when the job runs."""
    jvm, context = spark._jvm, spark.sparkContext._jsc
    assert jvm is not None
    rows = context.sc().emptyRDD(jvm.scala.reflect.ClassTag.apply(jvm.java.lang.Class.forName("org.apache.spark.sql.catalyst.InternalRow")))
    columns = jvm.org.apache.spark.sql.types.DataType.fromJson(schema.json())
    return DataFrame(spark._jsparkSession.internalCreateDataFrame(rows, columns, True), spark)
