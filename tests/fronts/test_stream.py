"""A stream is a recipe: its columns are known at once, and a mistake is found at the line that makes it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import headrace as hr
from headrace.errors import DefinitionError
from headrace.fronts.stream import Stream
from headrace.io.receiver import Receiver


@pytest.fixture(scope="module")
def orders(spark: SparkSession) -> Stream:  # noqa: ARG001
    return hr.read.memory("customer string, amount double, at timestamp")


@pytest.fixture(scope="module")
def prices(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([("ann", 1.0)], "customer string, discount double")


def test_a_stream_shows_its_columns(orders: Stream) -> None:
    assert repr(orders) == "Stream[customer: string, amount: double, at: timestamp]"
    assert orders.columns == ["customer", "amount", "at"]


class Nothing(Receiver):
    """A source without records."""

    schema = "n int"

    def end(self) -> int:
        return 0

    def read(self, start: int, end: int) -> list[tuple[int]]:  # noqa: ARG002
        return []


def _count() -> Column:
    return F.count("*").alias("n")


def _passed_on() -> dict[str, Any]:
    """A scan that gives the records as they are."""
    return {"state": {"n": F.lit(0)}, "update": {}, "output": ["record.*"]}


def _waited(stream: Stream) -> Stream:
    return stream.key_by("customer").scan(**_passed_on(), event_time="at")


def _timed(stream: Stream) -> Stream:
    return stream.event_time("at", "1 hour")


def _other(stream: Stream) -> Stream:
    return _timed(stream).drop("amount").rename(at="seen")


STEPS: dict[str, tuple[Callable[[Stream, DataFrame], Stream], list[str]]] = {
    "select": (lambda s, _: s.select("customer", F.col("amount") * 2), ["customer", "(amount * 2)"]),
    "where keeps the columns": (lambda s, _: s.where("amount > 1").select("customer"), ["customer"]),
    "with_columns adds": (lambda s, _: s.with_columns(double=F.col("amount") * 2), ["customer", "amount", "at", "double"]),
    "drop": (lambda s, _: s.drop("at", "amount"), ["customer"]),
    "union": (lambda s, _: s.union(s.where("amount > 1")), ["customer", "amount", "at"]),
    "join brings the table's columns": (lambda s, t: s.join(t, "customer").drop("at"), ["customer", "amount", "discount"]),
    "join of streams brings the other's columns": (
        lambda s, _: _timed(s).join(_other(s), "customer", "full", between=("-1 day", "0 seconds")), ["customer", "amount", "at", "seen"]),
    "rename": (lambda s, _: s.rename(at="t", amount="at"), ["customer", "at", "t"]),
    "semi join brings none": (lambda s, t: s.join(t, on=["customer"], how="semi"), ["customer", "amount", "at"]),
    "then takes any function, with arguments": (lambda s, _: s.then(DataFrame.withColumnRenamed, "at", "t"), ["customer", "amount", "t"]),
    "key_by.agg": (lambda s, _: s.key_by("customer").agg(F.max("amount").alias("most")), ["customer", "most"]),
    "window": (lambda s, _: s.window(hr.tumbling("1 hour"), by=["amount"], on="at").agg(_count()), ["start", "end", "amount", "n"]),
    "window over event time": (lambda s, _: s.event_time("at", "0 days").window(hr.sessions("1 day")).agg(_count()), ["start", "end", "n"]),
}  # fmt: skip


@pytest.mark.parametrize("step", STEPS)
def test_columns_after(step: str, orders: Stream, prices: DataFrame) -> None:
    build, columns = STEPS[step]
    assert build(orders, prices).columns == columns


MISTAKES: dict[str, tuple[Callable[[Stream, DataFrame], object], str, str]] = {
    "an unknown column": (lambda s, _: s.select("custmer"), "select: there is no column 'custmer'", "did you mean 'customer'?"),
    "an unknown column in a condition": (lambda s, _: s.where("amout > 1"), "where: there is no column 'amout'", "did you mean 'amount'?"),
    "an unknown column to drop": (lambda s, _: s.drop("x"), "drop: there is no column 'x'", "customer, amount, at"),
    "an unknown key": (lambda s, _: s.key_by("x"), "key_by: there is no column 'x'", "customer, amount, at"),
    "an unknown key of a topic": (lambda s, _: s.to.kafka("t", key="x"), "to.kafka: there is no column 'x'", "customer, amount, at"),
    "an unknown partition column": (lambda s, _: s.to.files("d", partition_by="x"), "to.files: there is no column 'x'", "customer, amount"),
    "a column that the table lacks": (lambda s, t: s.join(t, "amount"), "join: there is no column 'amount' there", "The columns there are"),
    "a condition that is none": (lambda s, _: s.where("customer"), "is not a boolean", "a column that is true or false"),
    "an expression that does not parse": (lambda s, _: s.where("amount >"), "where: Syntax error", "mend the expression"),
    "a type that does not fit": (lambda s, _: s.select(F.explode("customer")), "data type mismatch", ""),
    "columns that do not match": (lambda s, _: s.union(s.drop("at")), "union: ", ""),
    "an event time that is no time": (lambda s, _: s.event_time("customer", "1 hour"), "event_time: ", ""),
    "a delay that is none": (lambda s, _: s.event_time("at", "soon"), "event_time: ", ""),
    "a window without a time": (lambda s, _: s.window(hr.tumbling("1 hour")), "not known which column is the time", ".event_time("),
    "a window behind a scan by the clock": (
        lambda s, _: s.event_time("at", "1 hour").key_by("customer").scan(**_passed_on(), idle="1 day").window(hr.tumbling("1 hour")),
        "not known which column is the time", ".event_time("),
    "an event time behind a scan that waits for one": (
        lambda s, _: _waited(s).event_time("at", "1 hour"),
        "event_time: the records come from a scan by event time that waits", "leave it out"),
    "an event time behind a scan that waits for one and one by the clock": (
        lambda s, _: _waited(s).key_by("customer").scan(**_passed_on(), idle="1 day").event_time("at", "1 hour"),
        "event_time: the records come from a scan by event time that waits", "another job"),
    "a key that is no name": (lambda s, _: s.key_by(F.col("customer")), "key_by: Column<'customer'> is a column, and not", "with_columns("),  # type: ignore[arg-type]
    "a scan without a key": (lambda s, _: s.key_by().scan(**_passed_on()), "scan: key: there is none", ""),
    "a table for another stream": (
        lambda s, t: s.key_by("customer").with_features(d=hr.latest(t, "discount")), "latest: the other stream is a DataFrame", "hr.read"),
    "a number for a duration": (lambda s, _: s.key_by("customer").scan(**_passed_on(), idle=60), "60 is not a duration", "'10 seconds'"),  # type: ignore[misc]
    "a type for the state of a Python function": (
        lambda s, _: s.key_by("at").scan_python(state="int", function=print, output="n int"), "'int' is a type and no record", "write"),
    "no schema for the state of a Python function": (
        lambda s, _: s.key_by("customer").scan_python(state={"n": "int"}, function=print, output="n int"), "is no schema", "write 'n int"),  # type: ignore[arg-type]
    "an unknown kind of join": (lambda s, t: s.join(t, "customer", how="outer"), "how='outer'", "inner, left, semi, anti"),
    "a join by no key": (lambda s, t: s.join(t, []), "join: on names no column", "on="),
    "a join that would have a column twice": (
        lambda s, t: s.with_columns(discount=F.lit(1)).join(t, "customer"), "join: both have a column 'discount'", '.rename(discount="…")'),
    "a bound of time for a table": (
        lambda s, t: s.join(t, "customer", between=("0 seconds", "1 day")), "`between` is for two streams", "leave it out"),
    "a full join with a table": (lambda s, t: s.join(t, "customer", how="full"), "how='full'", "inner, left, semi, anti"),
    "an outer join of streams without a bound": (
        lambda s, _: s.join(_other(s), "customer", how="left"), "how='left' of two streams needs a bound of time", "between=("),
    "a bound for a stream without a time": (
        lambda s, _: s.join(_other(s), "customer", between=("0 days", "1 day")), "which column of this stream is the time", ".event_time("),
    "a bound for another stream without a time": (
        lambda s, _: _timed(s).join(s.select("customer"), "customer", between=("0 days", "1 day")), "column of the other stream", ".event"),
    "a bound that is one duration": (
        lambda s, _: _timed(s).join(_other(s), "customer", between="1 day"), "between='1 day' is no pair of durations", 'between=("-5'),  # type: ignore[arg-type]
    "a bound that is none": (
        lambda s, _: _timed(s).join(_other(s), "customer", between=("0 s", "1 day")), "between: '0 s' is not a duration", "'10 seconds'"),
    "a bound that ends before it begins": (
        lambda s, _: _timed(s).join(_other(s), "customer", between=("1 day", "-1 day")), "the second is earlier", "the earlier one first"),
    "an anti join of streams": (
        lambda s, _: _timed(s).join(_other(s), "customer", how="anti"), "how='anti' of two streams needs a bound of time", "between="),
    "a key that the other stream lacks": (
        lambda s, _: s.join(_other(s), "amount"), "join: there is no column 'amount' there", "The columns there are customer, seen"),
    "an unknown column to rename": (lambda s, _: s.rename(x="y"), "rename: there is no column 'x'", "customer, amount, at"),
    "a name that is taken": (lambda s, _: s.rename(at="amount"), "rename: there would be two columns 'amount'", "another name"),
    "an action in a function": (
        lambda s, _: s.then(lambda df: df.limit(df.count())), "then(<lambda>): it asks for the rows of a stream", "no count"),
    "a function that gives no DataFrame": (lambda s, _: s.then(lambda df: df.columns), "not a DataFrame", "return"),
    "an aggregate for a feature": (
        lambda s, _: s.key_by("customer").with_features(top=F.max("amount")), "'top' is a Column", "running("),
    "a feature named like an option": (
        lambda s, _: s.key_by("customer").with_features(delay=hr.since("at")), "the option 'delay' is a feature", "another name"),
    "dead letters of a stream without a schema": (lambda s, _: s.dead_letters, "dead letters", "`read`"),
    "files of an unknown format": (lambda s, _: s.to.files("d", format="orc"), "format 'orc'", "json, csv, parquet"),
    "a schema that does not parse": (lambda *_: hr.read.memory("a strin g"), "is no DDL", "write "),
    "JSON files without a schema": (lambda *_: hr.read.files("d", format="json"), "schema of the json files in d is not given", "schema="),
    "neither topic nor pattern": (lambda *_: hr.read.kafka(), "topics or a pattern", 'read.kafka("orders")'),
    "a position that is none": (lambda *_: hr.read.kafka("t", start="newest"), "start='newest'", '"latest"'),
    "an address among the options": (
        lambda *_: hr.read.kafka("t", options={"kafka.bootstrap.servers": "h:1"}), "address is among the options", 'servers="host:port"'),
    "an empty address": (lambda s, _: s.to.kafka("t", servers=""), "the cluster's address is empty", "HEADRACE_KAFKA"),
    "a pattern that is none": (lambda *_: hr.read.kafka(pattern="*orders"), "pattern='*orders' is no regular expression: Dangling", ".*"),
    "a format without a schema": (lambda *_: hr.read.kafka("t", format="avro"), "format='avro' is for records that are decoded", "schema="),
    "a tag without a schema": (lambda *_: hr.read.kafka("t", tag="type"), "tag='type' is for records that are decoded", "schema="),
    "columns to keep without a schema": (lambda *_: hr.read.kafka("t", keep=["offset"]), "keep=['offset'] is for records", "Kafka's own"),
    "a schema of text": (lambda *_: hr.read.files("d", format="text", schema="n int"), "text files have no schema", "leave it out"),
    "batches of no record": (lambda *_: hr.read.kafka("t", cap=0), "cap=0 is no whole number from 1 on", "cap=1 or more"),
    "batches of no record of a receiver": (lambda *_: hr.read.receiver(Nothing(), cap=0), "cap=0 is no", "cap=1 or more"),
    "tasks that are fewer than none": (lambda *_: hr.read.receiver(Nothing(), tasks=-1), "tasks=-1 is no", "tasks=1 or more"),
    "a clock that stands": (lambda *_: hr.read.rate(0), "per_second=0 is no whole number", "per_second=1 or more"),
    "no row on the terminal": (lambda s, _: s.to.console(rows=0), "rows=0 is no whole number", "rows=1 or more"),
    "a password in the program": (
        lambda *_: hr.read.kafka("t", options={"kafka.ssl.key.password": "p"}), "kafka.ssl.key.password is a secret", "env:NAME"),
    "a job without outputs": (lambda *_: hr.Job("j"), "no output", "stream.to"),
    "a job whose name is a path": (lambda s, _: hr.Job("a/b", s.to.memory()), "'a/b' cannot be the name", "letters"),
    "a trigger that is none": (lambda s, _: hr.Job("j", s.to.memory(), trigger="1 s"), "'1 s' is not a duration", "'10 seconds'"),
    "an interval that is none": (lambda *_: hr.every("soon"), "'soon' is not a duration", "'10 seconds'"),
    "an interval without a unit": (lambda *_: hr.every(10), "10 is not a duration", "'10 seconds'"),  # type: ignore[arg-type]
    "an unknown output mode": (lambda s, _: hr.Job("j", s.to.memory(), output_mode="all"), "no output mode 'all'", "append"),  # type: ignore[arg-type]
    "two outputs to one directory": (
        lambda s, _: hr.Job("j", s.to.files("/d/", name="a"), s.to.files("file:/d", name="b")), "two outputs that write to /d", ".union("),
    "two outputs of one name": (lambda s, _: hr.Job("j", s.to.memory(), s.to.memory()), "two outputs that are called 'memory'", "name="),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_refused_where_it_is_written(mistake: str, orders: Stream, prices: DataFrame) -> None:
    make, what, fix = MISTAKES[mistake]
    with pytest.raises(DefinitionError) as caught:
        make(orders, prices)
    assert what in caught.value.what
    assert fix in caught.value.fix
    assert caught.value.where is not None
    file, line = caught.value.where.rsplit(":", 1)
    first = make.__code__.co_firstlineno
    assert (file, int(line)) in [(inspect.getsourcefile(make), number) for number in range(first, first + 3)]


def test_an_error_of_the_users_own_function_is_his() -> None:
    def broken(frame: DataFrame) -> DataFrame:
        raise KeyError(frame.columns[0])

    with pytest.raises(KeyError):
        hr.read.memory("n int").then(broken)


def test_a_column_of_bytes_is_decoded_anywhere_and_more_reasons_may_be_given(spark: SparkSession) -> None:  # noqa: ARG001
    lines = hr.read.memory("text string, offset bigint", [('{"n": 1}', 0), ('{"n": -1}', 1), ("x", 2), ('{"n": 5}', 3), ('{"n": 9}', 4)])
    found = lines.decode(
        "text", schema="n int not null", refuse={"negative": F.col("n") < 0, "too_far": "n > 5 AND offset > 3"}, keep=["offset"]
    )
    good, bad = found.to.memory(), found.dead_letters.select("reason", "offset").to.memory("bad")
    hr.Job("j", good, bad).run("batch")
    assert [tuple(row) for row in good.sink.rows] == [(1, 0), (5, 3)]
    assert [tuple(row) for row in bad.sink.rows] == [("negative", 1), ("not_json", 2), ("too_far", 4)]
