"""kill -9 at every line that matters, without Spark: each row is there once; and with a guard turned off it is seen that it is not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tests.io.database import killed
from tests.io.database.places import Place

ROOT = Path(__file__).parents[3]
POINTS = [
    "database: begun", "database: half of the rows:2", "database: rows written:2", "database: about to commit:2", "database: committed:2",
    "job: written:2",
]  # fmt: skip
ONCE = Counter(range(killed.BATCHES * killed.SIZE))


def write(place: Place, log: Path, guard: str, *points: str) -> Counter[int]:
    """What is there after the program was killed at each of these points, and came to its end in the last run."""
    path = os.pathsep.join(map(str, (ROOT, ROOT / "src", ROOT / "apps" / "fraud")))
    env = os.environ | {"TEST_PLACE": place.url, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, str(Path(killed.__file__)), str(log), guard, *points], env=env, timeout=120, check=False)
    assert done.returncode == 0
    return Counter(number for (number,) in place.ask(f"SELECT id FROM {place.database.name('rows')}"))


def test_killed_at_every_point_each_row_is_there_once(place: Place, tmp_path: Path) -> None:
    assert write(place, tmp_path / "log", "", *POINTS) == ONCE


@pytest.mark.parametrize(
    ("guard", "point"), [("the batch's number", "database: committed:3"), ("the transaction", "database: rows written:3")]
)
def test_without_a_guard_the_same_kill_is_seen(place: Place, tmp_path: Path, guard: str, point: str) -> None:
    assert write(place, tmp_path / "log", guard, point) != ONCE
