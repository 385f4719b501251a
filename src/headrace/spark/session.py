"""The Spark session: one for the process, with the settings that all three modes need.

    >>> spark = session()
    >>> spark.range(3).count()
    3

Who builds the session elsewhere (spark-submit, a notebook server) gives it `settings()`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from py4j.java_gateway import JVMView
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from headrace.embedded import cluster as embedded_cluster
from headrace.embedded import jars, places
from headrace.errors import SetupError
from headrace.kernel import build
from headrace.kernel.jvm import EXTENSIONS
from headrace.spark import class_archive, cluster, failures, jvm_exit, launch, shipping

_JAVA = "spark.driver.extraJavaOptions"
_CLASSPATH = "spark.driver.extraClassPath"

# Task slots are threads, not cores: a real-time query holds one for each source and shuffle partition for as long as it runs.
DEFAULT_MASTER = "local[8]"

_ENGINE = {
    "spark.sql.extensions": EXTENSIONS,
    # Real-time mode works with this store and this checkpoint format only; the format also brings checksums.
    "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
    # A batch saves what it changed of the state, not the state.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Room for the code that Spark generates for a job of many operators, which it would compile anew in each batch (its default is 100).
    "spark.sql.codegen.cache.maxEntries": "1000",
    # How long a row may wait in a real-time shuffle for company; it is most of a keyed query's latency (Spark's default is 50).
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "5",
    # With how many short batches a real-time query begins: until Java has compiled what the end of one does, it is felt for seconds (0050).
    "spark.headrace.realTime.rehearsals": "60",
    # Files of times that every reader takes for what they are; Spark's default is a form that is long out of use and has no zone.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Results must not depend on where the program runs.
    "spark.sql.session.timeZone": "UTC",
}

_ONE_MACHINE = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}

_LOCAL = {
    "spark.sql.shuffle.partitions": "4",
    # Spark would end a real-time query with state if other work had a task slot as it goes from batch to batch. Here slots do not go away,
    # and are counted before such a query starts (slots.py): it waits until they are free again.
    "spark.scheduler.pipelinedGroup.slotCheck.enabled": "false",
    # What is shuffled stays here: to compress it costs more time than it saves.
    "spark.shuffle.compress": "false",
    # Large files in more parts than there are cores, so that all end at about the same time (Spark's default is 128m).
    "spark.sql.files.maxPartitionBytes": "64m",
}

# Java compiles a method with its second compiler, which takes long, when it was called ten times as often as by default. What runs once a
# record is called that often within a second or a minute; Spark's planning, a large program that runs once a batch, is not worth it (0017).
_COMPILER = "-XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 -XX:Tier4CompileThreshold=150000"

# Hadoop's own start a process for each file that they make; the kernel's do not (decision 0015).
_ONE_PROCESS = {
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.spark.sql.headrace.LocalContext",
    "spark.hadoop.fs.file.impl": "org.apache.spark.sql.headrace.LocalFiles",
}

# Sums over all rows, by which Spark notices that a task gave other rows when it was tried again. Only `local[threads, tries]` tries again.
_ONE_TRY = {
    "spark.sql.shuffle.orderIndependentChecksum.enabled": "false",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "false",  # which would have them made, too
}

# Settings that are lists: what was asked for is added to ours, since neither makes sense without the other.
_LISTS = {
    "spark.jars": ",",
    "spark.sql.extensions": ",",
    _JAVA: " ",
    _CLASSPATH: os.pathsep,
}


def settings(*, master: str | None = None) -> dict[str, str]:
    """The configuration of a headrace session, for one that is built elsewhere.

    Fetches the connector's jars and compiles the kernel if this machine does not have them yet. Give all of it before Spark's JVM starts:
    `spark.jars` and `spark.sql.extensions` have no effect on a running one.
    """
    master = master or DEFAULT_MASTER
    conf = {"spark.master": master, "spark.jars": ",".join(map(str, [build.jar(), *jars.connector()])), **_ENGINE}
    if cluster.is_on_this_machine(master):
        log4j = Path(__file__).with_name("log4j2.properties").as_uri()
        conf |= _ONE_MACHINE
        conf[_JAVA] = f'-Dlog4j2.configurationFile="{log4j}" -Dheadrace.log="{launch.log()}" {_COMPILER}'
        conf["spark.sql.warehouse.dir"] = (places.data() / "warehouse").as_uri()
    if cluster.is_local(master):
        conf |= _LOCAL | ({} if "," in master else _ONE_TRY)
    else:
        conf |= cluster.BATCH_PARTITIONS
    if embedded_cluster.is_ours(master):
        conf |= embedded_cluster.access()
    if _one_process(master):
        # `spark.jars` would come too late: Spark looks at files before it looks at that.
        conf |= _ONE_PROCESS | {_CLASSPATH: str(class_archive.kernel())}
    return conf


def _one_process(master: str) -> bool:
    return cluster.is_local(master) and not master.startswith("local-cluster")


@jvm_exit.translated(SetupError)
def session(*, master: str | None = None, conf: Mapping[str, str] | None = None) -> SparkSession:
    """The session of this process; started, with `settings()` and then `conf` on top, if there is none.

    A session that is already there is used as it is. It must have headrace's jars and extension, and whatever `conf` asks for that cannot
    be changed any more; otherwise this raises SetupError rather than running with other settings than asked for.
    """
    if is_remote() or "SPARK_REMOTE" in os.environ or os.environ.get("SPARK_API_MODE") == "connect":
        raise SetupError(
            "this is Spark Connect, where the program and Spark's JVM are apart; headrace's kernel is called inside the JVM",
            fix="unset SPARK_REMOTE (or SPARK_API_MODE) and give `master` the address of the cluster",
        )
    jvm_exit.quiet()
    asked = dict(conf or {}) | ({"spark.master": master} if master else {})
    running = SparkSession.builder.getOrCreate() if SparkContext._active_spark_context else _start(asked)
    jvm_exit.quiet_accumulators(running.sparkContext)
    try:
        _check_kernel(running)
        if not cluster.is_local(running.sparkContext.master):
            shipping.send(running.sparkContext)
        for key, value in asked.items():
            _agree(running, key, value)
    except (PySparkException, Py4JJavaError) as error:
        raise SetupError(
            f"Spark refuses a setting: {failures.first_line(error)}", fix="mend or leave out the setting that is named"
        ) from None
    return running


def _start(asked: dict[str, str]) -> SparkSession:
    submitted = _submitted()
    merged = _merge(settings(master=asked.get("spark.master", submitted.get("spark.master"))), submitted, asked)
    one_machine = cluster.is_on_this_machine(merged["spark.master"])
    cluster.check(merged["spark.master"])
    if one_machine:
        also = merged.get("spark.driver.defaultJavaOptions", "")
        merged[_JAVA] = launch.with_collector(merged[_JAVA], also)
        if merged.get(_CLASSPATH) == str(class_archive.kernel()):
            merged[_JAVA] += " " + class_archive.options(launch.java_options(merged[_JAVA], also), merged[_CLASSPATH])
    held = launch.Held()
    try:
        with launch.environment(one_machine=one_machine), held:
            with launch.uninterrupted():
                SparkContext._ensure_initialized(conf=SparkConf().setAll(list(merged.items())))
            if not _loadable(SparkContext._jvm):
                raise _without_kernel()
            started = SparkSession.builder.config(map=dict(merged)).getOrCreate()
            if not submitted:  # else the JVM is spark-submit's, which is the one to be told
                jvm_exit.survive_terminate(started.sparkContext)
            cluster.fit_partitions(started)
            return started
    except (PySparkException, Py4JError, ConnectionError) as error:
        reason = held.reason()
        if reason is None and (jvm_exit.because(error) or isinstance(error, ConnectionError)):
            raise jvm_exit.error(SetupError) from None
        raise cluster.refusal(merged["spark.master"], reason or failures.first_line(error)) from None


def _merge(*layers: dict[str, str]) -> dict[str, str]:
    """Later settings win, except that lists grow."""
    merged: dict[str, str] = {}
    for layer in layers:
        for key, value in layer.items():
            if key in _LISTS and key in merged:
                items = [*merged[key].split(_LISTS[key]), *value.split(_LISTS[key])]
                value = _LISTS[key].join(dict.fromkeys(items))
            merged[key] = value
    return merged


def _submitted() -> dict[str, str]:
    """What spark-submit was told, when it is what started this program: its word goes before our defaults."""
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        return {}
    SparkContext._ensure_initialized()
    return dict(SparkConf().getAll())


def _check_kernel(running: SparkSession) -> None:
    if not _loadable(running.sparkContext._jvm) or EXTENSIONS not in (running.conf.get("spark.sql.extensions", "") or ""):
        raise _without_kernel()


def _loadable(jvm: JVMView | None) -> bool:
    assert jvm is not None
    try:
        jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass(EXTENSIONS)
        return True
    except Py4JJavaError:
        return False


def _without_kernel() -> SetupError:
    lines = "\n".join(f"       {key}={value}" for key, value in settings().items() if key in ("spark.jars", "spark.sql.extensions"))
    return SetupError(
        "Spark was started without headrace's kernel, by this program or by what runs it (spark-submit, a notebook)",
        fix=f"let `headrace.session()` start it, or start it with these settings (spark-submit --conf …)\n{lines}",
    )


def _agree(running: SparkSession, key: str, value: str) -> None:
    if running.conf.isModifiable(key):
        running.conf.set(key, value)
        return
    actual = running.sparkContext.getConf().get(key) or running.conf.get(key, None)
    separator = _LISTS.get(key)
    agreed = set(value.split(separator)) <= set((actual or "").split(separator)) if separator else value == actual
    if not agreed:
        raise SetupError(
            f"a Spark session is already running with {key}={actual}, and {value} was asked for",
            fix="stop it first (`spark.stop()`), or ask for the settings before anything uses the session",
        )
