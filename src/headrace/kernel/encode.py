"""Records back to bytes, so that `decode` reads the same values again."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

_JSON = {
    "ignoreNullFields": "false",
    # Spark's own formats stop at the millisecond.
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


def json(record: Column) -> Column:
    """A struct as a JSON string: times with microseconds, in UTC with `Z` where they are instants; nulls written; bytes in base64.

    A double that is NaN or infinite has no form in JSON: Spark writes it as a string, which is not read back as a number.
    """
    return F.to_json(record, _JSON)
