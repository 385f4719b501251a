"""All features of a key as fields of one state row, in one scan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headrace.definitions import arguments, durations
from headrace.errors import DefinitionError, user_line
from headrace.kernel import casts
from headrace.kernel.event_time import watermarked
from headrace.kernel.ports import Port
from headrace.kernel.scan import LATE, promise, scan_with_values
from headrace.ops import merging
from headrace.ops.features import mentions
from headrace.ops.features.feature import Feature
from headrace.ops.features.remembering import Context

ANSWERS, QUESTION_ID = "answers", "id"


def with_features(
    df: DataFrame,
    *,
    keys: str | Sequence[str],
    features: Mapping[str, Feature],
    others: Sequence[DataFrame] | None = None,
    time: str | None = None,
    order: str | Sequence[str] = (),
    event_time: str | None = None,
    delay: str = "0 seconds",
    wait: bool = True,
    idle: str | None = None,
    asked: DataFrame | None = None,
) -> DataFrame:
    """Every record of `df` with the features of its key, in one scan. `time` is the column that `within` and `seen_before` measure by.
    `others` are the tables of the streams that `latest` names, one for each, where it does not name a table itself. The other options are
    those of `scan`.

    `asked` are questions, with the key and an `id`: the result then also has the port `answers`, a row for each question, with its `id`,
    the key, and the features as they are at that moment. A question changes nothing. What a feature measures from the record's own columns
    (`since`, `within`), it measures from nulls."""
    check_options(time=time, order=order, event_time=event_time, delay=delay, idle=idle)
    durations.delay(delay, "with_features: delay")
    if not features:
        raise DefinitionError(
            "with_features: no feature is given", fix='name some: with_features(largest=running(F.max("amount")))', where=user_line()
        )
    names = arguments.names("with_features: key", keys)
    if clash := sorted(set(features) & set(df.columns)):
        raise DefinitionError(f"the records have a column '{clash[0]}' already", fix="give the feature another name", where=user_line())
    named = others_of(features)
    tables = [other.df for other in named] if others is None else list(others)
    question = _question(asked, event_time)
    if question is not None:
        named, tables = [*named, question], [*tables, question.df]
    for table in tables:
        merging.check(table, DataFrame, "a DataFrame, as the records are")
    ordered_by = [order] if isinstance(order, str) else list(order)
    if event_time:  # each stream has a watermark of its own: the slower one is not late because the other is ahead
        df, *tables = (watermarked(each, event_time, delay) for each in (df, *tables))
    merged = merging.merge(df, names, list(zip(named, tables, strict=True)), [*([event_time] if event_time else []), *ordered_by])
    fields = _Fields(merged, time or event_time, by_event_time=event_time is not None and wait)
    between = mentions.among(df, features)
    for name in between.order:
        fields.add(name, features[name], mentioning=name in between.mentioning, mentioned=name in between.mentioned)
    result = scan_with_values(
        fields.df, keys=names, values=fields.promised,
        options={
            "state": {field: fields.state[field] for name in features for field in fields.of[name]},
            "update": fields.update,
            "output": [*(merging.named(name, of="record") for name in df.columns), *(fields.values[name].alias(name) for name in features)],
            "when": merged.comes_from(None),
            "ports": {} if question is None else {ANSWERS: _answers(merged, question, names, fields, features)},
            "order": [*ordered_by, merged.stream] if event_time and named else ordered_by,
            "event_time": event_time, "delay": delay, "wait": wait, "idle": idle,
        },
    )  # fmt: skip
    return _own_late_records(result, df, merged) if event_time and named else result


def _question(asked: DataFrame | None, event_time: str | None) -> merging.Other | None:
    if asked is not None and event_time is not None:
        raise DefinitionError(
            "with_features: asked: a question has no event time, so it would wait for ever",
            fix="leave out event_time; or ask a job that reads what this one puts out",
            where=user_line(),
        )
    return None if asked is None else merging.Other(asked, (QUESTION_ID,))


def _answers(
    merged: merging.Merged, question: merging.Other, keys: Sequence[str], fields: _Fields, features: Mapping[str, Feature]
) -> Port:
    known = (fields.values[name].alias(name) for name in features)
    output = [merged.incoming(question)[QUESTION_ID].alias(QUESTION_ID), *(merging.named(key, of="record") for key in keys), *known]
    return Port(output=output, when=merged.comes_from(question))


class _Fields:
    """The fields of one state row, feature by feature. `df` has the records, and each feature that another one mentions as a column that
    `promised` has the meaning of."""

    def __init__(self, merged: merging.Merged, time: str | None, *, by_event_time: bool) -> None:
        self.merged, self.time, self.by_event_time, self.df = merged, time, by_event_time, merged.df
        self.of: dict[str, list[str]] = {}
        self.state: dict[str, Any] = {}
        self.update: dict[str, Column] = {}
        self.values: dict[str, Column] = {}
        self.promised: dict[str, Column] = {}

    def add(self, name: str, feature: Feature, *, mentioning: bool, mentioned: bool) -> None:
        """One feature more, after those that it mentions."""
        origin = self.merged.comes_from(feature.other)
        counts = origin if feature.condition is None else feature.condition if origin is None else origin & feature.condition
        if feature.inclusive:
            _check_condition(name, feature, self.df)
        seen = self.df if mentioning else self.merged.df  # so that `*` is the record and nothing else
        parts = feature.define(Context(self.merged, seen, self.time, counts, self.by_event_time))

        def before(field: str) -> Column:
            return merging.named(f"{name}__{field}", of="state")

        after = {
            field: new if counts is None else F.when(counts, new).otherwise(before(field)) for field, new in parts.update(before).items()
        }
        self.of[name] = [f"{name}__{field}" for field in parts.state]
        self.state |= {f"{name}__{field}": first for field, first in parts.state.items()}
        self.update |= {f"{name}__{field}": new for field, new in after.items()}
        self.values[name] = parts.value(after.__getitem__ if feature.inclusive and not parts.sees_itself else before)
        if mentioned:
            self.df = promise(self.df, self.state, name, self.values[name])
            self.promised[name] = self.values[name]
        if not feature.inclusive:
            _check_condition(name, feature, self.df)  # which may mention the feature itself


def others_of(features: Mapping[str, Feature]) -> list[merging.Other]:
    """The other streams that the features look at, one for each `latest`."""
    for name, feature in features.items():
        if not isinstance(feature, Feature):
            raise DefinitionError(
                f"with_features: '{name}' is {_shown(feature)}, and no feature",
                fix='make it one, such as running(F.max("amount")) or previous("amount")', where=user_line(),
            )  # fmt: skip
    return [feature.other for feature in features.values() if feature.other is not None]


def _check_condition(name: str, feature: Feature, df: DataFrame) -> None:
    if feature.condition is None:
        return
    selected = df.select(feature.condition)
    kind = selected.schema[0].dataType
    casts.check(f"only: the condition of '{name}'", selected, [df])
    if not isinstance(kind, T.BooleanType):
        raise DefinitionError(
            f"only: the condition of '{name}' is of type {kind.simpleString()}, and is not true or false",
            fix='write a comparison: .only("amount > 3")', where=user_line(),
        )  # fmt: skip


def _own_late_records(result: DataFrame, df: DataFrame, merged: merging.Merged) -> DataFrame:
    """The result without the late records of other streams, and without the columns that only the merging needed."""
    own = F.struct(*[merging.named(name, of=LATE).alias(name) for name in df.columns])
    ours = result.where(F.col(LATE).isNull() | merged.is_of(None, F.col(f"{LATE}.{merged.stream}")))
    return ours.withColumn(LATE, F.when(F.col(LATE).isNotNull(), own))


def check_options(*, order: Any, **texts: Any) -> None:
    """Features are given by name, so one that is named like an option would be taken for it."""
    wrong = {name: value for name, value in texts.items() if not isinstance(value, str | None)}
    if isinstance(order, Feature | Column) or not all(isinstance(name, str) for name in order):
        wrong["order"] = order
    for name, value in wrong.items():
        raise DefinitionError(
            f"with_features: the option '{name}' is {_shown(value)}, but a text is needed",
            fix="give the feature another name" if isinstance(value, Feature) else "give it as text", where=user_line(),
        )  # fmt: skip


def _shown(value: Any) -> str:
    return (
        "a feature"
        if isinstance(value, Feature)
        else f"a {type(value).__name__} ({value})"
        if isinstance(value, Column)
        else arguments.shown(value)
    )
