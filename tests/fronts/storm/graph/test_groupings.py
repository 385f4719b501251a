"""The same task for the same values, in every process."""

from __future__ import annotations

import subprocess
import sys

import pytest

from headrace.fronts.storm.graph.groupings import stable_hash


@pytest.mark.parametrize(
    ("one", "other"), [(1, 1.0), (True, 1), ("a", "a"), ({"a": 1, "b": 2}, {"b": 2, "a": 1.0}), ({1, 2}, {2, 1}), ((1, "x"), [1, "x"])]
)
def test_values_that_are_equal_go_to_one_task(one, other):
    assert stable_hash([one]) == stable_hash([other])


@pytest.mark.parametrize(("one", "other"), [("a", "b"), (1, "1"), (None, "None"), ([1, 2], [12])])
def test_other_values_have_another_hash(one, other):
    assert stable_hash([one]) != stable_hash([other])


def test_the_hash_is_the_same_in_every_process():
    program = (
        "from headrace.fronts.storm.graph.groupings import stable_hash; print([stable_hash([w]) % 12 for w in ('my', 'dog', 'has', 7)])"
    )
    others = {subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout for _ in range(2)}
    assert others == {str([stable_hash([word]) % 12 for word in ("my", "dog", "has", 7)]) + "\n"}
