"""One Spark session and one broker for all tests of a process. The cache is the user's own: nothing is fetched twice. The data is not."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from hypothesis import settings
from pyspark.sql import SparkSession

from headrace.embedded import kafka as embedded_kafka
from headrace.embedded import places
from headrace.planning import modes
from headrace.planning.triggers import Trigger, every
from headrace.spark import session as sessions
from headrace.testing.microbatches import configured

_NAMES = itertools.count(1)

# Java's second compiler takes a third of the processor in a suite of many small queries, and none of them runs long enough to win it back.
# Without it Java would also give compiled code less room than Spark needs in a long run.
_QUICK_COMPILER = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"

# The tests' data is small. And no report on each ten seconds without work: the last report is on the last batch, however slow the machine.
_FEW = {"spark.sql.shuffle.partitions": "2", "spark.default.parallelism": "2"}
# No rehearsals: they make the ends of long runs short, and each of these tests is a short one. (test_real_time.py has one of them.)
_CONF = _FEW | {"spark.sql.streaming.noDataProgressEventInterval": "3600000", "spark.headrace.realTime.rehearsals": "0"}

# Hypothesis' own: the same examples each time, however long they take. To look for others: pytest --hypothesis-profile=default
settings.load_profile("ci")


def pytest_configure(config: pytest.Config) -> None:
    """Set up before anything is collected: doctests outside this directory live here too."""
    home = Path(tempfile.mkdtemp(prefix="headrace-tests-"))
    (home / "cache").symlink_to(places.cache(), target_is_directory=True)
    os.environ["HEADRACE_HOME"] = str(home)
    root = Path(__file__).parents[1]
    os.environ["PYTHONPATH"] = os.pathsep.join(str(root / part) for part in ("src", "apps/fraud"))  # for the processes that tests start
    for name in (embedded_kafka.ADDRESS, "JAVA_TOOL_OPTIONS", "FORCE_COLOR"):  # the latter two change what programs print
        os.environ.pop(name, None)
    temporary = home / "tmp"  # what a killed process leaves goes with it
    temporary.mkdir()
    home.chmod(0o755)  # for processes of other users that tests start
    temporary.chmod(0o1777)
    os.environ["TMPDIR"] = tempfile.tempdir = str(temporary)
    os.environ["SPARK_SUBMIT_OPTS"] = f"{_QUICK_COMPILER} -Djava.io.tmpdir={temporary}"  # also for the processes that tests start
    os.environ["TZ"] = "UTC"  # PySpark hands times out in the zone of the process
    time.tzset()
    for signum in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(signum) == signal.SIG_IGN:  # in a shell's background, or under nohup; the processes that tests start shall not
            signal.signal(signum, lambda *_: None)  # for a handler is not inherited
    _same_session_whoever_starts_it()
    config.add_cleanup(lambda: shutil.rmtree(home, ignore_errors=True))
    config.add_cleanup(_stop_broker)


def _stop_broker() -> None:
    embedded_kafka.down()


def _same_session_whoever_starts_it() -> None:
    """A test need not ask for the fixture `spark`: what it calls starts the session, too, and then for all tests that follow."""
    start = sessions._start
    sessions._start = lambda asked: start(_CONF | asked)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The session as users get it, with what the tests have different (above)."""
    running = sessions.session()
    yield running
    running.stop()


@pytest.fixture(scope="session")
def kafka() -> str:
    """The bootstrap address of a real broker."""
    return embedded_kafka.ensure()


@pytest.fixture
def topic(kafka: str) -> Callable[..., str]:
    """Creates a topic that no other test knows: `topic()` or `topic(partitions=3)`; returns its name."""
    admin = AdminClient({"bootstrap.servers": kafka})

    def create(partitions: int = 1) -> str:
        name = f"test-{next(_NAMES)}"
        for created in admin.create_topics([NewTopic(name, partitions)]).values():
            created.result()
        deadline = time.monotonic() + 60
        while name not in admin.list_topics(timeout=10).topics:  # the controller answers a moment before the broker tells clients of it
            assert time.monotonic() < deadline, f"the topic {name} did not appear"
            time.sleep(0.02)
        return name

    return create


@pytest.fixture
def short_batches(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[Trigger]:
    """Of real-time mode, with a tenth of what users may have at least: what happens at the end of a batch happens ten times as often."""
    monkeypatch.setattr(modes, "REAL_TIME_SHORTEST", "500 milliseconds")
    with configured(spark, {"spark.sql.streaming.realTimeMode.minBatchDuration": "500"}):
        yield every("500 milliseconds")
