"""Static tables: CSV, JSON and Parquet files, and the catalog; what is not there is told at its line, with what is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.errors import DefinitionError, JobError

pytestmark = pytest.mark.usefixtures("spark")

ROWS = [("CH", "Switzerland", 8.9), ("NO", "Norway", None)]


@dataclass
class Country:
    name: str
    code: str


def _csv(folder: Path) -> Path:
    return _written(folder / "countries.csv", "code,name,people\nCH,Switzerland,8.9\nNO,Norway,\n")


def _written(file: Path, text: str) -> Path:
    file.write_text(text)
    return file


def _parquet(folder: Path) -> Path:
    hr.session().createDataFrame(ROWS, "code string, name string, people double").write.parquet(str(folder / "countries.parquet"))
    return folder / "countries.parquet"


FILES: dict[str, Callable[[Path], Path]] = {
    "csv": _csv,
    "csv with a byte order mark, windows' line ends and quotes": lambda folder: _written(
        folder / "c.csv", '\ufeff"code","name","people"\r\n"CH","Switzerland",8.9\r\n"NO","Norway",\r\n'
    ),
    "tsv": lambda folder: _written(folder / "c.tsv", "code\tname\tpeople\nCH\tSwitzerland\t8.9\nNO\tNorway\t\n"),
    "json, an object a line": lambda folder: _written(
        folder / "c.jsonl", '{"code": "CH", "name": "Switzerland", "people": 8.9}\n{"code": "NO", "name": "Norway"}\n'
    ),
    "json, one array": lambda folder: _written(
        folder / "c.json", '\n[{"code": "CH", "name": "Switzerland", "people": 8.9},\n {"code": "NO",\n  "name": "Norway"}]\n'
    ),
    "parquet": _parquet,
}


@pytest.mark.parametrize("kind", FILES)
def test_a_file_has_its_columns_and_rows(kind: str, tmp_path: Path) -> None:
    table = hr.table(FILES[kind](tmp_path))
    assert repr(table) == "Table[code: string, name: string, people: double]"
    assert sorted(tuple(row) for row in table.open().collect()) == ROWS


@pytest.mark.parametrize("kind", FILES)
def test_a_schema_names_the_columns_that_are_wanted_whatever_their_order(kind: str, tmp_path: Path) -> None:
    table = hr.table(FILES[kind](tmp_path), schema=Country)
    assert table.columns == ["name", "code"]
    assert sorted(tuple(row) for row in table.open().collect()) == [("Norway", "NO"), ("Switzerland", "CH")]


def test_cells_have_line_breaks_blanks_and_doubled_quotes(tmp_path: Path) -> None:
    table = hr.table(_written(tmp_path / "t.csv", 'k;text\n1;" a ""b""\n c"\n'), separator=";")
    assert [tuple(row) for row in table.open().collect()] == [(1, ' a "b"\n c')]


def test_a_code_that_looks_like_a_number_is_text_if_the_schema_says_so(tmp_path: Path) -> None:
    file = _written(tmp_path / "agents.csv", "id,name\n007,James\n")
    assert hr.table(file).open().first() == (7, "James")
    assert hr.table(file, schema="id string, name string").open().first() == ("007", "James")


def test_a_table_of_the_catalog_by_its_name(spark: SparkSession) -> None:
    spark.createDataFrame(ROWS, "code string, name string, people double").createOrReplaceTempView("countries")
    assert hr.table("countries").columns == ["code", "name", "people"]
    spark.catalog.dropTempView("countries")


def test_a_job_that_starts_reads_the_rows_of_then(tmp_path: Path) -> None:
    file = _csv(tmp_path)
    orders = hr.read.memory("id int, code string", [(1, "NO"), (2, "SE")])
    named = orders.join(str(file), on="code").select("id", "name")
    assert [tuple(row) for row in named.head()] == [(1, "Norway")]
    _written(file, "code,name,people\nSE,Sweden,10\n")
    assert [tuple(row) for row in named.head()] == [(2, "Sweden")]


def test_a_cell_that_is_not_of_its_type_stops_the_job(tmp_path: Path) -> None:
    table = hr.table(_written(tmp_path / "t.csv", "k,n\na,much\n"), schema="k string, n int")
    with pytest.raises(JobError) as stopped:
        hr.read.memory("k string", [("a",)]).join(table, on="k").head()
    assert "there are no rows to show: Malformed records are detected in record parsing: [a,null]" in stopped.value.what
    assert "give a schema that fits" in stopped.value.fix


MISTAKES: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "a misspelt file": (lambda folder: hr.table(folder / "countires.csv"), "countires.csv", "did you mean 'countries.csv'?"),
    "a file far from any": (lambda folder: hr.table(folder / "x.parquet"), "there is no ", "check the path"),
    "a misspelt name": (lambda _: hr.table("peeple"), "there is no table 'peeple' in Spark's catalog", "did you mean 'people'"),
    "a name far from any": (lambda _: hr.table("zzz"), "there is no table 'zzz'", "a path: 'countries.csv'"),
    "a misspelt name in a join": (lambda _: hr.read.memory("k int").join("peeple", on="k"), "no table 'peeple'", "'people'"),
    "a schema for a table that has one": (lambda _: hr.table("people", schema="k int"), "has its own schema", "leave schema= out"),
    "a column that is not there": (
        lambda folder: hr.table(folder / "countries.csv", schema="cod string"), "has no column 'cod'", "did you mean 'code'?"),
    "a path that does not tell its format": (lambda folder: hr.table(folder), "which format ", "csv, json, parquet"),
    "an unknown format": (lambda _: hr.table("x", format="orc"), "format 'orc'", "csv, json, parquet"),  # type: ignore[arg-type]
    "an empty file": (lambda folder: hr.table(folder / "empty.csv"), "has no columns", "a line of their names"),
    "JSON that is none": (lambda folder: hr.table(folder / "broken.json"), "broken.json: Malformed records", ""),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_refused_where_it_is_written(mistake: str, spark: SparkSession, tmp_path: Path) -> None:
    spark.createDataFrame([(1,)], "k int").createOrReplaceTempView("people")
    _csv(tmp_path)
    _written(tmp_path / "empty.csv", "")
    _written(tmp_path / "broken.json", '{"k": \n')
    make, what, fix = MISTAKES[mistake]
    with pytest.raises(DefinitionError) as refused:
        make(tmp_path)
    assert what in refused.value.what
    assert fix in refused.value.fix
    assert str(refused.value.where).startswith(__file__)
