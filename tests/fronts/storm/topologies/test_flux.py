"""Topologies in YAML, as Flux reads them."""

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

    @staticmethod
    def of(text):
        return Space(text)

class Either:
    def __init__(self, spaces):
        self.text = spaces[1].text
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


INCLUDED = """
name: common
config: {topology.workers: 7, topology.acker.executors: 3}
components:
  - {id: comma, className: flux_words.Space, constructorArgs: [";"]}
bolts:
  - {id: also, className: flux_words.Count, parallelism: 2}
streams:
  - {from: split, to: also, grouping: {type: GLOBAL}}
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


@pytest.mark.parametrize(
    ("override", "name", "config", "words"),
    [
        ("false", "word-count", {"topology.workers": 2, "topology.acker.executors": 3}, ["DOG", "FLEAS", "MY"]),
        ("true", "common", {"topology.workers": 7, "topology.acker.executors": 3}, ["MY,DOG,FLEAS"]),
    ],
)
def test_an_included_file_adds_to_this_one_or_takes_its_place(flux, tmp_path, override, name, config, words):
    (tmp_path / "common.yaml").write_text(INCLUDED)
    text = TOPOLOGY.replace(", topology.max.spout.pending: ${pending}", "")
    made = load_flux(flux(f"{text}includes:\n  - {{file: common.yaml, override: {override}}}\n"))
    assert (made.name, made.config, len(made.tasks["also"])) == (name, config, 2)
    results = complete_topology(made, {"sentences": [["my,dog,fleas"]]})
    assert sorted(word for word, _ in results["count"]) == sorted(word for word, _ in results["also"]) == words


def test_values_come_from_settings_from_a_file_and_from_the_environment(flux, tmp_path, monkeypatch):
    monkeypatch.setenv("WORKERS", "4")
    (tmp_path / "dev.properties").write_text("# for tests\n! of this file\n\npending : 9\nuser.name=Ann \\\n  Smith\nuser.id=7\n")
    values = "{topology.workers: ${ENV-WORKERS}, topology.max.spout.pending: ${pending}, name: ${user.name}, id: ${user.id}}"
    file = flux(TOPOLOGY.replace("{topology.workers: 2, topology.max.spout.pending: ${pending}}", values))
    made = load_flux(file, {"user.id": "8"}, properties=tmp_path / "dev.properties")
    assert made.config == {"topology.workers": 4, "topology.max.spout.pending": 9, "name": "Ann Smith", "id": 8}


def test_objects_are_made_by_factories_and_of_lists_of_others(flux):
    text = """
components:
  - {id: one, className: flux_words.Space, factory: of, factoryArgs: [","]}
  - {id: both, className: flux_words.Either, constructorArgs: [{reflist: [one, one]}]}
spouts:
  - {id: sentences, className: flux_words.Sentences}
bolts:
  - {id: split, className: flux_words.Split, properties: [{name: by, ref: both}]}
streams:
  - {from: sentences, to: split}
"""
    assert complete_topology(load_flux(flux(text)), {"sentences": [["my,dog"]]})["split"] == [["my"], ["dog"]]


def test_fluxs_own_wrappers_are_programs(flux):
    text = """
spouts:
  - id: sentences
    className: org.apache.storm.flux.wrappers.spouts.FluxShellSpout
    constructorArgs: [[node, randomsentence.js], [word]]
bolts:
  - id: split
    className: org.apache.storm.flux.wrappers.bolts.FluxShellBolt
    constructorArgs: [[python3, splitsentence.py], [word]]
streams:
  - {from: sentences, to: split}
"""
    made = load_flux(flux(text))
    assert [part.code.command for part in made.parts.values()] == [["node", "randomsentence.js"], ["python3", "splitsentence.py"]]


MISTAKES = {
    "a value is missing": (TOPOLOGY.replace("parallelism: 5", "parallelism: ${par}"), "needs a value for ${par}"),
    "no such class": (TOPOLOGY.replace("flux_words.Count", "flux_words.Cuont"), "names the class 'flux_words.Cuont'"),
    "no such field": (TOPOLOGY.replace("args: [word]", "args: [wrd]"), "with non-existent fields: ['wrd']"),
    "no such bolt": (TOPOLOGY.replace("to: count", "to: cuont"), "has a stream to 'cuont', which is no bolt"),
    "no such grouping": (TOPOLOGY.replace("SHUFFLE", "MIX"), "has a grouping 'MIX'"),
    "no such component": (TOPOLOGY.replace("ref: comma", "ref: colon"), "refers to 'colon', which is no component"),
    "no number": (TOPOLOGY.replace("parallelism: 12", "parallelism: many"), "has parallelism: 'many', which is no number"),
    "an argument too many": (TOPOLOGY.replace('[","]', '[",", 7, 8]'), "an object of 'flux_words.Space' that cannot be made"),
    "an include that is not there": (f"{TOPOLOGY}includes: [{{file: no.yaml}}]", "includes 'no.yaml', which is not there"),
    "an include without a file": (f"{TOPOLOGY}includes: [no.yaml]", "includes 'no.yaml'"),
    "not supported": ("topologySource: {className: x.Y}", "has 'topologySource', which is not supported"),
    "no YAML": ("a: [", "is no YAML"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_in_yaml_is_told_with_the_file(flux, case):
    text, words = MISTAKES[case]
    file = flux(text)
    with pytest.raises(DefinitionError) as raised:
        load_flux(file, {"pending": "1"})
    assert words in raised.value.what
