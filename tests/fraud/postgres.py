"""A real PostgreSQL server for the tests, in a directory of its own: it listens on loopback and wants a password."""

from __future__ import annotations

import contextlib
import itertools
import os
import pwd
import random
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from tests.waiting import eventually

PASSWORD = "s3cret%/@:word"
_ESCAPED = "s3cret%25%2F%40%3Aword"


@dataclass
class Server:
    home: Path
    port: int
    _names: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def url(self, database: str = "postgres", *, user: str = "headrace", password: str | None = _ESCAPED) -> str:
        secret = "" if password is None else f":{password}"
        return f"postgresql://{user}{secret}@127.0.0.1:{self.port}/{database}"

    def create(self, options: str = "") -> str:
        """The URL of a new, empty database."""
        name = f"test_{next(self._names)}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}" {options}'.encode())
        return self.url(name)

    def control(self, *arguments: str) -> None:
        _run("pg_ctl", "-D", str(self.home / "data"), "-w", "-t", "170", *arguments)

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='{self.home}' -c fsync=off"
        self.control("start", "-l", str(self.home / "log"), "-o", options)

    def stop(self) -> None:
        self.control("stop", "-m", "immediate")

    @contextmanager
    def tls(self) -> Iterator[Path]:
        """It takes connections by TLS, too, with a certificate for 127.0.0.1 that nobody else has signed; that certificate."""
        certificate, key = self.home / "data" / "server.crt", self.home / "data" / "server.key"
        signed(certificate, key)
        for file in (certificate, key):
            if user := _user():
                shutil.chown(file, user)
        self._set_tls("on")
        try:
            yield certificate
        finally:
            self._set_tls("off")

    def _set_tls(self, value: str) -> None:
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f"ALTER SYSTEM SET ssl = {value}".encode())
            connection.execute("SELECT pg_reload_conf()")
            assert eventually(lambda: connection.execute("SHOW ssl").fetchone() == (value,))


def signed(certificate: Path, key: Path) -> None:
    """A new key, and its own certificate for 127.0.0.1."""
    whose = ["-subj", "/CN=headrace", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *whose, *files], check=True, capture_output=True, timeout=60
    )
    key.chmod(0o600)


@contextmanager
def running() -> Iterator[Server]:
    home = Path(tempfile.mkdtemp(prefix="headrace-postgres-"))
    try:
        (home / "password").write_text(PASSWORD)
        if user := _user():
            account = pwd.getpwnam(user)
            for path in (home, home / "password"):
                os.chown(path, account.pw_uid, account.pw_gid)
        _run(
            "initdb", "-D", str(home / "data"), "-U", "headrace", f"--pwfile={home / 'password'}", "-A", "scram-sha-256", "-E", "UTF8",
            "--locale=C", "--no-sync",
        )  # fmt: skip
        server = Server(home, _free_port())
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(home)


def _user() -> str | None:
    """PostgreSQL refuses to run as root: the user that its package makes."""
    return "postgres" if os.geteuid() == 0 else None


def _run(program: str, *arguments: str) -> None:
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{program}"), key=lambda path: int(path.parts[-3]))
    place = str(found[-1]) if found else shutil.which(program)
    assert place, f"{program} is missing, in /usr/lib/postgresql/*/bin and in PATH: run .ci/packages, or install PostgreSQL's server"
    user = _user()
    groups: dict[str, object] = {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []} if user else {}
    done = subprocess.run(  # to a file, not a pipe: the server inherits it, and a pipe would stay open as long as it runs
        [place, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/", timeout=180, env={"LC_ALL": "C"}, check=False,
        **groups,  # type: ignore[call-overload]
    )  # fmt: skip
    assert done.returncode == 0, f"{program} ended with {done.returncode}"


def _free_port() -> int:
    """One that is free, and below those that the system hands out by itself: nobody is given it before the server has it."""
    for port in random.SystemRandom().sample(range(20_000, 32_000), 100):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("there is no free port")
