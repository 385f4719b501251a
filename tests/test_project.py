"""Promises of the project's own files."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
ALL = [*PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"]["fraud"], *PROJECT["dependency-groups"]["dev"]]

BEAM = PROJECT["project"]["optional-dependencies"]["beam"]


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[\s=<>!~;\[]", requirement)[0].lower() for requirement in requirements}


@pytest.mark.parametrize(("lock", "more"), [("requirements.lock", []), ("requirements-beam.lock", BEAM)])
def test_the_lock_has_every_dependency_with_its_hash_and_names_no_host(lock: str, more: list[str]) -> None:
    text = (ROOT / lock).read_text()
    entries = re.findall(r"^(\S.*?)(?<!\\)\n(?=\S|\Z)", text, flags=re.MULTILINE | re.DOTALL)
    assert all(re.match(r"[a-z0-9-]+==\S+", entry) and "--hash=sha256:" in entry for entry in entries)
    assert names([*ALL, *more]) <= names(entries)
    assert "://" not in text
    assert "index" not in text


def test_every_dependency_has_its_reason_written_down() -> None:
    reasons = (ROOT / "docs" / "decisions" / "0002-dependencies.md").read_text()
    unexplained = {name for name in names([*ALL, *BEAM]) if name not in reasons}
    assert not unexplained


def test_the_makefile_has_at_most_a_dozen_targets() -> None:
    (targets,) = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert len(targets.split()) <= 12


def test_every_decision_is_in_the_list_of_decisions() -> None:
    home = ROOT / "docs" / "decisions"
    listed = set(re.findall(r"\]\((\d{4}-.*?\.md)\)", (home / "README.md").read_text()))
    assert listed == {path.name for path in home.glob("[0-9]*.md")}
