"""The examples run as their first lines say, and end by themselves."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.cli import program

WORD_COUNT = Path(__file__).parents[1] / "examples" / "word_count.py"


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
