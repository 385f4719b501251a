"""On a cluster: the master must be there, and partitions are by its size."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import sysconfig
import textwrap
import zipfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from confluent_kafka import Producer
from tests.waiting import eventually

import headrace as hr
from headrace.embedded import cluster as embedded_cluster
from headrace.embedded import java
from headrace.embedded.cluster import Cluster
from headrace.errors import SetupError
from headrace.spark import cluster, failures, shipping
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


@pytest.mark.parametrize(
    ("reason", "fix"),
    [
        ('Cannot run program "/opt/python": error=2, No such file or directory', "no such Python is there, where tasks run"),
        ("[PYTHON_VERSION_MISMATCH] Python in worker has different version", "a path that all machines have, in PYSPARK_PYTHON"),
        ("Traceback (most recent call last):\nModuleNotFoundError: No module named 'rules'", "or put it beside the program"),
    ],
)
def test_what_is_missing_of_python_where_tasks_run_is_told_with_the_way_on(reason: str, fix: str) -> None:
    assert fix in failures._job_error("job", "out", reason, None).fix


def test_what_goes_along_is_headrace_and_the_python_beside_the_program(tmp_path: Path) -> None:
    for name in ("app.py", "rules.py", "data.csv", "parts/__init__.py", "parts/deep/one.py", "notes/two.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    shipping._pack(tmp_path / "sent.zip", [tmp_path])
    with zipfile.ZipFile(tmp_path / "sent.zip") as archive:
        names = set(archive.namelist())
    assert {"headrace/__init__.py", "headrace/kernel/scan.py"} < names
    assert {name for name in names if not name.startswith("headrace/")} == {"app.py", "rules.py", "parts/__init__.py", "parts/deep/one.py"}


class Starting:
    """A cluster whose executors of three slots come so many seconds after the start of its session, which is so old when it is asked."""

    def __init__(self, *come: float, age: float = 0.0) -> None:
        self.come, self.now, self.began = come, age, 1000.0
        self.sparkContext = SimpleNamespace(master="spark://host:7077", startTime=self.began * 1000)

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def slots(self, _: object) -> int:
        return 3 * sum(self.now >= seconds for seconds in self.come)


COMING: dict[str, tuple[Starting, int | None, int, float]] = {
    # executors                         enough, slots, seconds that it waits
    "both at once": (Starting(3, 3), None, 6, 6),
    "one soon after the other": (Starting(1, 2.5), None, 6, 5),
    "one long after the other, on a busy machine": (Starting(10, 18), None, 6, 36),
    "as many as are needed": (Starting(3, 3.5, 9), 6, 6, 3.5),
    "none": (Starting(), None, 0, 30),
    "no more, of a session that has long been there": (Starting(3, 4, age=3600), 9, 6, 2),
}


@pytest.mark.parametrize("case", COMING)
def test_slots_are_counted_when_no_more_executors_are_to_be_expected(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    starting, enough, slots, seconds = COMING[case]
    began = starting.now
    monkeypatch.setattr(cluster, "slots", starting.slots)
    clock = SimpleNamespace(monotonic=lambda: starting.now, time=lambda: starting.began + starting.now, sleep=starting.sleep)
    monkeypatch.setattr(cluster, "time", clock)
    assert cluster.slots_to_come(starting, enough=enough) == slots  # type: ignore[arg-type]
    assert starting.now - began == pytest.approx(seconds, abs=0.3)


def test_batches_on_a_cluster_begin_with_sparks_own_number_of_partitions() -> None:
    assert settings(master="yarn").items() >= cluster.BATCH_PARTITIONS.items()
    assert not settings().items() & cluster.BATCH_PARTITIONS.items()


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    """A real cluster, of two workers; when it is stopped, nothing of it is left."""
    yield embedded_cluster.up(workers=2, cores=CORES // 2)
    home = embedded_cluster.status().logs
    assert embedded_cluster.down()
    assert embedded_cluster.status() is None
    assert eventually(lambda: not [each for each in psutil.process_iter(["cmdline"]) if str(home) in " ".join(each.info["cmdline"] or ())])
    assert not {"work", "scratch", "keep", "address.json"} & {path.name for path in home.iterdir()}


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python as it may be on a worker: it has Arrow, and neither headrace nor PySpark."""
    place = tmp_path_factory.mktemp("worker")
    for package in ("pyarrow", "numpy"):
        (place / package).symlink_to(Path(str(find_spec(package).origin)).parent, target_is_directory=True)
    python = place / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{place}" exec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    found = subprocess.run([python, "-c", "import pyarrow; import headrace"], env=bare, capture_output=True, text=True, check=False)
    assert "No module named 'headrace'" in found.stderr
    return python


