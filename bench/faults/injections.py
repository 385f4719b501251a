"""The faults. Each is done to a world with a driver at work, waits until a driver is at work again, and says what happened."""

from __future__ import annotations

import errno
import os
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from random import Random

from bench.faults import sinks
from bench.faults.driver import Driver, StuckError
from bench.faults.world import World, seconds_since
from headrace.embedded.supervisor import DEATHS, WITHIN

FAILPOINT = "HEADRACE_FAILPOINT"
POINTS = {  # name -> how often it may be passed before
    "batch: planned": 3,
    "batch: an output written": 12,
    "batch: written": 3,
    "kafka: begun": 4,
    "kafka: half of the rows": 4,
    "kafka: rows written": 4,
    "kafka: about to commit": 4,
    "kafka: committed": 4,
    "database: begun": 4,
    "database: half of the rows": 4,
    "database: rows written": 4,
    "database: about to commit": 4,
    "database: committed": 4,
}
KEPT_UP = 100  # payments: a third of the job's delay
FILES = "files: there, and not in the log"  # Spark writes them, so this one is seen from outside
MOMENT = 1.2  # seconds: at most so long after something began; a batch takes about that


@dataclass(frozen=True)
class Injection:
    """One fault: where it fell, and the seconds until a batch was committed again."""

    kind: str
    fault: str
    where: str
    seconds: float | None


Fault = Callable[[World, Driver, Random], tuple[Driver, list[Injection]]]


def killed(world: World, driver: Driver, chance: Random) -> tuple[Driver, list[Injection]]:
    """kill -9 of the driver, a random moment after it has begun a batch, or committed one."""
    kill = killed_last(world, driver, chance)
    began = time.monotonic()
    return _again(world), [replace(kill, seconds=seconds_since(began))]


def killed_last(world: World, driver: Driver, chance: Random) -> Injection:
    """The same, and no other driver is started."""
    _random_moment(world, driver, chance)
    driver.kill()
    return Injection("kills", "kill -9 of the driver", _where(world), None)


def killed_as_it_starts(world: World, driver: Driver, chance: Random) -> tuple[Driver, list[Injection]]:
    """kill -9 of the driver, and of the next one before it is at work."""
    first = killed_last(world, driver, chance)
    starting = world.start()
    time.sleep(chance.uniform(0.5, 12))
    where = "within a batch" if world.planned > world.done else "as it starts"
    starting.kill()
    began = time.monotonic()
    return _again(world), [first, Injection("starts", "kill -9 as it starts", where, seconds_since(began))]


def killed_at_a_point(world: World, driver: Driver, chance: Random) -> tuple[Driver, list[Injection]]:
    """The driver kills itself at a named line."""
    name = chance.choice([*POINTS, FILES])
    before: list[Injection] = []
    if name == FILES:
        files = world.files
        driver.until(lambda: world.files > files, "another file")
        driver.kill()
        point = FILES
    else:
        before = [killed_last(world, driver, chance)]
        point = f"{name}:{chance.randint(1, POINTS[name])}"
        _until_it_dies(world.start(env={FAILPOINT: point}), point)
    began = time.monotonic()
    return _again(world), [*before, Injection("points", "kill -9 at a named line", point, seconds_since(began))]


def zombie(world: World, driver: Driver, chance: Random) -> tuple[Driver, list[Injection]]:
    """The driver is frozen at a random moment, its successor starts, and then it wakes up. As if on a file system without locks: with locks
    the successor would not start."""
    _random_moment(world, driver, chance)
    driver.signal(signal.SIGSTOP)
    where, began, before = _where(world), time.monotonic(), world.done
    for lock in (world.place / "checkpoint").glob("*/job.lock"):
        lock.unlink()
    seconds = None
    if _is_locked(world):  # by the frozen one: until it gives that up nobody can write, and a start is refused
        where += f", with the database locked: {_refused(world.start())}"
        driver.signal(signal.SIGCONT)
        successor = world.start()
    else:
        successor = world.start()
        successor.until(lambda: world.done > before + 1, "two batches of the successor")
        seconds = seconds_since(began)
        driver.signal(signal.SIGCONT)
    status = driver.wait(90)
    if status in (0, -signal.SIGKILL):
        raise StuckError(f"the zombie ended with {status}: {driver.words()}")
    fenced, done = "FENCED" if "FENCED" in driver.log_text else "stopped by Spark", world.done
    try:
        successor.until(lambda: world.done > done, "a batch of the successor alone")
    except StuckError:
        if not successor.ended:
            raise
        fenced += f", and its successor once, too; the driver ended: {successor.process.returncode}: {successor.words()}"
        successor = _again(world)
    return successor, [Injection("zombies", "zombie wakes up", f"{where}: {fenced}", seconds)]


