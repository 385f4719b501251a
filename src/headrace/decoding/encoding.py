"""Records back to bytes, so that `decode` reads the same values again."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

TIME_FORMATS = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"}
"""Options for Spark's JSON and CSV writers, whose own formats stop at the millisecond."""


def json(record: Column) -> Column:
    """A struct as a JSON string: times with microseconds, in UTC with `Z` where they are instants; nulls written; bytes in base64.

    A double that is NaN or infinite has no form in JSON: Spark writes it as a string, which is not read back as a number.
    """
    return F.to_json(record, {"ignoreNullFields": "false", **TIME_FORMATS})