PROGRAM = """
    import json, sys
    import headrace as hr
    from headrace.errors import ModeError
    from headrace.spark.session import session
    from pyspark.sql import functions as F

    master, topic, place = sys.argv[1:]
    spark = session(master=master, conf={"spark.executor.memory": "512m"})
    partitions = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "200")
    counted = hr.read.kafka(topic).key_by("key").agg(F.count("*").alias("n")).to.kafka(topic, value="n")
    try:
        hr.Job("counts", counted, checkpoint=place).start("real-time")
    except ModeError as refused:
        print(json.dumps({"partitions": partitions, "what": refused.what, "fix": refused.fix, "where": refused.where}))
"""


def test_a_session_has_half_as_many_partitions_as_the_cluster_has_slots_and_a_refusal_speaks_of_executors(
    running: Cluster, kafka: str, topic: Callable[..., str], tmp_path: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    ran = subprocess.run(
        [sys.executable, str(program), running.master, topic(), str(tmp_path / "checkpoint")],
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


GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "clusters.md"


def block(text: str, sign: str) -> str:
    """The indented block of the guide that has this in it."""
    (found,) = [each for each in re.findall(r"(?:^    .*\n)+", text, re.MULTILINE) if sign in each]
    return textwrap.dedent(found)


def test_the_lines_of_the_guide_run_on_workers_that_have_no_headrace(
    running: Cluster, bare_python: Path, kafka: str, tmp_path: Path
) -> None:
    hr.topics.create("payments", "known", servers=kafka)
    producer = Producer({"bootstrap.servers": kafka, "log_level": 0})
    for amount in (50, 150, 70):
        producer.produce("payments", json.dumps({"customer": "ann", "amount": amount}))
    producer.flush()
    page = GUIDE.read_text()
    (program,) = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "app.py").write_text(program.replace("/shared/jobs/payments", str(tmp_path / "checkpoint")))
    (tmp_path / "main.py").write_text(block(page, "from app import job"))
    lines = block(page, "spark-submit --properties-file")
    scripts = sysconfig.get_path("scripts")
    environment = os.environ | {
        "MASTER": running.master, "HEADRACE_KAFKA": kafka, "PATH": f"{scripts}:{os.environ['PATH']}",
        "JAVA_HOME": str(java.find().for_spark()), "PYSPARK_PYTHON": str(bare_python), "PYSPARK_DRIVER_PYTHON": sys.executable,
    }  # fmt: skip
    ran = subprocess.run(["bash", "-e", "-c", lines], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr[-3000:]
    known = [json.loads(record.value) for record in hr.topics.read("known", servers=kafka)]
    assert [(row["rating"], row["largest"]) for row in known] == [("small", None), ("large", 50), ("small", 150)]
    assert (tmp_path / "headrace.conf").stat().st_mode & 0o077 == 0  # it has the cluster's secret


def test_who_does_not_know_its_secret_cannot_use_the_cluster(running: Cluster) -> None:
    access = running.logs / "access.conf"
    assert access.stat().st_mode & 0o077 == 0
    assert embedded_cluster.is_ours(running.master)
    assert settings(master=running.master)["spark.authenticate"] == "true"
    assert "spark.authenticate" not in settings(master="spark://127.0.0.1:1")
