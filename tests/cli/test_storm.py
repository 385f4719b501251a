"""`headrace storm run`: which topology a file has, and the picture of it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from headrace.cli import storm
from headrace.errors import DefinitionError
from headrace.fronts.storm.spark.metrics import ComponentMetrics
from headrace.fronts.storm.topologies.topology import layout

PROGRAM = """
from headrace.storm import Bolt, Grouping, Spout, Topology, TopologyBuilder

class Sentences(Spout):
    outputs = ["sentence"]

class Split(Bolt):
    outputs = ["word"]

class Count(Bolt):
    outputs = ["word", "n"]
"""

CLASS = """
class Words(Topology):
    sentences = Sentences.spec(par=5)
    split = Split.spec(inputs=[sentences], par=8)
    count = Count.spec(inputs={split: Grouping.fields("word")}, par=12)
"""

TOPOLOGIES = {
    "one class": (CLASS, "Words"),
    "a builder": ("topology = TopologyBuilder('built')\ntopology.setSpout('sentences', Sentences())\n", "built"),
    "a function": (
        "def topology():\n    builder = TopologyBuilder('made')\n    builder.setSpout('s', Sentences())\n    return builder\n", "made",
    ),
}  # fmt: skip


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM + text)
    return file


@pytest.mark.parametrize("case", TOPOLOGIES)
def test_the_command_finds_the_topology_of_a_file(tmp_path: Path, case: str) -> None:
    text, name = TOPOLOGIES[case]
    assert layout(storm.load(written(tmp_path, text), {})).name == name


def test_a_file_without_a_topology_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="has no topologies"):
        storm.load(written(tmp_path, ""), {})


def test_the_picture_shows_who_reads_from_whom_and_the_numbers(tmp_path: Path) -> None:
    made = layout(storm.load(written(tmp_path, CLASS), {}))
    sentences = ComponentMetrics("sentences", 5, 12_000, 12_000, 2000, 2000, 1, 7, 499.6, 0.01, 12.5, None)
    split = ComponentMetrics("split", 8, 12_000, 12_000, 2000, 2000, 0, 7, 499.6, 0.2, None, "ValueError: no")
    out = io.StringIO()
    Console(file=out, width=140).print(storm.picture(made, "real-time", [sentences, split], ["feeder"]))
    text = out.getvalue()
    assert "sentences × 5" in text
    assert "count × 12  fields word" in text
    assert "split: ValueError: no" in text
    assert "started again: feeder" in text
    rows = [line.split() for line in text.splitlines()]
    assert ["sentences", "5", "500", "12,000", "2,000", "1", "7", "12.50", "ms"] in rows
    assert ["split", "8", "500", "12,000", "2,000", "0", "7", "0.20", "ms"] in rows
