"""Topologies in YAML, and those of the command `headrace storm run`."""

from __future__ import annotations

import sys

import pytest

from headrace.errors import DefinitionError
from headrace.storm import complete_topology, load_flux

PROGRAM = """
from headrace.storm import Bolt, Spout

class Sentences(Spout):
    outputs = ["sentence"]

class Split(Bolt):
    outputs = ["word"]
    def __init__(self, by=None):
        self.by = by or Space()
        self.shout = False
    def process(self, tup):
        for word in tup["sentence"].split(self.by.text):
            self.emit([word.upper() if self.shout else word])

class Count(Bolt):
    outputs = ["word", "n"]
    def initialize(self, conf, ctx):
        self.counts = {}
    def process(self, tup):
        self.counts[tup["word"]] = self.counts.get(tup["word"], 0) + 1
        self.emit([tup["word"], self.counts[tup["word"]]])

class Space:
    def __init__(self, text=" "):
        self.text = text
"""

TOPOLOGY = """
name: word-count
config: {topology.workers: 2, topology.max.spout.pending: ${pending}}
components:
  - {id: comma, className: flux_words.Space, constructorArgs: [","]}
spouts:
  - {id: sentences, className: flux_words.Sentences, parallelism: 5}
bolts:
  - id: split
    className: flux_words.Split
    constructorArgs: [{ref: comma}]
    properties: [{name: shout, value: true}]
    parallelism: 8
  - {id: count, className: flux_words.Count, parallelism: 12}
streams:
  - {from: sentences, to: split, grouping: {type: SHUFFLE}}
  - {from: split, to: count, grouping: {type: FIELDS, args: [word]}}
"""


@pytest.fixture
def flux(tmp_path, monkeypatch):
    (tmp_path / "flux_words.py").write_text(PROGRAM)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "flux_words", raising=False)

    def write(text):
        (tmp_path / "topology.yaml").write_text(text)
        return tmp_path / "topology.yaml"

    return write


def test_a_topology_in_yaml_is_one_like_any_other(flux):
    made = load_flux(flux(TOPOLOGY), {"pending": "100"})
    assert (made.name, {name: len(tasks) for name, tasks in made.tasks.items()}) == (
        "word-count",
        {"sentences": 5, "split": 8, "count": 12},
    )
    assert made.config == {"topology.workers": 2, "topology.max.spout.pending": 100}
    results = complete_topology(made, {"sentences": [["my,dog"], ["my,fleas"]]})
    assert sorted(results["count"]) == [["DOG", 1], ["FLEAS", 1], ["MY", 1], ["MY", 2]]


MISTAKES = {
    "a value is missing": (TOPOLOGY, {}, "needs a value for ${pending}"),
    "no such class": (TOPOLOGY.replace("flux_words.Count", "flux_words.Cuont"), {"pending": "1"}, "names the class 'flux_words.Cuont'"),
    "no such field": (TOPOLOGY.replace("args: [word]", "args: [wrd]"), {"pending": "1"}, "with non-existent fields: ['wrd']"),
    "no such bolt": (TOPOLOGY.replace("to: count", "to: cuont"), {"pending": "1"}, "has a stream to 'cuont', which is no bolt"),
    "no such grouping": (TOPOLOGY.replace("SHUFFLE", "MIX"), {"pending": "1"}, "has a grouping 'MIX'"),
    "not supported": ("topologySource: {className: x.Y}", {}, "has 'topologySource', which is not supported"),
    "no YAML": ("a: [", {}, "is no YAML"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_in_yaml_is_told_with_the_file(flux, case):
    text, settings, words = MISTAKES[case]
    file = flux(text)
    with pytest.raises(DefinitionError) as raised:
        load_flux(file, settings)
    assert words in raised.value.what
