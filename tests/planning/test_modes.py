"""The one table: what a mode does not have is refused before anything starts, with the line that asks for it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.window import Window

import headrace as hr
from headrace.cli import modes as printed
from headrace.errors import ModeError
from headrace.fronts.stream import Stream
from headrace.ops.windows import Window as Cut
from headrace.planning import modes, table
from headrace.planning.recipe import Output
from headrace.planning.table import Mode


def _records() -> Stream:
    return hr.read.kafka("t").select(F.col("key").cast("string").alias("k"), F.col("timestamp").alias("at"), F.col("offset").alias("v"))


def _static(spark: SparkSession) -> DataFrame:
    return spark.range(3).groupBy(F.col("id").alias("v")).count()


def _windows(window: Cut) -> Stream:
    return _records().event_time("at", "1 hour").window(window).agg(F.count("*"))


def _pairs(how: str) -> Stream:
    left, right = (_records().event_time("at", "1 hour") for _ in range(2))
    return left.join(right.rename(at="other_at", v="other_v"), on="k", how=how, between=("0 seconds", "1 day"))


def _joined_by_spark(how: str) -> Stream:
    left, right = (_records().event_time("at", "1 hour") for _ in range(2))
    return left.then(_pairs_of_spark, right.rename(k="other_k", at="other_at", v="other_v"), how=how)


def _pairs_of_spark(df: DataFrame, other: DataFrame, how: str) -> DataFrame:
    return df.join(other, F.expr("k = other_k AND other_at BETWEEN at AND at + INTERVAL 1 DAY"), how)


def _duplicates(frame: DataFrame) -> DataFrame:
    return frame.withWatermark("at", "1 hour").dropDuplicatesWithinWatermark(["k"])


def _number(frame: DataFrame) -> DataFrame:
    return frame.withColumn("n", F.row_number().over(Window.partitionBy("k").orderBy("at")))


def _python(frame: DataFrame) -> DataFrame:
    return frame.withColumn("n", F.udf(lambda k: len(k), "int")("k"))


def _pandas(frame: DataFrame) -> DataFrame:
    return frame.mapInPandas(lambda frames: frames, frame.schema)


def _compared(frame: DataFrame) -> DataFrame:
    return frame.join(frame.sparkSession.range(3), F.col("v") > F.col("id"))


def _merged(frame: DataFrame) -> DataFrame:
    return frame.join(frame.sparkSession.range(3).hint("merge"), F.col("v") == F.col("id"))


def _python_scan() -> Stream:
    return _records().key_by("k").scan_python(state="n int", function=lambda state, record: (state, [record]), output="k string")


# what is built -> the modes in which it works; b(atch), m(icro-batch), r(eal-time)
PROGRAMS: dict[str, tuple[Callable[[], Output], str]] = {
    "kafka to kafka": (lambda: _records().where("v > 1").to.kafka("o"), "bmr"),
    "a static table, though it is an aggregate": (lambda: _records().join(_static(hr.session()), "v").to.kafka("o"), "bmr"),
    "union": (lambda: _records().union(_records()).to.kafka("o"), "bmr"),
    "totals": (lambda: _records().key_by("k").agg(F.count("*")).to.kafka("o"), "bmr"),
    "windows": (lambda: _windows(hr.sliding("1 hour", "10 minutes")).to.kafka("o"), "bmr"),
    "duplicates": (lambda: _records().then(lambda df: df.dropDuplicates(["k"])).to.kafka("o"), "bmr"),
    "rows for each total": (lambda: _records().then(lambda df: df.cube("k").count()).to.kafka("o"), "bmr"),
    "observed": (lambda: _records().then(lambda df: df.observe("n", F.count("*"))).to.kafka("o"), "bmr"),
    "spread anew": (lambda: _records().then(DataFrame.repartition, 2).to.kafka("o"), "bmr"),
    "to the console": (lambda: _records().to.console(), "bmr"),
    "a join of two streams": (lambda: _pairs("full").to.kafka("o"), "bmr"),
    "Spark's own join of two streams": (lambda: _joined_by_spark("inner").to.kafka("o"), "bm"),
    "Spark's own outer join of two streams": (lambda: _joined_by_spark("full").to.kafka("o"), "bm"),
    "a static table, by a comparison": (lambda: _records().then(_compared).to.kafka("o"), "bm"),
    "a static table, with every row": (lambda: _records().then(lambda df: df.crossJoin(df.sparkSession.range(3))).to.kafka("o"), "bm"),
    "a static table, sorted": (lambda: _records().then(_merged).to.kafka("o"), "bm"),
    "fewer partitions": (lambda: _records().then(DataFrame.coalesce, 1).to.kafka("o"), "bm"),
    "what the table does not have": (lambda: _records().then(lambda df: df.hint("rebalance")).to.kafka("o"), "bm"),
    "a scan with a Python function": (lambda: _python_scan().to.kafka("o"), "bmr"),
    "Python functions of a record": (lambda: _records().map(lambda record: record, output="k string").to.kafka("o"), "bmr"),
    "a Python function in a column": (lambda: _records().select(F.udf(len, "int")("k").alias("n")).to.kafka("o"), "bm"),
    "a Python function in a column behind one of a record": (
        lambda: _records().filter(lambda record: True).select(F.udf(len, "int")("k").alias("n")).to.kafka("o"),  # noqa: ARG005
        "bm",
    ),
    "session windows": (lambda: _windows(hr.sessions("1 hour")).to.kafka("o"), "bmr"),
    "a Python function": (lambda: _records().then(_python).to.kafka("o"), "bm"),
    "mapInPandas": (lambda: _records().then(_pandas).to.kafka("o"), "bm"),
    "limit": (lambda: _records().then(DataFrame.limit, 3).to.kafka("o"), "bm"),
    "sort": (lambda: _records().then(DataFrame.orderBy, "v").to.kafka("o"), "bm"),
    "to files": (lambda: _records().to.files("d"), "bm"),
    "to memory": (lambda: _records().to.memory(), "bm"),
    "to a callback": (lambda: _records().to.callback(print), "bm"),
    "from memory": (lambda: hr.read.memory("v int").to.kafka("o"), "bm"),
    "from files": (lambda: hr.read.files("d", format="text").to.kafka("o"), "bm"),
    "duplicates behind the watermark": (lambda: _records().then(_duplicates).to.kafka("o"), "m"),
    "from a socket": (lambda: hr.read.socket("localhost", 1).to.kafka("o"), "m"),
    "from a clock": (lambda: hr.read.rate().to.kafka("o"), "m"),
    "applyInPandas": (lambda: _records().then(lambda df: df.groupBy("k").applyInPandas(lambda rows: rows, df.schema)).to.kafka("o"), "b"),
    "row_number": (lambda: _records().then(_number).to.kafka("o"), "b"),
}  # fmt: skip


@pytest.mark.parametrize("mode", table.MODES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_mode(program: str, mode: Mode, spark: SparkSession) -> None:  # noqa: ARG001
    build, works = PROGRAMS[program]
    output = build()
    if mode[0] in works:
        modes.check([output], mode)
        return
    with pytest.raises(ModeError) as refused:
        modes.check([output], mode)
    assert f"not in {mode} mode, because" in refused.value.what
    assert refused.value.fix
    assert (refused.value.where or "").startswith(f"{inspect.getsourcefile(build)}:")


@pytest.mark.parametrize(
    ("program", "what", "fix"),
    [
        (lambda: _records().then(_python), "Python functions (UDFs, mapInPandas, …): not in real-time mode, because", "scan_python"),
        (lambda: _records().then(_compared), "not by equal keys, or not broadcast: not in real-time mode, because", "F.broadcast"),
        (lambda: _records().then(lambda df: df.hint("rebalance")), "RebalancePartitions: not in real-time mode", "micro-batch"),
    ],
)  # fmt: skip
def test_real_time_refuses_a_job_before_it_starts_with_the_reason(
    program: Callable[[], Stream], what: str, fix: str, spark: SparkSession, tmp_path: Path  # noqa: ARG001
) -> None:  # fmt: skip
    with pytest.raises(ModeError) as refused:
        hr.Job("refused", program().to.kafka("o", value="k"), checkpoint=tmp_path).start("real-time")
    assert what in refused.value.what
    assert fix in refused.value.fix
    assert list(tmp_path.iterdir()) == []


def test_a_query_has_one_state_in_real_time(topic: Callable[..., str]) -> None:
    name = topic()
    counted = hr.read.kafka(name).key_by("key").agg(F.count("*").alias("n"))
    twice = counted.key_by("n").with_features(before=hr.running(F.count("*")))
    with pytest.raises(ModeError) as refused:
        hr.Job("twice", twice.to.kafka(name, value="key")).start("real-time")
    assert refused.value.what == "agg and with_features: not both in real-time mode, because a query has one state there"
    assert refused.value.fix == table.TWO_STATES.real_time.fix  # type: ignore[union-attr]
    assert str(refused.value.where).startswith(__file__)


@pytest.mark.parametrize("start", [hr.Job.run, hr.Job.start])
def test_there_are_three_modes(start: Callable[..., object], spark: SparkSession) -> None:  # noqa: ARG001
    with pytest.raises(ModeError) as refused:
        start(hr.Job("j", hr.read.memory("v int").to.memory()), "realtime")
    assert refused.value.what == "there is no mode 'realtime'"
    assert refused.value.fix == "use one of batch, micro-batch, real-time"


def test_spark_has_the_last_word_on_a_stream(spark: SparkSession, tmp_path: Path) -> None:  # noqa: ARG001
    sampled = hr.read.memory("v int").then(lambda df: df.sample(0.5)).to.memory()
    with pytest.raises(ModeError) as refused:
        hr.Job("sampled", sampled, checkpoint=tmp_path).start()
    assert "Sampling is not supported" in refused.value.what


def test_the_reference_page_is_current() -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "modes.md"
    assert page.read_text() == printed.markdown() + "\n", "make it anew: headrace modes --markdown > docs/reference/modes.md"


def test_every_connector_is_in_the_table() -> None:
    from headrace.io.connectors import Sink, Source

    def kinds(of: type[Source] | type[Sink]) -> set[str]:
        return {each.kind for each in of.__subclasses__() if each.__module__.startswith("headrace.")}  # tests have others

    assert kinds(Source) == {kind for row in table.SOURCES for kind in row.kinds}
    assert kinds(Sink) == {kind for row in table.SINKS for kind in row.kinds}
