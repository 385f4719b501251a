"""The examples run as their first lines say, and end by themselves."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from headrace.cli import program

EXAMPLES = Path(__file__).parents[1] / "examples"
WORD_COUNT = EXAMPLES / "word_count.py"
NOTEBOOK = EXAMPLES / "first_hour.ipynb"


@pytest.mark.usefixtures("kafka")
def test_the_word_count_counts_the_words_that_it_sends() -> None:
    command = [sys.executable, str(WORD_COUNT), "--seconds", "4"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    shown = re.search(r"([\d,]+) sentences, ([\d,]+) words\nFrom topic to topic: half within \d+ ms", done.stdout)
    assert shown is not None, done.stdout
    sentences, words = (int(number.replace(",", "")) for number in shown.groups())
    counts = dict(re.findall(r"^(\w+) +█+ +([\d,]+)$", done.stdout, flags=re.MULTILINE))
    assert sum(int(count.replace(",", "")) for count in counts.values()) == words > sentences > 1


@pytest.mark.usefixtures("spark")
def test_the_word_count_is_a_job_on_topics_of_ones_own(topic: Callable[..., str], tmp_path: Path) -> None:
    named = {"sentences": topic(), "counts": topic(), "checkpoint": str(tmp_path)}
    assert program.load(WORD_COUNT, named).name == "word-count"


def _code(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_the_notebook_is_kept_without_what_it_printed() -> None:
    cells = _code(nbformat.read(NOTEBOOK, as_version=4))
    assert [(cell.outputs, cell.execution_count) for cell in cells] == [([], None)] * len(cells)


@pytest.mark.usefixtures("kafka")
def test_the_notebook_goes_from_a_topic_to_a_plot(tmp_path: Path) -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = {cell.source.splitlines()[0]: [output.get("data", {}) for output in cell.outputs] for cell in _code(notebook)}
    assert "the first 5 rows" in shown["readings.show(5)"][0]["text/html"]
    assert "Row(sensor='south'" in shown["running.stop()"][0]["text/plain"]
    assert "image/png" in list(shown.values())[-1][0]
