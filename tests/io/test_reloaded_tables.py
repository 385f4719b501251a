"""A static table that changes while a job runs: with `reload` the next batch sees it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import headrace as hr
from headrace.ops.joins import static
from headrace.testing.microbatches import MicroBatches

pytestmark = pytest.mark.usefixtures("spark")

Rates = dict[str, int]


def _csv(folder: Path) -> tuple[str, Callable[[Rates], None]]:
    def write(rates: Rates) -> None:
        (folder / "new").write_text("\n".join(["code,rate", *(f"{code},{rate}" for code, rate in rates.items())]) + "\n")
        (folder / "new").replace(folder / "rates.csv")

    return str(folder / "rates.csv"), write


def _directory(folder: Path) -> tuple[str, Callable[[Rates], None]]:
    """A directory to which files are added."""
    (folder / "rates").mkdir()

    def write(rates: Rates) -> None:
        for code, rate in rates.items():
            (folder / "rates" / f"{code}.json").write_text(f'{{"code": "{code}", "rate": {rate}}}\n')

    return str(folder / "rates"), write


def _catalog(_: Path) -> tuple[str, Callable[[Rates], None]]:
    def write(rates: Rates) -> None:
        rows = hr.session().createDataFrame(list(rates.items()), "code string, rate int")
        rows.write.mode("overwrite").format("parquet").saveAsTable("reloaded_rates")

    return "reloaded_rates", write


KINDS = {"csv": _csv, "json": _directory, None: _catalog}


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_change_is_seen_with_the_next_batch(kind: str | None, tmp_path: Path, spark: SparkSession) -> None:
    name, write = KINDS[kind](tmp_path)
    write({"EUR": 1})
    rates = hr.table(name, format=kind, reload=True)  # type: ignore[arg-type]

    def operator(df: DataFrame) -> DataFrame:
        return static.join(df, F.broadcast(rates.open()), ["code"], "left")

    with MicroBatches(operator, "code string") as stream:

        def seen() -> dict[str, int | None]:
            return {row.code: row.rate for row in stream.feed([("EUR",), ("USD",)]).rows}

        assert seen() == {"EUR": 1, "USD": None}
        write({"EUR": 2, "USD": 3})
        assert seen() == {"EUR": 2, "USD": 3}
        assert seen() == {"EUR": 2, "USD": 3}
    if kind is None:
        spark.sql("DROP TABLE reloaded_rates")


def test_reload_is_true_or_false(tmp_path: Path) -> None:
    with pytest.raises(hr.HeadraceError, match="table: reload: 'yes' is neither True nor False"):
        hr.table(tmp_path / "rates.csv", reload="yes")  # type: ignore[arg-type]
