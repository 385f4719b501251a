"""Where headrace keeps things, and what it says when it cannot."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import headrace as hr
from headrace.embedded import places
from headrace.errors import SetupError

NOBODY = 65534


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in ("HEADRACE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("environment", "cache", "data"),
    [
        ({}, ".cache/headrace", ".local/share/headrace"),
        ({"XDG_CACHE_HOME": "{home}/c", "XDG_DATA_HOME": "{home}/d"}, "c/headrace", "d/headrace"),
        ({"XDG_CACHE_HOME": "relative", "XDG_DATA_HOME": ""}, ".cache/headrace", ".local/share/headrace"),
        ({"HEADRACE_HOME": "{home}/h", "XDG_CACHE_HOME": "{home}/c"}, "h/cache", "h/data"),
        ({"HEADRACE_HOME": "~/h"}, "h/cache", "h/data"),
    ],
    ids=["the user's own directories", "XDG", "a relative XDG path is ignored", "HEADRACE_HOME goes first", "HEADRACE_HOME with a tilde"],
)
def test_places_follow_the_environment(
    home: Path, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], cache: str, data: str
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value.format(home=home))
    assert (places.cache(), places.data()) == (home / cache, home / data)
    assert places.cache().is_dir()
    assert places.data().is_dir()
    assert hr.data_directory() == places.data()


@contextmanager
def without_privileges() -> Iterator[None]:
    """The administrator may write anywhere: be somebody else for a moment."""
    privileged = os.geteuid() == 0
    if privileged:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if privileged:
            os.seteuid(0)


def test_a_directory_without_permission_is_named_with_the_way_out(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = home / "closed"
    closed.mkdir(mode=0o555)
    monkeypatch.setenv("HEADRACE_HOME", str(closed))
    with without_privileges(), pytest.raises(SetupError) as refused:
        places.cache()
    assert refused.value.what == f"headrace cannot write to {closed}/cache: Permission denied"
    assert "HEADRACE_HOME" in refused.value.fix


@pytest.mark.parametrize("name", ["a,b", "a:b"])
def test_a_directory_whose_name_java_would_take_for_two_is_refused(name: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_HOME", str(home / name))
    with pytest.raises(SetupError) as refused:
        places.data()
    assert refused.value.what == f"headrace cannot use {home / name}/data: Java, Spark and Kafka take {name[1]!r} for the end of a path"
    assert "HEADRACE_HOME" in refused.value.fix
    assert not (home / name).exists()


def test_a_file_in_the_way_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "file").touch()
    monkeypatch.setenv("HEADRACE_HOME", str(home / "file"))
    with pytest.raises(SetupError) as refused:
        places.data()
    assert refused.value.what == f"headrace cannot write to {home}/file/data: Not a directory"