def broker_killed(world: World, driver: Driver, chance: Random) -> tuple[Driver, list[Injection]]:
    """kill -9 of the broker; its supervisor starts it again. It would give up one that dies too often in a minute: until then the driver is
    killed instead."""
    before: list[Injection] = []
    while len(world.broker_kills) == DEATHS - 1 and time.monotonic() - world.broker_kills[0] < WITHIN + 5:
        driver, more = killed(world, driver, chance)
        before += more
    _random_moment(world, driver, chance)
    _, broker = (int(pid) for pid in (world.home / "data" / "kafka" / "alive.lock").read_text().split())
    os.kill(broker, signal.SIGKILL)
    where, began, done = _where(world), time.monotonic(), world.done
    world.broker_kills.append(began)
    try:
        driver.until(lambda: world.done > done + 1, "two batches with the next broker", 180)
    except StuckError:
        if not driver.ended:
            raise
        where += "; the driver ended"
        driver = _again(world)
    return driver, [*before, Injection("brokers", "kill -9 of the broker", where, seconds_since(began))]


def locked(world: World, driver: Driver, chance: Random) -> tuple[Driver, list[Injection]]:
    """Another process has SQLite's lock for some seconds; the job waits for it."""
    seconds = chance.uniform(5, 20)
    with closing(sqlite3.connect(world.place / "decisions.db", isolation_level=None, timeout=60)) as other:
        other.execute("BEGIN IMMEDIATE")
        time.sleep(seconds)
        where, began, before = f"for {seconds:.0f} s, {_where(world)}", time.monotonic(), world.done
        other.execute("ROLLBACK")
    driver.until(lambda: world.done > before, "a batch after the lock")
    return driver, [Injection("locks", "database locked", where, seconds_since(began))]


def partition_added(world: World, driver: Driver, chance: Random) -> tuple[Driver, list[Injection]]:  # noqa: ARG001
    """The topic gets another partition, to which new customers' payments come at once. Not while the others have a backlog: the new one has
    none, so the job's time would go on with it, and what waits in the others would be late."""
    driver.until(lambda: world.behind < KEPT_UP, "a job that keeps up")
    began, before = time.monotonic(), world.done
    number = world.add_partition()
    driver.until(lambda: world.done > before + 1, "two batches with the new partition")
    return driver, [Injection("partitions", "partition added", f"the one of number {number}", seconds_since(began))]


def disk_full(world: World, driver: Driver, chance: Random) -> tuple[Driver, list[Injection]]:
    """No room for another byte where sinks and checkpoint are, until the job has ended or for some seconds; then there is room again, and
    the job is started if it had ended."""
    _random_moment(world, driver, chance)
    filler, where = world.place / "filler", _where(world)
    try:
        with filler.open("wb") as file:
            while True:
                file.write(bytes(65536))
                file.flush()
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
    deadline = time.monotonic() + 30
    while not driver.ended and time.monotonic() < deadline:
        time.sleep(0.1)
    filler.unlink()
    began, before = time.monotonic(), world.done
    if driver.ended:
        driver, where = _again(world), f"{where}; the driver ended: {driver.words().splitlines()[0][:200]}"
    else:
        driver.until(lambda: world.done > before, "a batch once there is room")
    return driver, [Injection("disks", "disk full", where, seconds_since(began))]


FAULTS: dict[str, Fault] = {
    "kills": killed,
    "starts": killed_as_it_starts,
    "points": killed_at_a_point,
    "zombies": zombie,
    "brokers": broker_killed,
    "locks": locked,
    "partitions": partition_added,
    "disks": disk_full,
}


def _is_locked(world: World) -> bool:
    with closing(sqlite3.connect(world.place / "decisions.db", isolation_level=None, timeout=0)) as other:
        try:
            other.execute("BEGIN IMMEDIATE")
            other.execute("ROLLBACK")
        except sqlite3.OperationalError:
            return True
    return False


def _refused(driver: Driver) -> str:
    """The end of a driver that must not start because of the lock."""
    if driver.wait(120) == 0 or "was locked by another process" not in driver.log_text:
        raise StuckError(f"a driver that finds the database locked ended with {driver.process.returncode}: {driver.words()}")
    return "a successor is refused"


def _until_it_dies(driver: Driver, point: str) -> None:
    try:
        status = driver.wait(120)
    finally:
        driver.kill()
    if status != -signal.SIGKILL:
        raise StuckError(f"{point}: the driver ended with {status}: {driver.words()}")


def _random_moment(world: World, driver: Driver, chance: Random) -> None:
    """Some time after it has begun something, or committed it."""
    planned, done = world.planned, world.done
    if chance.random() < 0.7:
        driver.until(lambda: world.planned > planned, "another batch")
    else:
        driver.until(lambda: world.done > done, "the end of a batch")
    time.sleep(chance.uniform(0, MOMENT))


def _again(world: World) -> Driver:
    """The next driver, once it has committed a batch."""
    before = world.done
    driver = world.start()
    driver.until(lambda: world.done > before, "a batch of the next driver")
    return driver


def _where(world: World) -> str:
    """What the dead driver, or the frozen one, was at."""
    if world.planned == world.done:
        return "between two batches"
    there = [sink for sink, batch in sinks.committed(world.place).items() if batch >= world.planned]
    return f"within a batch, written: {' and '.join(there)}" if there else "within a batch, nothing in database or files"
