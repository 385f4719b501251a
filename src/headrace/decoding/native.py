"""Bytes to `struct<record, reason>` as one native expression: the record, or the reason why there is none.

Runs in every mode, real-time included: it is an expression of a projection. It never throws, and decodes a record once however often the
result is used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pyspark.sql import Column, SparkSession
from pyspark.sql.avro.functions import from_avro
from pyspark.sql.classic.column import Column as ClassicColumn
from pyspark.sql.types import StructType

from headrace.kernel import jvm

Forms = Mapping[str, str]
"""How times are written, by the field's path: "epoch_seconds", "epoch_millis", "epoch_micros" or a pattern. Else as ISO 8601 has it."""


def json(column: Column, schema: StructType, times: Forms | None = None) -> Column:
    """One JSON object. Reasons: `not_json`, `missing:<field>`, `bad_type:<field>`; the first that applies, fields in their order."""
    return ClassicColumn(_scala().json(jvm.java_column(column), schema.json(), dict(times or {})))


def tagged_json(column: Column, schema: StructType, tag: str, kinds: Mapping[str, StructType], times: Forms | None = None) -> Column:
    """One JSON object of several kinds: its field `tag` says which, and it answers for the fields of that kind only; others are null.

    `schema` has the fields of all kinds. Reasons: those of `json`, and `unknown_<tag>` directly behind `not_json`.
    """
    of_kinds = {name: kind.json() for name, kind in kinds.items()}
    return ClassicColumn(_scala().tagged(jvm.java_column(column), schema.json(), tag, of_kinds, dict(times or {})))


def csv(column: Column, schema: StructType, separator: str, times: Forms | None = None) -> Column:
    """One line of CSV. Reasons: `not_csv`, `missing:<field>`, `bad_type:<field>`."""
    return ClassicColumn(_scala().csv(jvm.java_column(column), schema.json(), separator, dict(times or {})))


def time_fault(pattern: str) -> str | None:
    """What is wrong with a pattern for times; None if nothing is."""
    fault = _scala().timeFault(pattern)
    return None if fault is None else re.sub(r"^\[[A-Z_.]+\] |\s*SQLSTATE: \w+$", "", str(fault)).rstrip(".")


def avro(column: Column, schema: str) -> Column:
    """One Avro datum, read with the schema (JSON text) that it was written with. Reason: `not_avro`."""
    sound = ClassicColumn(_scala().soundAvro(jvm.java_column(column), schema))
    read = from_avro(sound, schema, {"mode": "FAILFAST"})
    return ClassicColumn(_scala().attempt(jvm.java_column(read), "not_avro"))


def _scala() -> Any:
    return jvm.package(SparkSession.active()).Decoding
