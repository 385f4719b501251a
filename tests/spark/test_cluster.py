"""On a cluster: the master must be there, and partitions are by its size."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from headrace.embedded import java, spark
from headrace.errors import SetupError
from headrace.spark import cluster
from headrace.spark.session import settings

CORES = 6


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address where nobody listens, and nobody will."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{bound.getsockname()[1]}"


def test_a_master_that_is_not_there_is_told_with_all_that_was_tried(nobody: str) -> None:
    with pytest.raises(SetupError) as refused:
        cluster.check(f"spark://{nobody},no-such-host.invalid:7077")
    assert refused.value.what.startswith(f"no Spark master listens at {nobody} (Connection refused), no-such-host.invalid:7077 (")
    assert "7077" in refused.value.fix
    assert "start the master" in refused.value.fix


def test_of_several_masters_one_must_be_there(nobody: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as standby:
        cluster.check(f"spark://{nobody},127.0.0.1:{standby.getsockname()[1]}")


@pytest.mark.parametrize("master", ["spark://host", "spark://", "spark://host:port", "spark://host:7077/path"])
def test_an_address_that_is_none_is_refused(master: str) -> None:
    with pytest.raises(SetupError) as refused:
        cluster.check(master)
    assert refused.value.what == f"{master} is not the address of a Spark master"
    assert "spark://host:port" in refused.value.fix


@pytest.mark.parametrize("master", ["local[8]", "local-cluster[1,2,1024]", "yarn", "k8s://https://host:443"])
def test_other_masters_are_sparks_to_find(master: str) -> None:
    cluster.check(master)


@pytest.mark.parametrize(
    ("master", "reason", "what"),
    [
        ("spark://h:1", "Cannot call methods on a stopped SparkContext.", "something listens at spark://h:1, but does not answer"),
        ("spark://h:1", "Master must either be yarn or …", "Spark did not start: Master must either be yarn or …"),
        ("yarn", "Exception thrown in awaitResult:", "Spark did not start: Exception thrown in awaitResult:"),
    ],
)
def test_a_start_that_failed_is_told_by_its_reason(master: str, reason: str, what: str) -> None:
    assert what in cluster.refusal(master, reason).what


def test_batches_on_a_cluster_begin_with_sparks_own_number_of_partitions() -> None:
    assert settings(master="yarn").items() >= cluster.BATCH_PARTITIONS.items()
    assert not settings().items() & cluster.BATCH_PARTITIONS.items()


@contextmanager
def daemon(log: Path, *arguments: str) -> Iterator[None]:
    """A process of Spark's standalone cluster."""
    command = [str(spark.jars().parent / "bin" / "spark-class"), *arguments]
    environment = os.environ | {"JAVA_HOME": str(java.find().for_spark()), "SPARK_DAEMON_MEMORY": "256m", "SPARK_NO_DAEMONIZE": "1"}
    with log.open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=environment)
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


def written(log: Path, pattern: str) -> str:
    deadline = time.monotonic() + 120
    while (match := re.search(pattern, log.read_text())) is None:
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.05)
    return match[0]


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """A real cluster, of one worker; its address."""
    with ExitStack() as running:
        log, local = tmp_path / "master.log", ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        running.enter_context(daemon(log, "org.apache.spark.deploy.master.Master", *local))
        address = written(log, r"spark://127\.0\.0\.1:\d+")
        log, size = tmp_path / "worker.log", ("--cores", str(CORES), "--memory", "1g", "--work-dir", str(tmp_path / "work"))
        running.enter_context(daemon(log, "org.apache.spark.deploy.worker.Worker", *local, *size, address))
        written(log, "Successfully registered with master")
        yield address


PROGRAM = """
    import json, sys
    import headrace as hr
    from headrace.errors import ModeError
    from headrace.spark.session import session
    from pyspark.sql import functions as F

    master, topic, place = sys.argv[1:]
    spark = session(master=master, conf={"spark.driver.host": "127.0.0.1", "spark.executor.memory": "512m", "spark.ui.enabled": "false"})
    partitions = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "200")
    counted = hr.read.kafka(topic).key_by("key").agg(F.count("*").alias("n")).to.kafka(topic, value="n")
    try:
        hr.Job("counts", counted, checkpoint=place).start("real-time")
    except ModeError as refused:
        print(json.dumps({"partitions": partitions, "what": refused.what, "fix": refused.fix, "where": refused.where}))
"""


def test_a_session_has_half_as_many_partitions_as_the_cluster_has_slots_and_a_refusal_speaks_of_executors(
    master: str, kafka: str, topic: Callable[..., str], tmp_path: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    ran = subprocess.run(
        [sys.executable, str(program), master, topic(), str(tmp_path / "checkpoint")],
        env=os.environ | {"HEADRACE_KAFKA": kafka}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    refused = json.loads(ran.stdout)
    assert refused["partitions"] == str(CORES // 2)
    assert refused["what"].startswith(
        f"real-time mode needs 201 task slots at once, one for each partition of sources and state, and there are {CORES}"
    )
    assert refused["fix"].startswith("run on 201 cores: more executors, or more cores for each (spark.executor.instances")
    assert "spark.sql.shuffle.partitions" in refused["fix"]
    assert "local[" not in refused["fix"]
    assert refused["where"] == f"{program}:14"
