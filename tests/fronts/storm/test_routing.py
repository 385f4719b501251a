"""What travels between processes: the same task for the same values everywhere, and notes that ride along with tuples."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

from headrace.fronts.storm.acking import Note, RotatingMap
from headrace.fronts.storm.groupings import stable_hash
from headrace.fronts.storm.seals import secret_of
from headrace.fronts.storm.tasks import Send, Write
from headrace.fronts.storm.topology import layout
from headrace.fronts.storm.tuples import Tuple
from headrace.fronts.storm.wire import Carried, rows, unpacked
from headrace.storm import Bolt, Spout, Topology


@pytest.mark.parametrize(
    ("one", "other"), [(1, 1.0), (True, 1), ("a", "a"), ({"a": 1, "b": 2}, {"b": 2, "a": 1.0}), ({1, 2}, {2, 1}), ((1, "x"), [1, "x"])]
)
def test_values_that_are_equal_go_to_one_task(one, other):
    assert stable_hash([one]) == stable_hash([other])


@pytest.mark.parametrize(("one", "other"), [("a", "b"), (1, "1"), (None, "None"), ([1, 2], [12])])
def test_other_values_have_another_hash(one, other):
    assert stable_hash([one]) != stable_hash([other])


def test_the_hash_is_the_same_in_every_process():
    program = "from headrace.fronts.storm.groupings import stable_hash; print([stable_hash([w]) % 12 for w in ('my', 'dog', 'has', 7)])"
    others = {subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout for _ in range(2)}
    assert others == {str([stable_hash([word]) % 12 for word in ("my", "dog", "has", 7)]) + "\n"}


class Source(Spout):
    outputs = ("n",)


class End(Bolt):
    def process(self, tup):
        pass


class Pair(Topology):
    config = {"topology.workers": 2}
    source = Source.spec()
    end = End.spec(inputs=[source], par=2)


PAIR = layout(Pair)


def sent(n):
    return Send(2, Tuple("source", "default", 1, [n], ["n"], {9: 5}))


RIDES = {
    "a note alone": ([Note(9, 5)], None, [(0, 9, 5)]),
    "two of one root": ([Note(9, 5), Note(9, 3)], None, [(0, 9, 6)]),
    "with a tuple": ([sent(1), Note(9, 5)], None, [(2, 9, 5)]),
    "with the first of two tuples": ([sent(1), sent(2), Note(9, 5)], None, [(2, 9, 5), (2, 0, 0)]),
    "one that came with the tuple": ([Note(9, 5)], Carried(9, 4, 1, 0), [(0, 9, 1)]),
    "two roots, one tuple": ([sent(1), Note(9, 5), Note(8, 7)], None, [(2, 9, 5), (0, 8, 7)]),
    "with a record for a topic": ([Write("out", None, b"x"), Note(9, 5)], None, [(0, 9, 5)]),
    "nothing": ([], None, []),
}


@pytest.mark.parametrize("case", RIDES)
def test_a_note_rides_along_and_notes_of_one_root_become_one(case):
    messages, riding, expected = RIDES[case]
    made = rows(messages, PAIR, *([] if riding is None else [riding]))
    assert [(row.task, row.root, row.value) for row in made] == expected


def test_flags_and_the_spout_stay_with_a_note_that_is_merged():
    (row,) = rows([Note(9, fails=True), Note(9, resets=True)], PAIR, Carried(9, 4, 1, 0))
    assert (row.value, row.spout, row.flags) == (4, 1, 3)


@pytest.mark.parametrize("value", [1, "a", None, b"x", {"a": [1, 2.5]}, (1, 2), lambda: 7])
def test_a_tuple_travels_with_whatever_values_it_has(value):
    (row,) = rows([sent(value)], PAIR)
    tup = unpacked(row.payload, PAIR)
    assert (tup.component, tup.stream, tup.task, tup.roots, tup.fields) == ("source", "default", 1, {9: 5}, ["n"])
    assert tup["n"]() == 7 if callable(value) else tup["n"] == value


@pytest.mark.parametrize("forged", [b"", b"short", b"x" * 16 + pickle.dumps((print, ("run",)), 5)])
def test_what_the_topology_has_not_sealed_is_not_unpickled(forged, capsys):
    with pytest.raises(ValueError, match="was not written by it"):
        unpacked(forged, PAIR)
    assert capsys.readouterr().out == ""


def test_a_topology_keeps_its_secret_for_its_owner(tmp_path):
    secret = secret_of("a/b", tmp_path / "storm")
    (file,) = (tmp_path / "storm").iterdir()
    assert len(secret) == 32
    assert secret_of("a/b", tmp_path / "storm") == secret != secret_of("c", tmp_path / "storm")
    assert file.stat().st_mode & 0o777 == 0o600


def test_what_is_put_again_in_a_rotating_map_is_as_good_as_new():
    kept = RotatingMap(2)
    kept.put("a", 1)
    assert kept.rotate() == {}
    kept.put("a", 1)
    assert kept.rotate() == {}
    assert kept.rotate() == {"a": 1}
    assert len(kept) == 0
