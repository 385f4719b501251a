"""The README's programs run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
PROGRAMS = re.findall(r"^```python\n(.*?)^```", README.read_text(), flags=re.MULTILINE | re.DOTALL)


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("program", PROGRAMS, ids=range(1, len(PROGRAMS) + 1))
def test_a_program_of_the_readme_runs(program: str) -> None:
    exec(compile(program, str(README), "exec"), {"__name__": "readme"})
