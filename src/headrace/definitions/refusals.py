"""Spark's refusal of what a program defines, in words: what is wrong, and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

_UNKNOWN_COLUMN = ("UNRESOLVED_COLUMN", "UNRESOLVED_FIELD", "COLUMN_NOT_FOUND")
_EXPRESSION = re.compile(r"[^\w.` ]|\s")

# By the beginning of Spark's name for it: what Spark says (None: in its own words), and what to do. Both may name what Spark names.
_WORDS: dict[str, tuple[str | None, str]] = {
    "AMBIGUOUS_REFERENCE": (None, "rename one of the columns before: F.col('name').alias('other'); or drop one"),
    "ATTRIBUTE_NOT_SUPPORTED": ("a DataFrame has no '{attr_name}'", "{nearest_method}"),
    "CANNOT_CONVERT_COLUMN_INTO_BOOL": (
        "a column is used where a name or a truth value is wanted",
        "give the column's name, 'amount'; in a condition write &, | and ~ for and, or and not, with each comparison in brackets",
    ),
    "CANNOT_PARSE_INTERVAL": (None, "write a duration like '10 minutes'"),
    "COLUMN_ALREADY_EXISTS": (None, "rename one of the columns: F.col('name').alias('other')"),
    "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN": (None, "give a condition: a column that is true or false, such as F.col('amount') > 3"),
    "DATATYPE_MISMATCH": (None, "cast what does not fit, such as F.col('amount').cast('double'). The columns here are {columns}"),
    "EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE": (
        "{eventName} is of type {eventType}, but a timestamp is needed",
        "make it one before: with_columns({eventName}=F.to_timestamp('{eventName}')), or name another. The columns here are {columns}",
    ),
    "INCOMPATIBLE_COLUMN_TYPE": (
        "the {columnOrdinalNumber} column is {dataType1} in one of the two and {dataType2} in the other",
        "cast that column in one of the two: with_columns(n=F.col('n').cast('int'))",
    ),
    "INVALID_EXTRACT_BASE_FIELD_TYPE": (None, "name a field of a struct or map, or a column itself. The columns here are {columns}"),
    "INVALID_WHERE_CONDITION": (
        "a condition looks at one record, and cannot hold an aggregate or a window",
        "compute it before: key_by('key').with_features(largest=running(F.max('amount'))).where('amount > largest')",
    ),
    "MISSING_AGGREGATION": (
        "{expression} is neither an aggregate nor a key",
        "say which of the group's values is wanted: F.max(…), F.last(…) or another aggregate of it; or name it in key_by",
    ),
    "MISSING_ATTRIBUTES": (
        "{missingAttributes} is a column of another DataFrame",
        "name columns with F.col('name'): one that is written df.name belongs to that DataFrame alone. The columns here are {columns}",
    ),
    "MISSING_GROUP_BY": (
        "an aggregate of many records stands where each record has a value of its own",
        "for one row a key write key_by('key').agg(…); for the value so far beside each record, key_by('key').with_features(x=running(…))",
    ),
    "NESTED_AGGREGATE_FUNCTION": (None, "aggregate once, and compute with the result in a select after it"),
    "NOT_EXPECTED_TYPE": (None, "a column is F.col('name') or its name, a value F.lit(5), and an expression in text F.expr('n + 1')"),
    "PARSE_SYNTAX_ERROR": (None, "mend the expression or the schema; a schema reads like 'name string, amount double'"),
    "TABLE_OR_VIEW_NOT_FOUND": (
        "there is no table or view {relationName}",
        "make it, table.createOrReplaceTempView('name'), or give the DataFrame itself",
    ),
    "UNRESOLVED_ROUTINE": ("there is no function {routineName}", "{nearest_function}"),
    "UNSUPPORTED_DATATYPE": (None, "use one of Spark's types, such as string, int, bigint, double, boolean, date, timestamp"),
    "UNSUPPORTED_GENERATOR": (None, "explode in a select of its own: select(F.explode('list').alias('item')), and compute in the next"),
    "WINDOW_FUNCTION_WITHOUT_OVER_CLAUSE": (
        "{funcName} looks at other records, and a stream is not sorted",
        "use a feature: key_by('key').with_features(x=previous('amount')), or running, last_n, within",
    ),
    "WRONG_NUM_ARGS": (None, "give it as many arguments as the message says"),
}

_STREAMING_SOURCE = "Queries with streaming sources"
_NO_ROWS = "a stream has no rows while it is defined: no count, collect or show; `stream.show()` has them"


def words(error: PySparkException, columns: Mapping[str, str]) -> tuple[str, str]:
    """What is wrong, and the fix. `columns` are those that the program could name, with their types."""
    condition, parameters = error.getCondition() or "", error.getMessageParameters() or {}
    if condition.startswith(_UNKNOWN_COLUMN):
        return _unknown_column(parameters, list(columns))
    if condition.startswith("UNRESOLVED_USING_COLUMN_FOR_JOIN"):
        return _unknown_key(parameters)
    if _STREAMING_SOURCE in str(error):
        return "it asks for the rows of a stream", _NO_ROWS
    typed = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    known = next((known for sign, known in _WORDS.items() if condition.startswith(sign)), None)
    if known is None:
        return first_line(str(error)), _search(condition, typed)
    what, fix = known
    names = {name: str(value).replace("`", "") for name, value in parameters.items()} | {"columns": typed}
    return what.format_map(_Named(names)) if what else first_line(str(error)), fix.format_map(_Named(names))


def types(frames: Sequence[DataFrame]) -> dict[str, str]:
    """The columns of some DataFrames, each with its type."""
    return {field.name: field.dataType.simpleString() for frame in frames for field in frame.schema}


def first_line(text: str) -> str:
    """What Spark says, without its error class, plan or trace, and without its advice: we have our own."""
    text = re.sub(r"\s*SQLSTATE: \w+|;(?: line \d+ pos \d+;?)?$", "", text.strip().split("\n")[0])
    return re.sub(r"^\[[A-Z0-9_.]+\]\s*| (?:Correct the value|Use [`']try_|If necessary set).*$", "", text)


class _Named(dict[str, str]):
    """What the words may name, by its name: what Spark says of this error, or what is nearest to it."""

    def __missing__(self, name: str) -> str:
        match name:
            case "nearest_method":
                return _nearest(self.get("attr_name", ""), dir(DataFrame), "look it up among the methods of PySpark's DataFrame")
            case "nearest_function":
                return _nearest(self.get("routineName", ""), dir(F), "look it up among Spark's functions, or write a column with F.…")
        return "it"


def _unknown_column(parameters: Mapping[str, str], columns: list[str]) -> tuple[str, str]:
    named = parameters.get("objectName", parameters.get("colName", parameters.get("fieldName", "?")))
    name = named.replace("`", "").removeprefix("record.")
    columns = columns or [column.strip("` ") for column in parameters.get("proposal", "").split(",")]
    what, here = f"there is no column {name!r}", f"The columns here are {', '.join(columns)}"
    if "," in name:
        return what, f"name columns one by one, each in quotes. {here}"
    if _EXPRESSION.search(name):
        return what, f"a text is the name of a column here; an expression is F.expr({name!r}). {here}"
    near = get_close_matches(name, columns, n=1) or [column for column in columns if column.removeprefix("state.") == name]
    return what, f"did you mean {near[0]!r}? {here}" if near else f"name one that there is. {here}"


def _unknown_key(parameters: Mapping[str, str]) -> tuple[str, str]:
    side = {"left": "the stream", "right": "the other side"}.get(parameters.get("side", ""), "one side")
    columns = parameters.get("suggestion", "").strip("[]").replace("`", "")
    return (
        f"{side} has no column {parameters.get('colName', '?').strip('`')!r}",
        f"join by columns that both have, renamed before if need be. The columns there are {columns}",
    )


def _nearest(name: str, names: Sequence[str], otherwise: str) -> str:
    near = get_close_matches(name, [each for each in names if not each.startswith("_")], n=1)
    return f"did you mean {near[0]!r}?" if near else otherwise


def _search(condition: str, columns: str) -> str:
    named = f"look up {condition} in Spark's list of error conditions" if condition else "look the message up in Spark's documentation"
    return f"{named}. The columns here are {columns or 'none'}"
