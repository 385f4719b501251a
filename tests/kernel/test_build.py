"""The kernel is compiled once for each content of its sources, whoever asks and however often."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from headrace.errors import SetupError
from headrace.kernel import build

GOOD = "package k\nobject A { def one: Int = 1 }\n"
WRONG = "package k\nobject B { def one: Int = true }\n"


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache and a directory for other sources than the kernel's."""
    monkeypatch.setenv("HEADRACE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(build, "_SOURCES", tmp_path / "scala")
    (tmp_path / "scala").mkdir()
    return tmp_path / "scala"


def classes(jar: Path) -> set[str]:
    with zipfile.ZipFile(jar) as archive:
        return {name for name in archive.namelist() if name.endswith(".class")}


def test_the_jar_has_the_classes_and_is_made_anew_only_when_a_source_changes(sources: Path) -> None:
    (sources / "A.scala").write_text(GOOD)
    first = build.jar()
    made = first.stat().st_mtime_ns
    assert classes(first) == {"k/A.class", "k/A$.class"}
    assert (build.jar(), first.stat().st_mtime_ns) == (first, made)
    (sources / "A.scala").write_text(GOOD.replace("one", "uno"))
    assert build.jar() != first


def test_sources_lie_in_folders_too(sources: Path) -> None:
    (sources / "room").mkdir()
    (sources / "room" / "A.scala").write_text(GOOD)
    assert classes(build.jar()) == {"k/A.class", "k/A$.class"}


def test_a_jar_that_was_cut_short_is_made_again(sources: Path) -> None:
    (sources / "A.scala").write_text(GOOD)
    jar = build.jar()
    os.truncate(jar, 100)
    assert not build.cached()
    assert classes(build.jar()) == {"k/A.class", "k/A$.class"}


def test_a_compile_error_comes_in_the_compilers_words_and_leaves_nothing_behind(sources: Path) -> None:
    (sources / "B.scala").write_text(WRONG)
    with pytest.raises(SetupError) as refused:
        build.jar()
    assert f"{sources}/B.scala:2: error: type mismatch" in refused.value.what
    assert not build.cached()


@pytest.mark.usefixtures("sources")
def test_no_sources_make_an_empty_jar() -> None:
    assert classes(build.jar()) == set()


def test_two_processes_that_need_the_kernel_at_once_compile_it_once(tmp_path: Path) -> None:
    program = """
from headrace.kernel import build
compile, count = build._scalac, []
build._scalac = lambda *arguments: (count.append(1), compile(*arguments))
print(build.jar(), len(count))
"""
    environment = os.environ | {"HEADRACE_HOME": str(tmp_path)}
    both = [subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [process.communicate(timeout=240)[0].split() for process in both]
    (jar,) = {path for path, _ in outputs}
    assert sorted(compiled for _, compiled in outputs) == ["0", "1"]
    assert any(name.endswith("headrace/Extensions.class") for name in classes(Path(jar)))
