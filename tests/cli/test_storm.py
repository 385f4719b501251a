"""`headrace storm run`: which topology a file has, and the picture of it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from headrace.cli import storm
from headrace.cli.topology_picture import Picture, short
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


METRICS = [
    ComponentMetrics("sentences", 5, 12_000, 12_000, 2000, 2000, 1, 7, 499.6, 0.01, 12.5, None),
    ComponentMetrics("split", 8, 1_234_567, 1_234_567, 2000, 2000, 0, 0, 3000.2, 0.2, None, "ValueError: no"),
    ComponentMetrics("count", 12, 0, 0, 123_456_789, 123_456_789, 0, 0, 0.0, None, None, None),
]


@pytest.mark.parametrize("width", [80, 140])
def test_the_picture_shows_who_reads_from_whom_and_the_numbers(tmp_path: Path, width: int) -> None:
    made = layout(storm.load(written(tmp_path, CLASS), {}))
    out = io.StringIO()
    Console(file=out, width=width).print(Picture(made, "real-time", "running", METRICS, ["feeder"]))
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    assert lines == [
        "Words, real-time  running  ATLEAST_ONCE",
        "sentences × 5",
        "└── split × 8  shuffle",
        "    └── count × 12  fields word",
        "component  tasks  a second  emitted  acked  failed  pending   latency",
        "sentences      5       500   12,000  2,000       1        7  12.50 ms",
        "split          8     3,000    1.23M  2,000       0        0   0.20 ms",
        "count         12         0        0   123M       0        0         –",
        "split: ValueError: no",
        "started again: feeder",
        "latency: of a spout's tuple until its ack, of a bolt's call. Ctrl-C stops it",
    ]


def test_a_long_name_gives_way_to_the_numbers(tmp_path: Path) -> None:
    made = layout(storm.load(written(tmp_path, CLASS.replace("sentences", "sentences_of_all_the_books_of_the_library")), {}))
    long = ComponentMetrics("sentences_of_all_the_books_of_the_library", 5, 99_999, 0, 0, 99_999, 1, 7, 99_999.0, 0.01, 1234.5, None)
    out = io.StringIO()
    Console(file=out, width=80).print(Picture(made, "real-time", "running", [long]))
    assert all(len(line) <= 80 for line in out.getvalue().splitlines())
    assert "sentences_of…      5    99,999   99,999  99,999       1        7  1,234.50 ms" in out.getvalue()


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0"), (99_999, "99,999"), (100_000, "100k"), (1_234_567, "1.23M"), (12_345_678_901, "12.3G"), (10**13, "10T")]
)
def test_a_number_has_at_most_six_characters(number: int, text: str) -> None:
    assert short(number) == text
