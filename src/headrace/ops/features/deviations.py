"""How unusual a value is for its key: features that compare it with those before."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F

from headrace.definitions import arguments
from headrace.errors import DefinitionError, user_line
from headrace.kernel.folds import Fold
from headrace.ops.expressions import let
from headrace.ops.features.feature import Feature
from headrace.ops.features.remembering import Context, Field, Parts


def zscore(column: Column | str, *, last: int | None = None) -> Feature:
    """How many standard deviations a value is above the mean of those before it: of all records of the key, or of the `last` so many.
    Null if fewer than two were before, if they were all equal, or if the value is null; nulls are skipped.

        value  2     4     6     6
        score  null  null  2.12  1.0      # (6 - 3) / 1.41, (6 - 4) / 2

    The deviation is that of a sample, as `F.stddev` has it. State: five numbers, or the last n values.
    """
    value = arguments.column("zscore", column).cast("double")
    if last is not None:
        return _of_last("zscore", value, last, least=2, define=_score)

    def define(context: Context) -> Parts:
        folds = {"m": Fold(context.df, F.avg(value)), "s": Fold(context.df, F.stddev(value))}
        names = {part: [f"{part}{i}" for i in range(len(fold.initial))] for part, fold in folds.items()}

        def update(field: Field) -> dict[str, Column]:
            after = {part: fold.update([field(name) for name in names[part]], fold.inputs) for part, fold in folds.items()}
            return {name: new for part in folds for name, new in zip(names[part], after[part], strict=True)}

        def score(field: Field) -> Column:
            mean, deviation = (folds[part].result([field(name) for name in names[part]]) for part in folds)
            return F.when(deviation > 0, (value - mean) / deviation)

        first = {name: start for part, fold in folds.items() for name, start in zip(names[part], fold.initial, strict=True)}
        return Parts(first, update, score)

    return Feature(define, (value,))


def median_deviation(column: Column | str, *, last: int) -> Feature:
    """The median of the `last` so many values before this one, and the median of their distances from it: a struct of `median` and
    `deviation`, which a few wild values do not move. Both are null before the first value; nulls are skipped. Of an even number of
    values the median is the mean of the two in the middle.

        value      1     2         4         100       3
        median     null  1.0       1.5       2.0       3.0
        deviation  null  0.0       0.5       1.0       1.5

    A value is usually called an outlier if it is more than three times 1.4826 deviations from the median. State: the last n values.
    """
    value = arguments.column("median_deviation", column).cast("double")

    def define(_: Column, values: Column) -> Column:
        def around(median: Column) -> Column:
            distances = F.transform(values, lambda each: F.abs(each - median))
            return F.struct(median.alias("median"), _median(distances).alias("deviation"))

        return let(_median(values), around)

    return _of_last("median_deviation", value, last, least=0, define=define)


def _of_last(name: str, value: Column, n: int, *, least: int, define: Callable[[Column, Column], Column]) -> Feature:
    """A feature of the last so many values before this one that are not null; null if there are fewer than `least`."""
    if not isinstance(n, int) or isinstance(n, bool) or n < max(least, 1):
        raise DefinitionError(
            f"{name}: last is {arguments.shown(n)}", fix=f"give a whole number from {max(least, 1)} on", where=user_line()
        )

    def parts(_: Context) -> Parts:
        def update(field: Field) -> dict[str, Column]:
            others = F.when(F.size(field("values")) >= n, F.slice(field("values"), 2, n - 1) if n > 1 else F.array().cast("array<double>"))
            return {"values": F.when(value.isNull(), field("values")).otherwise(F.array_append(others.otherwise(field("values")), value))}

        def result(field: Field) -> Column:
            deviation = define(value, field("values"))
            return F.when(F.size(field("values")) >= least, deviation) if least else deviation

        return Parts({"values": F.array().cast("array<double>")}, update, result)

    return Feature(parts, (value,))


def _score(value: Column, values: Column) -> Column:
    def scored(mean: Column) -> Column:
        squares = F.aggregate(values, F.lit(0.0), lambda total, each: total + (each - mean) * (each - mean))
        deviation = F.sqrt(squares / (F.size(values) - 1))
        return F.when(squares > 0, (value - mean) / deviation)

    return let(F.aggregate(values, F.lit(0.0), lambda total, each: total + each) / F.size(values), scored)


def _median(values: Column) -> Column:
    """Null of none."""
    size = F.size(values)
    low, high = F.floor((size - 1) / 2).cast("int"), F.floor(size / 2).cast("int")
    return let(F.sort_array(values), lambda sorted_values: (F.get(sorted_values, low) + F.get(sorted_values, high)) / 2)
