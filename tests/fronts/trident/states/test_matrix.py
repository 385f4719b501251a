"""Which spouts and states are exactly once: every cell of the table is attacked by a failure, and by kill -9; so is the tenth case.

Two dogs come to four: 6 is right.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.fronts.trident.states import cells

from headrace.trident import EXACTLY_ONCE, FailedException, LocalCluster, MemoryMapState, SqliteMapState, StateFactory

NON, TRANSACTIONAL, OPAQUE = "non-transactional", "transactional", "opaque"
RIGHT = 6

# spout, state, what the replay holds, what comes of it
FAILURES = [
    (NON, NON, "again later", 8),
    (NON, TRANSACTIONAL, "again later", 8),
    (NON, OPAQUE, "again later", 8),
    (TRANSACTIONAL, NON, "same", 8),
    (TRANSACTIONAL, TRANSACTIONAL, "same", 6),
    (TRANSACTIONAL, OPAQUE, "same", 6),
    (OPAQUE, NON, "same", 8),
    (OPAQUE, NON, "fewer", 8),
    (OPAQUE, TRANSACTIONAL, "same", 6),
    (OPAQUE, TRANSACTIONAL, "fewer", 7),
    (OPAQUE, TRANSACTIONAL, "more", 5),
    (OPAQUE, OPAQUE, "same", 6),
    (OPAQUE, OPAQUE, "fewer", 6),
    (OPAQUE, OPAQUE, "more", 6),
    (OPAQUE, "opaque, bare", "none", 8),  # the tenth case: the gap in the last yes
    (OPAQUE, OPAQUE, "none", 6),  # over a store that can rewind there is none
]


def struck(spout: str, factory: StateFactory, story: str, home: Path) -> int:
    """How many dogs there are after a batch that failed behind the state was replayed, in this process."""
    strikes = []

    def fail() -> None:
        strikes.append(1)
        raise FailedException("elsewhere")

    spouts: dict[str, Any] = {
        NON: lambda: cells.AtLeastOnce(home),
        TRANSACTIONAL: cells.Transactional,
        OPAQUE: lambda: cells.Opaque(cells.STORIES[story]),
    }
    topology = cells.counting(spouts[spout](), factory, fail)
    (guarantee,) = topology.guarantees()
    assert guarantee.spout == spout
    with LocalCluster(home=home) as cluster:
        running = cluster.submitTopology("dogs", {}, topology)
        running.process_all()
        assert (len(strikes), running.failures) == (1, 1)
        (state,) = running._batches.states(topology.graph.states[0])
        return state.multiGet([["dog"]])[0]  # type: ignore[no-any-return]


@pytest.mark.parametrize(("spout", "state", "story", "dogs"), FAILURES)
def test_a_batch_that_failed_behind_the_state_and_is_replayed(spout: str, state: str, story: str, dogs: int, tmp_path: Path) -> None:
    bare = state == "opaque, bare" or story != "none"  # the rules alone, over a dict
    factory = cells.MAPS[state.removesuffix(", bare")].factory(cells.BareStore) if bare else MemoryMapState.Factory()
    assert struck(spout, factory, story, tmp_path) == dogs


@pytest.mark.parametrize("story", ["same", "fewer", "more", "none"])
def test_the_stores_of_headrace_are_right_whatever_the_replay_of_an_opaque_spout_holds(story: str, tmp_path: Path) -> None:
    for factory in (MemoryMapState.Factory(), SqliteMapState.opaque(tmp_path / "state.db")):
        (tmp_path / "dogs.db").unlink(missing_ok=True)
        assert struck(OPAQUE, factory, story, tmp_path) == RIGHT


KILLS = [
    (NON, NON, "again later", 8),
    (NON, TRANSACTIONAL, "again later", 8),
    (NON, OPAQUE, "again later", 8),
    (TRANSACTIONAL, NON, "same", 8),
    (TRANSACTIONAL, TRANSACTIONAL, "same", 6),
    (TRANSACTIONAL, OPAQUE, "same", 6),
    (OPAQUE, NON, "fewer", 8),
    (OPAQUE, TRANSACTIONAL, "fewer", 7),
    (OPAQUE, TRANSACTIONAL, "more", 5),
    (OPAQUE, OPAQUE, "fewer", 6),
    (OPAQUE, "opaque, bare", "none", 8),
    (OPAQUE, OPAQUE, "none", 6),
]


def killed(spout: str, state: str, story: str, home: Path) -> int:
    """How many dogs there are in SQLite after the process was killed in the middle of the third batch, and started again."""
    home.mkdir()
    command = [sys.executable, cells.__file__, spout, state, story, str(home)]
    assert subprocess.run(command, check=False, timeout=60).returncode == -signal.SIGKILL
    subprocess.run(command, check=True, timeout=60)
    return cells.stored(home)


@pytest.fixture(scope="module")
def after_kills(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str, str], int]:
    """All of them, two at a time: most of it is waiting for Python to start."""
    home = tmp_path_factory.mktemp("kills")
    with ThreadPoolExecutor(2) as pool:
        runs = {case[:3]: pool.submit(killed, *case[:3], home / str(number)) for number, case in enumerate(KILLS)}
        return {case: run.result() for case, run in runs.items()}


@pytest.mark.parametrize(("spout", "state", "story", "dogs"), KILLS)
def test_a_process_that_is_killed_in_the_batch_and_started_again(
    spout: str, state: str, story: str, dogs: int, after_kills: dict[tuple[str, str, str], int]
) -> None:
    assert after_kills[spout, state, story] == dogs


@pytest.mark.parametrize("cases", [FAILURES, KILLS], ids=["failures", "kills"])
def test_the_table_says_what_the_attacks_show(cases: list[tuple[str, str, str, int]]) -> None:
    shown = {(spout, state): all(case[3] == RIGHT for case in cases if case[:2] == (spout, state)) for spout, state, *_ in cases}
    assert shown.pop((OPAQUE, "opaque, bare")) is False
    assert shown == EXACTLY_ONCE


def test_the_guide_has_the_same_table() -> None:
    page = (Path(__file__).parents[4] / "docs" / "guide" / "trident.md").read_text()
    rows = re.findall(r"^\| \*\*(\S+) spout\*\* \| (\S+) \| (\S+) \| (\S+) \|$", page, flags=re.MULTILINE)
    table = {
        (spout, state): answer == "**yes**"
        for spout, *answers in rows
        for state, answer in zip((NON, TRANSACTIONAL, OPAQUE), answers, strict=True)
    }
    assert table == EXACTLY_ONCE
