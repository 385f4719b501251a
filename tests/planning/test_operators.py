"""Whatever a stream can do is in the table of modes, under the name by which a user calls it; and so is every front."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

import headrace as hr
from headrace.fronts.changing import ChangingTable
from headrace.fronts.keyed import Keyed
from headrace.fronts.stream import Stream
from headrace.fronts.windowed import Windowed
from headrace.ops.windows import Window
from headrace.planning.fronts import FRONTS
from headrace.planning.table import OPERATORS


def records() -> Stream:
    return hr.read.memory("k string, v int, at timestamp").event_time("at", "1 minute")


def others() -> Stream:
    return hr.read.memory("k string, w int, seen timestamp").event_time("seen", "1 minute")


def by_k() -> Keyed:
    return records().key_by("k")


def table() -> ChangingTable:
    return others().key_by("k").table()


def counted(window: Window, **options: Any) -> Stream:
    return records().window(window, **options).agg(n=F.count("*"))


def carried(state: dict[str, Any], record: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    return state, [record]


ALIKE: dict[str, Any] = {"output": "k string"}

# a public method -> a stream that ends with it, and the word under which the table has it, if that is not its own name
METHODS: dict[str, tuple[Callable[[], Stream], str]] = {
    "Stream.select": (lambda: records().select("k"), ""),
    "Stream.where": (lambda: records().where("v > 1"), ""),
    "Stream.with_columns": (lambda: records().with_columns(n=F.col("v")), ""),
    "Stream.drop": (lambda: records().drop("v"), ""),
    "Stream.rename": (lambda: records().rename(v="n"), ""),
    "Stream.map": (lambda: records().map(dict, **ALIKE), ""),
    "Stream.flat_map": (lambda: records().flat_map(lambda record: [record], **ALIKE), ""),
    "Stream.filter": (lambda: records().filter(bool), ""),
    "Stream.decode": (lambda: hr.read.memory("value string").decode(schema="v int"), ""),
    "Stream.dead_letters": (lambda: hr.read.memory("value string").decode(schema="v int").dead_letters, ""),
    "Stream.union": (lambda: records().union(records()), ""),
    "Stream.event_time": (records, ""),
    "Stream.port": (lambda: by_k().rate_limit(3, "1 minute", time="at").port("over"), ""),
    "Stream.late": (lambda: counted(hr.tumbling("1 minute")).late, ""),
    "Stream.window": (lambda: counted(hr.tumbling("1 minute")), ""),
    "Stream.join": (lambda: records().join(others(), on="k", between=("0 seconds", "1 minute")), "join of two streams"),
    "Stream.cogroup": (lambda: records().cogroup(others(), hr.tumbling("1 minute"), on="k"), ""),
    "Stream.as_of": (lambda: records().as_of(others(), on="k"), ""),
    "Keyed.agg": (lambda: by_k().agg(F.count("*")), ""),
    "Keyed.window": (lambda: by_k().window(hr.tumbling("1 minute")).agg(n=F.count("*")), ""),
    "Keyed.with_features": (lambda: by_k().with_features(before=hr.previous("v")), ""),
    "Keyed.scan": (lambda: by_k().scan(state={"n": F.lit(0)}, update={"n": F.lit(1)}, output=["k"]), ""),
    "Keyed.scan_python": (lambda: by_k().scan_python(state="n int", function=carried, **ALIKE), ""),
    "Keyed.match": (lambda: by_k().match(hr.step("a", "v = 1").next("b", "v = 2"), time="at"), ""),
    "Keyed.top": (lambda: by_k().top(3, by="v"), ""),
    "Keyed.changes": (lambda: by_k().changes("v"), ""),
    "Keyed.distinct": (lambda: by_k().distinct(), ""),
    "Keyed.rate_limit": (lambda: by_k().rate_limit(3, "1 minute", time="at"), ""),
    "Keyed.sample": (lambda: by_k().sample(0.1), ""),
    "Keyed.with_rules": (lambda: by_k().with_rules(table()), ""),
    "Windowed.agg": (lambda: counted(hr.sessions("1 minute")), "windows"),
    "ChangingTable.join": (lambda: by_k().table().join(table(), on="k"), "join of tables that change"),
}  # fmt: skip

WINDOWS: dict[str, Callable[[], Stream]] = {
    "tumbling": lambda: counted(hr.tumbling("1 minute")),
    "sliding": lambda: counted(hr.sliding("1 minute", "1 second")),
    "cumulating": lambda: counted(hr.cumulating("1 second", "1 minute")),
    "sessions": lambda: counted(hr.sessions("1 minute")),
    "forever": lambda: counted(hr.forever()),
    "until": lambda: counted(hr.until(records=2)),
    "keeping": lambda: counted(hr.keeping(records=2)),
}

# what else there is of `join`, by its arguments
JOINS: dict[str, Callable[[], Stream]] = {
    "join with a static table": lambda: records().join(hr.session().range(3).withColumnRenamed("id", "v"), on="v"),
    "join of two streams by window": lambda: records().join(others(), on="k", window=hr.tumbling("1 minute")),
    "join of a stream with a table that changes, by arrival": lambda: records().join(table(), on="k", by="arrival"),
    "as_of": lambda: records().join(table(), on="k"),
    "join of tables that change by a foreign key": lambda: table().join(
        hr.read.memory("w int, title string").key_by("w").table(), on="w", by="arrival"
    ),
    "windows with triggers": lambda: counted(hr.tumbling("1 minute"), early=2),
}

NO_OPERATOR = {
    "Stream.schema": "says what there is",
    "Stream.columns": "says what there is",
    "Stream.key_by": "what follows it is one",
    "Stream.then": "a function of the user's, which Spark's plan tells",
    "Stream.show": "a batch of its own",
    "Stream.head": "a batch of its own",
    "Stream.to_pandas": "a batch of its own",
    "Stream.to": "sinks are a part of the table",
    "Keyed.table": "what joins it is one",
}


def public(of: type) -> set[str]:
    return {f"{of.__name__}.{name}" for name in dir(of) if not name.startswith("_")}


def rows(stream: Stream) -> str:
    """The names of the rows by which a stream is judged."""
    return "; ".join(step.row.name for step in stream.step.ancestry() if step.row is not None)


def of_type(name: str) -> set[str]:
    """The functions of the package that give this."""
    signatures = {each: getattr(hr, each) for each in hr.__all__ if inspect.isfunction(getattr(hr, each))}
    return {each for each, function in signatures.items() if inspect.signature(function).return_annotation in name.split()}


def test_every_method_is_in_the_table_or_no_operator() -> None:
    methods = set().union(*map(public, (Stream, Keyed, Windowed, ChangingTable)))
    assert methods == METHODS.keys() | NO_OPERATOR.keys()


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("method", METHODS)
def test_a_method_is_found_in_the_table_by_its_name(method: str) -> None:
    build, word = METHODS[method]
    assert (word or method.partition(".")[2]) in rows(build())


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("name", [*WINDOWS, *JOINS])
def test_what_a_method_is_given_is_found_in_the_table(name: str) -> None:
    assert name in rows({**WINDOWS, **JOINS}[name]())


def test_every_kind_of_window_is_in_the_table() -> None:
    assert of_type("Window Keeping") == WINDOWS.keys()


def test_every_feature_is_in_the_table() -> None:
    (row,) = [row for row in OPERATORS if "with_features" in row.operators]
    assert set(row.name.removeprefix("with_features: ").split(", ")) == of_type("Feature")


@pytest.mark.usefixtures("spark")
def test_every_row_of_an_operator_has_one() -> None:
    built = {name for build, _ in METHODS.values() for name in rows(build()).split("; ")}
    built |= {name for build in [*WINDOWS.values(), *JOINS.values()] for name in rows(build()).split("; ")}
    assert {row.name for row in OPERATORS if row.operators} == built | {"headrace.storm: a level of bolts"}  # a front's own


def test_every_front_is_in_the_table() -> None:
    modules = {path.stem for path in Path(hr.__path__[0]).glob("[a-z]*.py")} - {"errors", "job"}
    assert {word for row in FRONTS for word in row.name.replace(",", "").split() if word.startswith("headrace.")} == {
        f"headrace.{name}" for name in modules | {"sql"}
    }
