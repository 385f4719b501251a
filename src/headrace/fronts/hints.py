"""What to write instead of a name that is not there: most who look for one know it from Spark's DataFrame."""

from __future__ import annotations

from pyspark.sql import DataFrame

from headrace.errors import DefinitionError, unknown_name, user_line

_ROWS = "a stream has no rows while it is defined: end it with .to.memory(), run a job of that, and read output.sink.rows"
_END = "use .to.kafka(…), .to.files(…), .to.memory() or .to.callback(function)"

_RANKED = ("top", "changes", "distinct", "sample", "rate_limit")

_STREAM = {
    **dict.fromkeys(("collect", "first", "take", "toPandas", "toLocalIterator", "toArrow", "isEmpty"), _ROWS),
    **dict.fromkeys(("groupBy", "groupby", "group_by"), 'use key_by("key").agg(F.sum("amount"))'),
    "agg": 'use key_by("key").agg(…); key_by().agg(…) is over all records',
    "count": 'use key_by("key").agg(F.count("*")); key_by().agg(…) is over all records',
    **dict.fromkeys(("withColumn", "withColumns", "with_column"), 'use with_columns(double=F.col("amount") * 2)'),
    **dict.fromkeys(("unionByName", "unionAll"), "use union(other)"),
    **dict.fromkeys(("dropDuplicates", "drop_duplicates", "dropDuplicatesWithinWatermark"), 'use key_by("id").distinct(within="1 hour")'),
    "withWatermark": 'use event_time("at", "10 minutes")',
    "selectExpr": 'use select(F.expr("amount * 2").alias("double"))',
    **dict.fromkeys(("write", "writeStream", "writeTo", "sink"), _END),
    **dict.fromkeys(("foreach", "foreachBatch", "foreachPartition"), "use .to.callback(function), which gets each batch as a DataFrame"),
    "flatMap": 'use flat_map(function, …), or explode a column: select(F.explode("words"))',
    "apply": 'compute columns: select(F.upper("name")); or use map(function, …) where it must be Python',
    **dict.fromkeys(("run", "start"), 'give it an end, and run a job of that: Job("name", stream.to.memory()).run()'),
    **{name: f'use key_by("key").{name}(…)' for name in ("with_features", "match", "scan", "scan_python", "table", "with_rules", *_RANKED)},
    "add": "only a stream of hr.read.memory(…) takes rows from the program",
}
_AGGREGATES = {name: f'use agg(F.{name}("amount"))' for name in ("sum", "min", "max", "avg", "mean")} | {"count": 'use agg(F.count("*"))'}
_KEYED = _AGGREGATES | {
    "filter": "use where(…) before key_by",
    **dict.fromkeys(("applyInPandas", "transformWithState", "applyInPandasWithState"), "use scan_python(…)"),
}
_WINDOWS = {
    **dict.fromkeys(("tumble", "fixed", "window"), 'use hr.tumbling("10 minutes")'),
    **dict.fromkeys(("hop", "hopping", "slide"), 'use hr.sliding("10 minutes", "5 minutes")'),
    "cumulate": 'use hr.cumulating("1 hour", "1 day")',
    **dict.fromkeys(("session_window", "gap"), 'use hr.sessions("5 minutes")'),
    **dict.fromkeys(("count", "count_window", "delta"), "use hr.until(records=1000), hr.until(delta=('price', 5))"),
}
_WINDOWED = _AGGREGATES | {"key_by": 'name the keys in window(…, by=["key"])'}


def of_stream(stream: object, name: str) -> AttributeError:
    """For a name that a stream does not have."""
    step = vars(stream).get("step")  # which a stream that is being copied has not yet
    if step is not None and name in step.preview.columns:
        return unknown_name("a Stream", name, [], {name: f'a column is F.col("{name}")'})
    spark = {name: f"use then(lambda df: df.{name}(…))"} if callable(getattr(DataFrame, name, None)) else {}
    return unknown_name("a Stream", name, _public(type(stream)), spark | _STREAM)


def of_column(name: object) -> DefinitionError:
    """For `stream["name"]`."""
    return DefinitionError("a Stream has columns by name, and no values of them", fix=f"a column is F.col({name!r})", where=user_line())


def of_keyed(keyed: object, name: str, stream: type) -> AttributeError:
    """For a name that a stream by key does not have; it may be one of a `stream`."""
    of_all = {each: f"use {each} before key_by, or behind agg, with_features or scan" for each in _public(stream)}
    return unknown_name("a stream by key", name, _public(type(keyed)), of_all | _KEYED)


def of_windowed(windowed: object, name: str) -> AttributeError:
    """For a name that a stream in windows does not have."""
    return unknown_name("a stream in windows", name, _public(type(windowed)), _WINDOWED)


def of_to(to: object, name: str) -> AttributeError:
    """For an end that a stream cannot have."""
    known = {each: f'use .to.files(path, format="{each}")' for each in ("parquet", "json", "csv", "text")}
    return unknown_name("`.to`", name, _public(type(to)), known)


def of_read(name: str, names: list[str]) -> AttributeError:
    """For what streams cannot be read from."""
    known = {each: f'use hr.read.files(path, format="{each}", schema=…)' for each in ("parquet", "json", "csv", "text")}
    return unknown_name("`hr.read`", name, names, known)


def of_headrace(name: str, names: list[str], read: list[str]) -> AttributeError:
    """For a name that the package does not have."""
    known = (
        {each: f"use hr.read.{each}(…)" for each in read}
        | {"col": "it is Spark's: from pyspark.sql import functions as F; F.col"}
        | _WINDOWS
    )
    return unknown_name("`headrace`", name, names, known)


def _public(of: type) -> list[str]:
    return [name for name in dir(of) if not name.startswith("_") and name != "step"]
