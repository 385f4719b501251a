"""A real MariaDB server for the tests, in a directory of its own: it listens on loopback and wants a password."""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pymysql
from tests.fraud.postgres import _ESCAPED, PASSWORD, _free_port


@dataclass
class Server:
    home: Path
    port: int
    process: subprocess.Popen[bytes] | None = None
    _names: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def connect(self, database: str | None = None, password: str = PASSWORD) -> pymysql.Connection:
        return pymysql.connect(host="127.0.0.1", port=self.port, user="headrace", password=password, database=database, autocommit=True)

    def create(self) -> str:
        """The URL of a new, empty database."""
        name = f"test_{next(self._names)}"
        with self.connect() as connection:
            connection.cursor().execute(f"CREATE DATABASE `{name}`")
        return f"mysql://headrace:{_ESCAPED}@127.0.0.1:{self.port}/{name}"

    def start(self) -> None:
        user = ["--user=mysql"] if os.geteuid() == 0 else []
        options = [
            f"--datadir={self.home / 'data'}", f"--socket={self.home / 'socket'}", f"--port={self.port}", "--bind-address=127.0.0.1",
            f"--pid-file={self.home / 'pid'}", f"--init-file={self.home / 'init.sql'}", "--innodb-flush-log-at-trx-commit=2",
            "--innodb-buffer-pool-size=32M", "--skip-name-resolve",
        ]  # fmt: skip
        with (self.home / "log").open("ab") as log:
            self.process = subprocess.Popen([_program("mariadbd"), "--no-defaults", *user, *options], stdout=log, stderr=log)
        deadline = time.monotonic() + 120
        while True:
            try:
                self.connect().close()
                return
            except pymysql.MySQLError:
                assert self.process.poll() is None, (self.home / "log").read_text()
                assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.1)

    def stop(self) -> None:
        """At once, as a crash would."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()


@contextmanager
def running() -> Iterator[Server]:
    home = Path(tempfile.mkdtemp(prefix="headrace-mariadb-"))
    try:
        (home / "data").mkdir()
        grant = f"CREATE USER IF NOT EXISTS headrace@'%' IDENTIFIED BY '{PASSWORD}';\nGRANT ALL ON *.* TO headrace@'%';\n"
        (home / "init.sql").write_text(grant)
        if os.geteuid() == 0:
            account = pwd.getpwnam("mysql")
            for path in (home, home / "data", home / "init.sql"):
                os.chown(path, account.pw_uid, account.pw_gid)
        user = ["--user=mysql"] if os.geteuid() == 0 else []
        install = [_program("mariadb-install-db"), "--no-defaults", *user, f"--datadir={home / 'data'}", "--skip-test-db"]
        done = subprocess.run(install, capture_output=True, text=True, timeout=180, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        server = Server(home, _free_port())
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(home)


def _program(name: str) -> str:
    place = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    assert place, f"{name} is missing: run .ci/packages, or install MariaDB's server"
    return place
