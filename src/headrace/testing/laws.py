"""What every operator must obey, however it is executed. Each law raises `BrokenLawError` and says on which input.

    same_in_every_shape                 batch, micro-batches however cut, and real-time give the same rows
    restart_loses_and_repeats_nothing   a stream that stops or crashes in the middle goes on as if it had not
    state_stays_within                  what is kept for a key does not outgrow its stated bound
    bears_nulls_and_nothing             no input, null keys and null values neither fail nor break the first law
    conserves_records                   each record comes out once: taken, late or refused

    laws.check(operator, rows, schema, bound=Bound(keys=("customer",)))      # all but the last, which must know records by an id

For each there are operators that it must reject, in `headrace.testing.broken`. An exemption is a shape's or a law's name, with a reason:

    laws.check(sessions, rows, schema, exempt={"real-time": "Spark has no session windows there"})
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Unpack

from pyspark.sql import Row

from headrace.errors import DefinitionError, SetupError, user_line
from headrace.testing import shapes as every
from headrace.testing.cells import exact
from headrace.testing.microbatches import Operator
from headrace.testing.results import Result, difference
from headrace.testing.shapes import Options, Shape, Trial
from headrace.testing.states import kept_characters, kept_rows
from headrace.testing.tables import Rows, Schema, table

Exemptions = Mapping[str, str]


class BrokenLawError(AssertionError):
    """Which `law` an operator broke, `how`, and on which `given` rows."""

    def __init__(self, law: str, how: str, given: Result) -> None:
        self.law, self.how, self.given = law, how, given
        super().__init__(f"{law}: {how}\non the input\n{given}")


@dataclass(frozen=True)
class Bound:
    """What an operator may keep: so many rows of state for each distinct value of `keys`, and so many characters for any one of them.

    Characters are those of the state's values written as JSON: not what they take in the store, but they grow alike.
    """

    keys: tuple[str, ...]
    rows_per_key: float = 1
    characters_per_key: int | None = None


def same_in_every_shape(
    operator: Operator,
    rows: Rows,
    schema: Schema | None = None,
    *,
    shapes: Sequence[Shape] = every.ALL,
    exempt: Exemptions | None = None,
    **options: Unpack[Options],
) -> None:
    """The same rows, as a multiset, in every shape: equal to the last bit, none more, none less."""
    _same("same_in_every_shape", Trial(operator, rows, schema, **options), shapes, exempt)


def restart_loses_and_repeats_nothing(
    operator: Operator, rows: Rows, schema: Schema | None = None, *, against: Shape = every.BATCH, **options: Unpack[Options]
) -> None:
    """A stream in three parts, stopped after the first and killed between sink and commit after the second, gives what `against` gives.

    The part whose commit was lost is run again: its rows must be those that the sink already has, or an exactly-once sink, which skips what
    it has, would keep the wrong ones.
    """
    law, trial = "restart_loses_and_repeats_nothing", Trial(operator, rows, schema, **options)

    def same(what: str, want: Result, got: Result, titles: tuple[str, str]) -> None:
        differing = difference(want, got, titles=titles)
        if differing:
            raise BrokenLawError(law, f"{what}, {differing}", trial.given)

    with _blamed(law, against.name, trial):
        whole = trial.read(against.execute(trial))
    with _blamed(law, "restarting", trial), trial.stream() as stream:
        first, second, third = trial.parts(3)
        trial.step(stream, first)
        output = stream.output()
        same("after the stop", stream.nothing, stream.restart(), ("before", "again"))
        trial.step(stream, second)
        part = stream.output()
        same("after the crash", part, stream.restart(crashed=True), ("before", "again"))
        trial.step(stream, third)
        output += part + stream.output() + trial.close(stream)
    same("in all", whole, trial.read(output), (against.name, "restarted"))


def state_stays_within(operator: Operator, rows: Rows, schema: Schema | None = None, *, bound: Bound, **options: Unpack[Options]) -> None:
    """After each of three micro-batches the state is within its bound. Give many more rows than keys, or nothing is shown."""
    law, trial = "state_stays_within", Trial(operator, rows, schema, **options)
    read = 0
    with _blamed(law, "running", trial), trial.stream() as stream:
        for part in trial.parts(3):
            trial.step(stream, part)
            read += part.size()
            keys = {exact(tuple(row[key] for key in bound.keys)) for row in trial.given.rows[:read]}
            kept, allowed = kept_rows(stream), bound.rows_per_key * len(keys)
            if kept > allowed:
                how = f"{kept} rows of state for {len(keys)} keys after {read} records, where {allowed} are allowed"
                raise BrokenLawError(law, how, trial.given)
            if bound.characters_per_key is not None:
                size = kept_characters(trial.spark, stream.checkpoint)
                if size > bound.characters_per_key:
                    how = f"{size} characters of state for one key after {read} records, where {bound.characters_per_key} are allowed"
                    raise BrokenLawError(law, how, trial.given)


def bears_nulls_and_nothing(
    operator: Operator,
    rows: Rows,
    schema: Schema | None = None,
    *,
    shapes: Sequence[Shape] = (every.BATCH, every.in_parts(2)),
    exempt: Exemptions | None = None,
    **options: Unpack[Options],
) -> None:
    """The first law for no rows at all, and for the first row with each column null in turn, then one of only nulls, then itself.

    Not in real time, unless asked for: that takes seconds, and what an operator makes of a null it makes there of the same columns.
    """
    trial = Trial(operator, rows, schema, **options)
    structure, full = trial.input.schema, trial.input.first()
    if full is None:
        raise DefinitionError("this law needs a row to put nulls into", fix="give at least one", where=user_line())
    holes = [Row(*structure.names)(*(None if i == hole else value for i, value in enumerate(full))) for hole in range(len(full))]
    empty = Row(*structure.names)(*[None] * len(full))
    for odd_rows in ([], [*holes, empty, full]):
        _same("bears_nulls_and_nothing", replace(trial, rows=odd_rows, schema=structure), shapes, exempt)


def conserves_records(
    operator: Operator,
    rows: Rows,
    schema: Schema | None = None,
    *,
    id: str,
    ids: Callable[[Row], Iterable[Any]],
    shapes: Sequence[Shape] = every.ALL,
    exempt: Exemptions | None = None,
    **options: Unpack[Options],
) -> None:
    """Each record is in exactly one row that comes out, whatever its port: taken, late or refused. Which it is may depend on the shape.

    `id` is the column by which a record is known, `ids` gives those of the records that a row stands for. Give records that are late and
    records that are bad, or little is shown.
    """
    law, trial = "conserves_records", Trial(operator, rows, schema, **options)
    expected = Counter(row[id] for row in trial.given.rows)
    closing = () if trial.closing is None else table(trial.spark, trial.closing, trial.input.schema).collect()
    for shape in _without(shapes, exempt):
        with _blamed(law, shape.name, trial):
            result = trial.read(shape.execute(trial))
        out = Counter(one for row in result.rows for one in ids(row))
        for row in closing:
            out.pop(row[id], None)
        if out != expected:
            lost, more = sorted((expected - out).elements(), key=repr), sorted((out - expected).elements(), key=repr)
            raise BrokenLawError(law, f"{shape.name}: lost {lost}, came out once too often {more}", trial.given)


def check(
    operator: Operator,
    rows: Rows,
    schema: Schema | None = None,
    *,
    bound: Bound | None = None,
    exempt: Exemptions | None = None,
    **options: Unpack[Options],
) -> None:
    """Every law; that on state if a `bound` is stated."""
    exempt = exempt or {}
    if "same_in_every_shape" not in exempt:
        same_in_every_shape(operator, rows, schema, exempt=exempt, **options)
    if "restart_loses_and_repeats_nothing" not in exempt:
        restart_loses_and_repeats_nothing(operator, rows, schema, **options)
    if bound is not None:
        state_stays_within(operator, rows, schema, bound=bound, **options)
    if "bears_nulls_and_nothing" not in exempt:
        bears_nulls_and_nothing(operator, rows, schema, exempt=exempt, **options)


def _same(law: str, trial: Trial, shapes: Sequence[Shape], exempt: Exemptions | None) -> None:
    first: tuple[Shape, Result] | None = None
    for shape in _without(shapes, exempt):
        with _blamed(law, shape.name, trial):
            result = trial.read(shape.execute(trial))
        if first is None:
            first = (shape, result)
        differing = difference(first[1], result, titles=(first[0].name, shape.name))
        if differing:
            raise BrokenLawError(law, differing, trial.given)


def _without(shapes: Sequence[Shape], exempt: Exemptions | None) -> list[Shape]:
    """The shapes that no exemption names; each exemption has a reason."""
    if not all(reason.strip() for reason in (exempt or {}).values()):
        raise DefinitionError("an exemption has no reason", fix="say why the operator cannot obey", where=user_line())
    return [shape for shape in shapes if shape.name not in (exempt or {})]


@contextmanager
def _blamed(law: str, doing: str, trial: Trial) -> Iterator[None]:
    try:
        yield
    except (BrokenLawError, SetupError):
        raise
    except Exception as error:
        raise BrokenLawError(law, f"{doing} failed: {error}", trial.given) from error
