"""Task slots: what is counted, and who holds them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import headrace as hr
from headrace.errors import ModeError
from headrace.fronts.stream import Stream
from headrace.planning import groups, slots
from headrace.planning.triggers import Trigger
from headrace.run.checkpoints.places import Place
from headrace.testing.microbatches import configured

SLOTS = 8  # of the session: local[8]


@pytest.fixture
def parallelism(spark: SparkSession) -> Iterator[int]:
    """A setting that is more than there are threads."""
    conf, name = spark.sparkContext._jsc.sc().conf(), "spark.default.parallelism"
    before = conf.get(name)
    conf.set(name, "64")
    yield spark.sparkContext.defaultParallelism
    conf.set(name, before)


def test_slots_are_threads_whatever_the_default_parallelism_is(parallelism: int) -> None:
    assert (parallelism, slots.total()) == (64, SLOTS)


def _no_numbers(decoded: Stream) -> Stream:
    return decoded.dead_letters.select(F.lit(0).alias("n"))


# what is built over a topic of three partitions -> the slots that it holds
STREAMS: dict[str, tuple[Callable[[Stream], Stream], int]] = {
    "a source": (lambda s: s.where("offset > 0"), 3),
    "a source that is opened twice": (lambda s: s.union(s), 6),
    "a stream and its dead letters": (lambda s: (d := s.decode(schema="n int")).select("n").union(_no_numbers(d)), 3),
    "state": (lambda s: s.key_by("key").agg(F.count("*")), 3 + 2),
    "rows that are spread anew": (lambda s: s.then(DataFrame.repartition, 4), 3 + 4),
    "rows that are spread by a key": (lambda s: s.then(lambda df: df.repartition(5, "key")), 3 + 5),
}


@pytest.mark.parametrize("stream", STREAMS)
def test_slots_of_a_query(stream: str, topic: Callable[..., str], spark: SparkSession) -> None:  # noqa: ARG001
    build, needed = STREAMS[stream]
    (group,) = groups.by_state([build(hr.read.kafka(topic(partitions=3))).to.console()])
    assert slots.needed(group, 2) == needed


def test_a_checkpoint_keeps_the_number_of_partitions_that_its_state_began_with(spark: SparkSession, tmp_path: Path) -> None:
    counted = hr.read.memory("k string", [("a",)]).key_by("k").agg(F.count("*").alias("n")).to.memory()
    place = Place("counts", str(tmp_path))
    with configured(spark, {"spark.sql.shuffle.partitions": "3"}):
        assert place.of("memory").partitions == 3  # as the session says
        hr.Job("counts", counted, trigger=hr.once, checkpoint=tmp_path).run()
    assert (place.of("memory").partitions, place.of("other").partitions) == (3, 2)


def test_a_real_time_job_with_state_bears_other_work_in_its_session(
    short_batches: Trigger, topic: Callable[..., str], spark: SparkSession, tmp_path: Path
) -> None:
    counted = hr.read.kafka(topic(partitions=SLOTS - 2)).key_by("key").with_features(n=hr.running(F.count("*")))
    job = hr.Job("bears", counted.to.kafka(topic(), value="n"), trigger=short_batches, checkpoint=tmp_path)
    done = threading.Event()

    def work() -> None:
        while not done.is_set():
            spark.range(0, 10**7, 1, SLOTS).count()

    other = threading.Thread(target=work)
    with job.start("real-time") as running:
        other.start()
        try:
            batches, deadline = 0, time.monotonic() + 120
            while batches < 2:  # so it has begun one more
                assert time.monotonic() < deadline
                assert not running.wait(0.5)
                batches += len(running.news())
        finally:
            done.set()
            other.join()


def test_beside_real_time_queries_that_hold_all_slots_nothing_else_starts(
    topic: Callable[..., str], spark: SparkSession, tmp_path: Path
) -> None:
    del spark
    all_of_them = hr.read.kafka(topic(partitions=SLOTS)).to.kafka(topic(), value="value")
    other = hr.Job("other", hr.read.memory("n int", [(1,)]).to.memory(), trigger=hr.once)
    with hr.Job("all", all_of_them, checkpoint=tmp_path).start("real-time"):
        for mode in ("batch", "micro-batch"):
            with pytest.raises(ModeError) as refused:
                other.run(mode)  # type: ignore[arg-type]
            assert refused.value.what.startswith(f"real-time queries that run already hold all {SLOTS} task slots")
    other.run("batch")


def test_what_a_query_holds_is_not_there_for_the_next_until_it_ends(topic: Callable[..., str], spark: SparkSession, tmp_path: Path) -> None:  # noqa: ARG001
    def job(name: str) -> hr.Job:
        return hr.Job(name, hr.read.kafka(topic(partitions=5)).to.kafka(topic(), value="value"), checkpoint=tmp_path / name)

    second = job("second")
    with job("first").start("real-time"):
        with pytest.raises(ModeError) as refused:
            second.start("real-time")
        assert "needs 5 task slots" in refused.value.what
        assert refused.value.what.endswith(f"there are {SLOTS}, of which queries that run already hold 5")
        assert "local[10]" in refused.value.fix
    with second.start("real-time"):
        assert slots.held() == 5
    assert slots.held() == 0
