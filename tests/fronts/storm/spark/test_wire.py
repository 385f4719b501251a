"""What travels between processes: notes that ride along with tuples, and seals."""

from __future__ import annotations

import pickle

import pytest

from headrace.definitions.seals import secret_of
from headrace.fronts.storm.graph.tuples import Tuple
from headrace.fronts.storm.spark.wire import Carried, rows, unpacked
from headrace.fronts.storm.tasks.acking import Note
from headrace.fronts.storm.tasks.messages import Send, Write
from headrace.fronts.storm.topologies.topology import layout
from headrace.storm import Bolt, Spout, Topology


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
    with pytest.raises(ValueError, match="was not sealed with the secret"):
        unpacked(forged, PAIR)
    assert capsys.readouterr().out == ""


def test_a_topology_keeps_its_secret_for_its_owner(tmp_path):
    secret = secret_of("a/b", tmp_path / "storm")
    (file,) = (tmp_path / "storm").iterdir()
    assert len(secret) == 32
    assert secret_of("a/b", tmp_path / "storm") == secret != secret_of("c", tmp_path / "storm")
    assert file.stat().st_mode & 0o777 == 0o600
