"""From bytes to records: what is valid goes on, what is not becomes a dead letter with its reason, its bytes and its place.

    decoded = decode(kafka, schema="id STRING NOT NULL, amount DOUBLE NOT NULL, note STRING")
    checked = check(decoded, {"out_of_range:amount": F.col("amount") <= 0})
    good, bad = valid(checked), dead_letters(checked)

`decode` and `check` keep every row, good or bad, so one pass over the bytes can feed both outputs. Their rows have the columns `record` (a
struct; null if the bytes are not one), `reason` (null exactly if the row is valid), `raw` (the bytes as they came) and the place: `topic`,
`partition`, `offset` and `timestamp`, as far as the source has them. No state. All modes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, BooleanType, StringType, StructType

from headrace.decoding import formats
from headrace.decoding.formats import Format
from headrace.decoding.times import Times
from headrace.definitions import refusals, schemas
from headrace.errors import DefinitionError, user_line

PLACE = ("topic", "partition", "offset", "timestamp")
"""Where a record stood in its log; kept by `decode` as far as the source has it."""

_LETTER = {"topic": "string", "partition": "int", "offset": "bigint"}


def decode(
    df: DataFrame,
    column: str = "value",
    *,
    format: Format = "json",
    schema: schemas.Schema | Mapping[str, schemas.Schema] | None = None,
    tag: str | None = None,
    separator: str = ",",
    keep: Sequence[str] = (),
    times: Times | None = None,
) -> DataFrame:
    """Decode the bytes (or string) in `column`; other columns than the place are dropped unless `keep` names them.

    A field is required if it cannot be null (`schemas.schema`). Of the reasons below a record gets the first that applies; fields are
    looked at in the order of the schema, nested ones by their path (`missing:address.city`).

    json   One object in UTF-8; fields that are not in the schema are ignored, of a name that occurs twice the last counts.
           `not_json`          null, empty, broken, followed by more, not UTF-8, or not an object
           `unknown_<tag>`     with `tag`, and `schema` a dict from its values to schemas: the record's field `tag` is none of them. The
                               record has the fields of all kinds, and null in those that are not its own.
           `missing:<field>`   required, and absent, null or an empty string
           `bad_type:<field>`  not of the type: numbers are JSON numbers in the range of the type (integers without point or exponent,
                               decimals with no more digits than it has), never NaN or Infinity; dates `YYYY-MM-DD`; timestamps
                               `YYYY-MM-DDTHH:MM:SS` with `T` or one space, up to six decimals, and `Z`, `±HH:MM` or nothing, which is UTC;
                               bytes in base64; anything wrong within an array or map
    csv    One line, its cells in the order of the fields, `separator` between them. An empty cell is null, `""` an empty string.
           `not_csv` (broken quotes, other number of cells, not UTF-8), then as for JSON.
    avro   One datum and nothing else, without a header, written with the Avro schema (JSON text or a dict) in `schema`. `not_avro`.
    raw    The bytes as they are, in the field `value`; nothing is refused.

    In JSON and CSV `times` declares times that are written in another way: one form for all timestamps, or {field: form}, nested fields by
    their path (`order.placed`), what is in an array or map by the name of that.

    "epoch_seconds", "epoch_millis", "epoch_micros"
           A number since 1970-01-01 UTC, negative before; in JSON never in quotes. It may have decimals and an exponent; what is finer
           than a microsecond is cut off (rounded down). What is outside the years 1 to 9999 is of the wrong type: such are milliseconds
           of our days that are taken for seconds.
    a pattern, such as "dd/MM/yyyy HH:mm", "yyyyMMddHHmmss" or "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"
           Text, all of it, by Spark's pattern for `to_timestamp`; in UTC if it has no zone, and zero what it does not tell of the time.
           A date may have one, too.
    "iso"  As above: the form of a field that declares none.

    Bounds that a class declares (pydantic's `Field(gt=0)`, `Annotated[float, Gt(0)]`) refuse what is outside as `out_of_range:<field>`.
    """
    _require(df, column)
    outcome = formats.outcome(F.col(f"`{column}`"), format, schema, tag=tag, separator=separator, times=times)
    names = [name for name in (*PLACE, *keep) if name in df.columns]
    _refuse_missing(df, keep)
    _refuse_clash(names, ("record", "reason", "raw"))
    place = [F.col(f"`{name}`") for name in dict.fromkeys(names)]
    decoded = df.select(outcome.alias("decoded"), F.col(f"`{column}`").cast("binary").alias("raw"), *place)
    return check(decoded.select("decoded.record", "decoded.reason", "raw", *place), formats.out_of_range(schema, tag=tag))


def check(df: DataFrame, reasons: Mapping[str, Column | str]) -> DataFrame:
    """Refuse decoded records for more reasons: each a condition, over the fields of the record and its place, that a bad record meets.

    Of several that apply the first counts; a record that was refused already keeps its reason; a condition that is null is not met.

        check(decoded, {"out_of_range:amount": F.col("amount") <= 0, "unknown_currency": "currency NOT IN ('SEK', 'EUR')"})
    """
    _refuse_undecoded(df)
    if not reasons:
        return df
    whole = F.struct(*(F.col(f"`{name}`") for name in df.columns)).alias("__whole")
    fields = [field.name for field in _record(df)]
    place = [name for name in PLACE if name in df.columns and name not in fields]
    flat = df.select(whole, *_fields(df), *place)
    conditions = {reason: _condition(flat, reason, F.expr(given) if isinstance(given, str) else given) for reason, given in reasons.items()}
    first = F.coalesce(F.col("__whole.reason"), *(F.when(condition, F.lit(reason)) for reason, condition in conditions.items()))
    return flat.select(*(first.alias(name) if name == "reason" else F.col("__whole").getField(name).alias(name) for name in df.columns))


def valid(df: DataFrame, *, keep: Sequence[str] = ()) -> DataFrame:
    """The valid records of a decoded DataFrame, one column a field, and those columns of it that `keep` names (`["offset"]`)."""
    _refuse_undecoded(df)
    _refuse_missing(df, keep)
    fields = _fields(df)
    _refuse_clash(keep, [field.name for field in _record(df)])
    return df.where(F.col("reason").isNull()).select(*fields, *(F.col(f"`{name}`") for name in keep))


def dead_letters(df: DataFrame) -> DataFrame:
    """The refused records of a decoded DataFrame: `reason`, `raw`, and `topic`, `partition`, `offset`, null where the source has none."""
    _refuse_undecoded(df)
    place = [(F.col(name) if name in df.columns else F.lit(None)).cast(of).alias(name) for name, of in _LETTER.items()]
    return df.where(F.col("reason").isNotNull()).select("reason", "raw", *place)


def _condition(flat: DataFrame, reason: str, condition: Column) -> Column:
    try:
        type_of_condition = flat.select(condition.alias("met")).schema["met"].dataType
    except AnalysisException as error:
        fields = {name: kind for name, kind in refusals.types([flat]).items() if name != "__whole"}
        what, fix = refusals.words(error, fields)
        raise _refuse(f"check {reason!r}: {what}", fix) from None
    if not isinstance(type_of_condition, BooleanType):
        raise _refuse(
            f"check {reason!r} is {type_of_condition.simpleString()} and no condition", "give an expression that is true for a bad record"
        )
    return condition


def _record(df: DataFrame) -> StructType:
    kind = df.schema["record"].dataType
    assert isinstance(kind, StructType)
    return kind


def _fields(df: DataFrame) -> list[Column]:
    return [F.col("record").getField(field.name).alias(field.name) for field in _record(df)]


def _require(df: DataFrame, column: str) -> None:
    _refuse_missing(df, [column])
    kind = df.schema[column].dataType
    if not isinstance(kind, BinaryType | StringType):
        raise _refuse(f"{column} is {kind.simpleString()}; bytes or a string can be decoded", "name the column that holds the bytes")


def _refuse_missing(df: DataFrame, names: Iterable[str]) -> None:
    for name in names:
        if name not in df.columns:
            raise _refuse(f"there is no column {name}", f"use one of: {', '.join(df.columns)}")


def _refuse_clash(names: Iterable[str], taken: Sequence[str]) -> None:
    for name in names:
        if name.lower() in {other.lower() for other in taken}:
            raise _refuse(f"two columns would be named {name}", "rename that column before decoding")


def _refuse_undecoded(df: DataFrame) -> None:
    if not {"record", "reason", "raw"} <= set(df.columns) or not isinstance(df.schema["record"].dataType, StructType):
        raise _refuse("these are no decoded records", "decode them first; valid() and dead_letters() take what decode() and check() give")


def _refuse(what: str, fix: str) -> DefinitionError:
    return DefinitionError(what, fix=fix, where=user_line())
