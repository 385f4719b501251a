"""What is different where Spark's tasks run in other processes: the master must be there, and its executors come one by one.

Task slots are how many tasks run at once: one a core, unless `spark.task.cpus` says otherwise. With Spark's 200 shuffle partitions a query
with state would have 200 state stores, and in real time need 200 slots. So a session on a cluster that is told no other number has half as
many shuffle partitions as there are slots when it starts, as it has on one machine (4 and 8): the other half is for sources. A checkpoint
keeps the number that it began with. Batches, whose partitions Spark merges when it sees their sizes, begin with 200 as ever.
"""

from __future__ import annotations

import re
import socket
import time

from pyspark.sql import SparkSession

from headrace.errors import SetupError
from headrace.spark import launch

PARTITIONS = "spark.sql.shuffle.partitions"
BATCH_PARTITIONS = {"spark.sql.adaptive.coalescePartitions.initialPartitionNum": "200"}

_UNANSWERED = ("stopped SparkContext", "All masters are unresponsive", "awaitResult")
_CONNECT_SECONDS = 5.0
_EXECUTOR_SECONDS = 30.0  # for the first executor to come; on YARN and Kubernetes Spark itself has waited before
_SETTLED_SECONDS = 2.0  # with no further executor in so long, all have come; or in as long as the one before took to start


def is_local(master: str | None) -> bool:
    """Whether Spark needs no other process to be there: `local[8]`, `local-cluster[1,2,1024]`."""
    return (master or "").startswith("local")


def is_on_this_machine(master: str | None) -> bool:
    """Whether all tasks run on this machine, in whatever processes: their Python and their files are this one's."""
    return is_local(master) or re.fullmatch(r"spark://(127\.\d+\.\d+\.\d+|localhost):\d+", master or "") is not None


def check(master: str) -> None:
    """SetupError if `master` is a standalone one (spark://host:port, perhaps several) and nothing listens there.

    It takes five seconds an address at most; Spark would try for a minute, and then not say what."""
    if not master.startswith("spark://"):
        return
    failures = []
    for address in master.removeprefix("spark://").split(","):
        parts = re.fullmatch(r"(?P<host>[^\s:/]+|\[[^\s/]+\]):(?P<port>\d{1,5})", address)
        if parts is None:
            raise SetupError(
                f"{master} is not the address of a Spark master", fix="write spark://host:port; the port is 7077 unless it was set"
            )
        try:
            socket.create_connection((parts["host"].strip("[]"), int(parts["port"])), _CONNECT_SECONDS).close()
            return
        except (OSError, OverflowError) as error:
            failures.append(f"{address} ({getattr(error, 'strerror', None) or error})")
    raise SetupError(
        f"no Spark master listens at {', '.join(failures)}",
        fix="mend the address (the port is 7077 unless it was set, and not that of the master's page), or start the master there",
    )


def refusal(master: str, reason: str) -> SetupError:
    """Why Spark did not start on this master."""
    if master.startswith("spark://") and any(sign in reason for sign in _UNANSWERED):
        return SetupError(
            f"Spark did not start: something listens at {master}, but does not answer as a Spark master does; it was tried for a minute",
            fix="give the master's own port (7077 unless it was set, and not that of its page); its Spark must be of the same version",
        )
    return SetupError(f"Spark did not start: {reason}", fix=f"check the settings given; Spark's log is {launch.log()}")


def slots(spark: SparkSession) -> int:
    """How many tasks run at once, now. (Spark's `defaultParallelism` is a setting, and may be anything.)"""
    context = spark.sparkContext._jsc.sc()
    return int(context.maxNumConcurrentTasks(context.resourceProfileManager().defaultResourceProfile()))


def slots_to_come(spark: SparkSession, *, enough: int | None = None) -> int:
    """How many there are when there are enough, or when no more executors come. On one machine all are there at once.

    Executors are started together, so one that took ten seconds to come, on a busy machine, says that others may need as long."""
    count, called = slots(spark), time.monotonic()
    started = called - max(time.time() - spark.sparkContext.startTime / 1000, 0.0)
    changed = called
    while not is_local(spark.sparkContext.master) and (enough is None or count < enough):
        now, taken = time.monotonic(), changed - started
        settled = max(_SETTLED_SECONDS, taken if taken < _EXECUTOR_SECONDS else 0.0)
        if now - changed > settled if count else now - called > _EXECUTOR_SECONDS:
            break
        time.sleep(0.1)
        if (seen := slots(spark)) != count:
            count, changed = seen, time.monotonic()
    return count


def fit_partitions(spark: SparkSession) -> None:
    """Shuffle partitions by the size of the cluster, unless someone has set them. If no executor comes, they stay as they are."""
    if not is_local(spark.sparkContext.master) and spark.sparkContext.getConf().get(PARTITIONS) is None and (there := slots_to_come(spark)):
        spark.conf.set(PARTITIONS, str(max(there // 2, 1)))
