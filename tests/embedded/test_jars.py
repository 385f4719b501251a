"""Jars are fetched once, known by their hash, and their absence is explained. The repository is a directory: no test needs the network."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path

import pytest

from headrace.embedded import jars, places
from headrace.errors import SetupError


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository on disk with the connector's jars, and an empty cache."""
    root = tmp_path / "repository"
    for jar, path in zip(jars._read(jars._HERE / "connector.lock")[1], jars.connector(), strict=True):
        home = root / jar.organisation.replace(".", "/") / jar.name / jar.version
        home.mkdir(parents=True)
        shutil.copy(path, home)
    serve(root.as_uri(), tmp_path, monkeypatch)
    monkeypatch.setenv("HEADRACE_HOME", str(tmp_path / "home"))
    return root


def serve(root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = tmp_path / "settings.xml"
    settings.write_text(
        '<ivysettings><settings defaultResolver="it"/><resolvers>'
        f'<ibiblio name="it" m2compatible="true" usepoms="false" root="{root}"/></resolvers></ivysettings>'
    )
    monkeypatch.setenv("HEADRACE_IVY_SETTINGS", str(settings))


def unplug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A repository at a port where nobody listens; its address."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}/"
    serve(address, tmp_path, monkeypatch)
    return address


@pytest.mark.usefixtures("mirror")
def test_a_set_is_fetched_once_and_then_needs_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not jars.cached("connector")
    first = jars.connector()
    assert jars.cached("connector")
    unplug(tmp_path, monkeypatch)
    assert jars.connector() == first
    assert all(jar.is_file() for jar in first)


@pytest.mark.usefixtures("mirror")
def test_a_damaged_jar_is_fetched_again() -> None:
    damaged = jars.connector()[0]
    whole = damaged.read_bytes()
    damaged.write_bytes(whole[:-1] + b"?")
    assert jars.connector()[0].read_bytes() == whole


def test_a_jar_that_is_not_the_one_in_the_lock_is_refused_by_name(mirror: Path) -> None:
    (forged,) = mirror.rglob("commons-pool2-*.jar")
    forged.write_bytes(b"something else")
    with pytest.raises(SetupError) as refused:
        jars.connector()
    assert f"1 of 5 jars are missing or damaged ({forged.name})" in refused.value.what
    assert not jars.cached("connector")


@pytest.mark.parametrize(
    ("environment", "flags"),
    [
        ({}, []),
        ({"https_proxy": "http://proxy.example:3128"}, ["-Dhttps.proxyHost=proxy.example", "-Dhttps.proxyPort=3128"]),
        ({"http_proxy": "http://proxy.example", "no_proxy": "localhost"}, ["-Dhttp.proxyHost=proxy.example", "-Dhttp.proxyPort=80"]),
    ],
    ids=["no proxy", "https", "http, at its usual port"],
)
def test_ivy_goes_through_the_proxy_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], flags: list[str]
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert jars._proxy() == flags


def test_a_repository_that_never_answers_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(jars, "_FETCH_SECONDS", 3.0)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        serve(f"http://127.0.0.1:{silent.getsockname()[1]}/", tmp_path, monkeypatch)
        with pytest.raises(SetupError) as refused:
            jars.connector()
    assert refused.value.what.startswith("could not fetch Spark's Kafka connector: ")
    assert "Ivy was stopped, because it was not done after 3 seconds." in refused.value.what
    assert "connect to the network once" in refused.value.fix


@pytest.mark.usefixtures("mirror")
def test_a_person_is_told_that_jars_are_fetched_and_not_that_they_are_there(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        jars.connector()
    assert caplog.messages == ["headrace fetches Spark's Kafka connector: 5 jars, this once …"]


def test_the_settings_that_come_along_are_such_that_ivy_reads_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADRACE_IVY_SETTINGS", raising=False)
    assert "BUILD" not in jars._ivy(tmp_path, [])
    assert ":: loading settings ::" in (tmp_path / "ivy.log").read_text()


@pytest.mark.parametrize(("fetch", "what"), [(jars.connector, "Spark's Kafka connector"), (jars.broker, "the Kafka broker")], ids=jars.SETS)
def test_no_network_on_first_start_says_what_was_fetched_and_that_it_is_needed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fetch: object, what: str
) -> None:
    monkeypatch.setenv("HEADRACE_HOME", str(tmp_path / "home"))
    unplug(tmp_path, monkeypatch)
    with pytest.raises(SetupError) as refused:
        fetch()  # type: ignore[operator]
    assert refused.value.what.startswith(f"could not fetch {what}: ")
    assert "Connection refused" in refused.value.what
    assert "connect to the network once" in refused.value.fix
    assert "HEADRACE_IVY_SETTINGS" in refused.value.fix
    (log,) = (places.cache() / "jars").glob("*.log")
    assert str(log) in refused.value.what
