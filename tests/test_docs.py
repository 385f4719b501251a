"""The programs of the README and of the guide run, each on its own, and the links of all pages lead somewhere."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
PROGRAMS = [
    pytest.param(program, id=f"{page.relative_to(ROOT)}-{number}", marks=[pytest.mark.beam] if "import apache_beam" in program else [])
    for page in PAGES
    for number, program in enumerate(re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.MULTILINE | re.DOTALL), start=1)
]


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_of_the_documentation_runs(program: str, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(program)
    runpy.run_path(str(file), run_name="__main__")  # classes of a program travel to Spark's workers as those of a script do


LINKS = [
    pytest.param(page.parent / target, id=f"{page.relative_to(ROOT)}: {target}")
    for page in [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]
    for target in sorted(set(re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())))
]


@pytest.mark.parametrize("target", LINKS)
def test_a_link_leads_somewhere(target: Path) -> None:
    assert target.exists()
