"""The rules' numbers are validated before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace import HeadraceError
from headrace_fraud.deciding.settings import Rules, load


def test_without_settings_the_numbers_are_those_of_the_definition() -> None:
    assert load() == Rules(velocity_seconds=10, memory_minutes=10, distance_km=100, location_hours=24, ahead_hours=24)


def test_a_flag_goes_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text("velocity_seconds = 5\ndistance_km = 50\n")
    assert load(file, ["distance_km=70"]) == Rules(velocity_seconds=5, distance_km=70)


@pytest.mark.parametrize(
    ("text", "pairs", "what"),
    [
        ("velocity_seconds = -1", [], "velocity_seconds: Input should be greater than or equal to 0"),
        ("velocity_seconds = 'x'", [], "velocity_seconds: Input should be a valid number, unable to parse string as a number"),
        ("distance_km = nan", [], "distance_km: Input should be a finite number"),
        ("speed = 3", [], "speed: Extra inputs are not permitted"),
        ("", ["memory_minutes=0.1"], "the rules: velocity_seconds is longer than memory_minutes, and what is forgotten cannot be compared"),
        ("", ["memory_minutes"], "--rule memory_minutes sets nothing"),
        ("velocity_seconds = ", [], "rules.toml is no TOML: Invalid value (at end of document)"),
    ],
)
def test_a_number_that_cannot_be_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, pairs: list[str], what: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rules.toml").write_text(text)
    with pytest.raises(HeadraceError) as error:
        load(Path("rules.toml"), pairs)
    assert error.value.what == what
    assert error.value.fix


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(HeadraceError) as error:
        load(Path("absent.toml"))
    assert error.value.what == "the settings in absent.toml cannot be read: No such file or directory"
