"""What another stream said last of the same key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from headrace.definitions import arguments
from headrace.errors import DefinitionError, user_line
from headrace.ops import merging
from headrace.ops.features.feature import Feature
from headrace.ops.features.remembering import Context, Field, Parts


def latest(other: Any, *columns: str, by: str | None = None) -> Feature:
    """The newest values of `columns` in another stream of the same key (a struct): the last that arrived before this record, or the one
    with the greatest `by` (equal ones: the last that arrived). Null as long as none has come.

    The two streams have no order between them but that of arrival: within a micro-batch the other stream's records are taken first, and a
    batch takes *all* of them first, so without event time the modes differ. With `event_time` a record finds what had been said up to its
    own time (equal times: the other stream's come first), in every mode and however the records arrive. Time is then what both streams
    have reached: one that is silent holds up the other. What comes later than that from the other stream is left out.
    To take only some of its records, filter the other stream. State: the columns, once.
    """
    if not columns:
        raise DefinitionError(
            "latest: no column is named", fix='name those to remember: latest(locations, "lat", "lon")', where=user_line()
        )
    source = merging.Other(other, tuple(dict.fromkeys(arguments.names("latest", (*columns, *([by] if by is not None else []))))))

    def define(context: Context) -> Parts:
        incoming = context.merged.incoming(source)
        values = F.struct(*[incoming[name].alias(name) for name in columns])
        fields = {"value": context.type_of(values)} | ({"by": context.type_of(incoming[by])} if by else {})

        def update(field: Field) -> Mapping[str, Column]:
            if by is None:
                return {"value": values}
            newer = incoming[by].isNotNull() & (field("by").isNull() | (incoming[by] >= field("by")))
            return {"value": F.when(newer, values).otherwise(field("value")), "by": F.when(newer, incoming[by]).otherwise(field("by"))}

        return Parts(fields, update, lambda field: field("value"))

    return Feature(define, other=source)
