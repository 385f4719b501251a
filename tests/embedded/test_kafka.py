"""The embedded broker: one for all who ask, gone with the last of them, however they end."""

from __future__ import annotations

import os
import pty
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from subprocess import PIPE

import psutil
import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from tests.waiting import eventually

from headrace.embedded import kafka, kept, locks, places
from headrace.errors import SetupError

OWNER = "import sys; from headrace.embedded import kafka; print(kafka.ensure(), flush=True); sys.stdin.read()"


class Owner:
    """A program that uses the broker until it is told to end."""

    def __init__(self, headrace_home: Path) -> None:
        environment = os.environ | {"HEADRACE_HOME": str(headrace_home)}
        self.process = subprocess.Popen([sys.executable, "-c", OWNER], env=environment, stdin=PIPE, stdout=PIPE, text=True)

    @property
    def address(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def end(self) -> None:
        self.process.communicate(timeout=60)

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=60)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A data directory without a broker, in a place with a blank and other letters in its name; what a test leaves running is stopped."""
    place = tmp_path / "a höme Ω𝄞"
    place.mkdir()
    (place / "cache").symlink_to(places.cache())
    monkeypatch.setenv("HEADRACE_HOME", str(place))
    yield place / "data" / "kafka"
    kafka.down()


@pytest.fixture
def owner(home: Path) -> Iterator[Callable[[], Owner]]:
    """Starts programs that use the broker in `home`, and kills those that a test leaves."""
    owners: list[Owner] = []

    def start() -> Owner:
        owners.append(Owner(home.parents[1]))
        return owners[-1]

    yield start
    for started in owners:
        if started.process.returncode is None:
            started.kill()


def pids(home: Path) -> tuple[int, int]:
    """Supervisor and broker."""
    supervisor, broker = map(int, (home / "alive.lock").read_text().split())
    return supervisor, broker


def running(pid: int) -> bool:
    with suppress(psutil.NoSuchProcess):
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    return False


def client(address: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": address, "reconnect.backoff.max.ms": 500})  # a broker that was killed takes a while to be back


def topics(address: str) -> set[str]:
    return set(client(address).list_topics(timeout=120).topics)


def create(address: str, name: str) -> None:
    admin = client(address)  # it must live until it has the answer
    admin.create_topics([NewTopic(name, 1)])[name].result(timeout=120)


def test_two_programs_at_once_share_one_broker_that_goes_with_the_last(home: Path, owner: Callable[[], Owner]) -> None:
    first, second = owner(), owner()
    address = first.address
    assert address == second.address
    both = pids(home)
    first.end()
    assert topics(address) == set()
    second.end()
    assert eventually(lambda: not any(map(running, both)), within=90)
    assert kafka.status() is None


def test_a_broker_whose_owner_was_killed_is_gone_within_seconds(home: Path, owner: Callable[[], Owner]) -> None:
    killed = owner()
    assert killed.address
    both = pids(home)
    killed.kill()
    assert eventually(lambda: not any(map(running, both)), within=90)


def test_a_killed_supervisor_takes_the_broker_along_and_the_next_program_starts_another_with_the_same_topics(
    home: Path, owner: Callable[[], Owner]
) -> None:
    first = owner()
    create(first.address, "kept")
    supervisor, broker = pids(home)
    os.kill(supervisor, signal.SIGKILL)
    assert eventually(lambda: not running(broker), within=90)
    assert kafka.status() is None
    assert topics(owner().address) == {"kept"}


def test_a_killed_broker_comes_back_at_the_same_address_with_the_same_topics(home: Path, owner: Callable[[], Owner]) -> None:
    address = owner().address
    create(address, "kept")
    _, broker = pids(home)
    os.kill(broker, signal.SIGKILL)
    assert eventually(lambda: pids(home)[1] != broker, within=90)
    assert topics(address) == {"kept"}


def test_up_keeps_the_broker_without_users_until_down(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    up = [sys.executable, "-c", "from headrace.embedded import kafka; print(kafka.up().bootstrap)"]
    address = subprocess.run(up, capture_output=True, text=True, check=True).stdout.strip()
    both = pids(home)
    status = kafka.status()
    assert status == kafka.Broker(address, home / "log", home / "broker.log", kept=True)
    assert topics(address) == set()
    with monkeypatch.context() as patched:
        patched.setenv("PATH", str(home / "nothing"))  # no `ps`, as in many containers
        assert kafka.down()
    assert not any(map(running, both))
    assert kafka.status() is None
    assert not kafka.down()


def test_a_broker_comes_back_at_its_port_unless_that_is_taken(home: Path) -> None:
    first = kafka.up().bootstrap
    create(first, "kept")
    programs = client(first)  # which has the address, and keeps it
    assert kafka.down()
    assert kafka.up().bootstrap == first
    assert set(programs.list_topics(timeout=120).topics) == {"kept"}
    assert kafka.down()
    with socket.create_server(("127.0.0.1", int(first.split(":")[1]))):
        assert kafka.up().bootstrap != first
    assert (home / "keep").exists()


def test_a_kept_broker_is_in_the_session_of_its_terminal_and_outlives_it(home: Path) -> None:
    shell, terminal = pty.fork()
    if shell == 0:
        os.execv(
            sys.executable,
            [sys.executable, "-c", "from headrace.embedded import kafka; import signal; print(kafka.up().bootstrap); signal.pause()"],
        )
    assert os.read(terminal, 100).startswith(b"127.0.0.1:")
    both = pids(home)
    assert {os.getsid(pid) for pid in both} == {shell}  # where priorities hold among it and those who use it
    os.close(terminal)  # the signal of a terminal that is gone ends what runs in its foreground
    assert os.waitstatus_to_exitcode(os.waitpid(shell, 0)[1]) == -signal.SIGHUP
    status = kafka.status()
    assert status is not None
    assert topics(status.bootstrap) == set()
    assert pids(home) == both


def test_the_broker_listens_on_the_loopback_address_only(owner: Callable[[], Owner]) -> None:
    host, port = owner().address.split(":")
    assert host == "127.0.0.1"
    with socket.create_connection((host, int(port)), timeout=10):
        pass
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.2", int(port)), timeout=10)  # reached by one that listens on every address


def test_down_without_a_broker_says_so(home: Path) -> None:
    assert not kafka.down()
    assert home.is_dir()


def test_the_address_in_the_environment_is_used_and_nothing_started(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(kafka.ADDRESS, "broker.example:9092")
    assert kafka.ensure() == "broker.example:9092"
    assert not home.exists()


def test_files_of_a_broker_that_is_gone_are_not_trusted(home: Path) -> None:
    home.mkdir(parents=True)
    (home / "address.json").write_text('{"bootstrap": "127.0.0.1:9"}')
    (home / "keep").touch()
    (home / "alive.lock").write_text(f"{os.getpid()} {os.getpid()}")
    assert kafka.status() is None
    assert not kafka.down()


def test_a_stranger_with_the_pid_of_a_dead_broker_is_left_alone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home.mkdir(parents=True)
    monkeypatch.setattr(kept, "_STOP_SECONDS", 0.1)
    with locks.exclusive(home / "alive.lock"):
        (home / "alive.lock").write_text(f"{os.getpid()} {os.getpid()}")
        with pytest.raises(SetupError) as refused:
            kafka.down()
    assert str(os.getpid()) in refused.value.fix


@pytest.mark.usefixtures("home")
def test_a_port_that_is_taken_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(SetupError) as refused:
            kafka.up(port=port)
    assert refused.value.what == f"the Kafka broker cannot listen at 127.0.0.1:{port}: Address already in use"
    assert kafka.status() is None


def test_damaged_storage_is_an_error_with_the_log_and_its_telling_line(home: Path) -> None:
    (home / "log").mkdir(parents=True)
    (home / "log" / "meta.properties").write_text("version=1\ncluster.id=other\nnode.id=7\n")
    with pytest.raises(SetupError) as refused:
        kafka.up()
    assert "Stored node id 7 doesn't match" in refused.value.what
    assert str(home / "broker.log") in refused.value.what
    assert str(home / "log") in refused.value.fix
    assert kafka.status() is None


def test_storage_that_cannot_be_made_is_an_error_with_the_reason(home: Path) -> None:
    home.mkdir(parents=True)
    (home / "log").write_text("a file where a directory should be")
    with pytest.raises(SetupError) as refused:
        kafka.up()
    assert refused.value.what.startswith("the Kafka broker's storage could not be made: ")
    shutil.rmtree(home)
