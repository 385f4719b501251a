"""The jars that PySpark does not bring: Spark's Kafka connector, and the Kafka broker.

Each set is a lock in this package (`connector.lock`, `broker.lock`): coordinates and SHA-256. Spark's bundled Ivy fetches a set once into
the cache; from then on no network is needed. A jar whose bytes are not those of the lock, however they got there, is fetched again.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies

from headrace.embedded import java, locks, places, spark
from headrace.errors import SetupError

_HERE = Path(__file__).parent
_FETCH_SECONDS = 900.0  # for a set; behind a firewall that drops packets Ivy would wait for each jar anew
_TOO_LONG = "Ivy was stopped, because it was not done after"


@dataclass(frozen=True)
class Jar:
    """One line of a lock."""

    organisation: str
    name: str
    version: str
    sha256: str

    @property
    def file(self) -> str:
        return f"{self.name}-{self.version}.jar"


SETS = {"connector": "Spark's Kafka connector", "broker": "the Kafka broker"}


def connector() -> list[Path]:
    """What a Spark session needs to read and write Kafka, and Avro."""
    return fetched(_HERE / "connector.lock", SETS["connector"])


def broker() -> list[Path]:
    """What a Java needs to run the Kafka broker."""
    return fetched(_HERE / "broker.lock", SETS["broker"])


def cached(name: str) -> bool:
    """Whether a set is complete in the cache, so that no network is needed for it."""
    return not _wrong(*_read(_HERE / f"{name}.lock"))


def fetched(lock: Path, meaning: str) -> list[Path]:
    """The jars of a lock, in its order; fetched, unless they are in the cache."""
    home, jars = _read(lock)
    if _wrong(home, jars):
        home.parent.mkdir(exist_ok=True)
        with locks.exclusive(home.with_suffix(".lock")):
            if _wrong(home, jars):  # unless another process fetched it while this one waited
                _fetch(home, jars, meaning)
    return [home / jar.file for jar in jars]


def _read(lock: Path) -> tuple[Path, list[Jar]]:
    """Where a set is to be, and what it consists of."""
    text = lock.read_text()
    # A directory for each content of the lock: two versions of headrace do not fetch over each other.
    home = places.cache() / "jars" / f"{lock.stem}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    return home, [_parse(line) for line in text.splitlines() if line and not line.startswith("#")]


def _parse(line: str) -> Jar:
    coordinates, sha256 = line.split()
    organisation, name, version = coordinates.split(":")
    return Jar(organisation, name, version, sha256)


def _wrong(home: Path, jars: list[Jar]) -> list[str]:
    return [jar.file for jar in jars if _sha256(home / jar.file) != jar.sha256]


def _sha256(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None


def _fetch(home: Path, jars: list[Jar], meaning: str) -> None:
    # A warning, because that is what Python shows of a library unless it is told otherwise; who waits for minutes shall know what for.
    logging.getLogger(__name__).warning("headrace fetches %s: %d jars, this once …", meaning, len(jars))
    with tempfile.TemporaryDirectory(prefix=f"{home.name}.", dir=home.parent) as scratch:
        ivy = _ivy(Path(scratch), jars)
        fetched = Path(scratch) / "fetched"
        wrong = _wrong(fetched, jars)
        if wrong:
            log = home.with_suffix(".log")
            log.write_text(ivy)
            raise SetupError(
                f"could not fetch {meaning}: {len(wrong)} of {len(jars)} jars are missing or damaged ({', '.join(wrong[:3])}"
                f"{', …' if len(wrong) > 3 else ''}). {_reason(ivy)} Ivy's full output: {log}",
                fix="connect to the network once (afterwards none is needed); for a mirror or a proxy set HEADRACE_IVY_SETTINGS to an Ivy "
                f"settings file of yours; or copy {home} from a machine that has it",
            )
        shutil.rmtree(home, ignore_errors=True)
        fetched.rename(home)


def _ivy(scratch: Path, jars: list[Jar]) -> str:
    """Run Ivy with everything it writes below `scratch`; what it said."""
    module = scratch / "ivy.xml"
    module.write_text(
        '<ivy-module version="2.0"><info organisation="headrace" module="jars"/><configurations><conf name="default"/></configurations>'
        "<dependencies>"
        + "".join(f'<dependency org="{j.organisation}" name="{j.name}" rev="{j.version}" transitive="false" conf="default"/>' for j in jars)
        + "</dependencies></ivy-module>"
    )
    settings = os.environ.get("HEADRACE_IVY_SETTINGS", _HERE / "ivysettings.xml")
    (classpath,) = spark.jars().glob("ivy-*.jar")
    ivy = java.find().command(*_proxy(), "-cp", classpath, "org.apache.ivy.Main")
    arguments = ["-settings", str(settings), "-ivy", str(module), "-cache", str(scratch / "cache")]
    retrieve = ["-retrieve", f"{scratch}/fetched/[artifact]-[revision].[ext]"]
    log = scratch / "ivy.log"
    with log.open("wb") as output:
        try:
            subprocess.run([*ivy, *arguments, *retrieve], stdout=output, stderr=output, cwd=scratch, timeout=_FETCH_SECONDS)
        except subprocess.TimeoutExpired:
            output.write(f"\n{_TOO_LONG} {_FETCH_SECONDS:.0f} seconds".encode())
    return log.read_text(errors="replace")


def _proxy() -> list[str]:
    """The proxy that Python's own tools use, in Java's words: it does not look at `https_proxy`."""
    flags = []
    for scheme, address in getproxies().items():
        proxy = urlsplit(address)
        if scheme in ("http", "https") and proxy.hostname:
            flags += [f"-D{scheme}.proxyHost={proxy.hostname}", f"-D{scheme}.proxyPort={proxy.port or 80}"]
    return flags


def _reason(ivy: str) -> str:
    """The line of Ivy's output that tells most: the network's trouble rather than the long list of what is missing."""
    lines = [line.strip() for line in ivy.splitlines()]
    if lines and lines[-1].startswith(_TOO_LONG):
        return f"{lines[-1]}."
    telling = [line for line in lines if "Exception" in line or "Server access error" in line or "[FAILED" in line]
    return f"Ivy says: {telling[0]}." if telling else ""
