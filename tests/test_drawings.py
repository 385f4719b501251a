"""The drawings of the guide are those that its programs give."""

from __future__ import annotations

import pytest
from docs.tooling.drawings import DRAWINGS, GUIDE, drawn


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_is_of_what_its_program_gave(name: str) -> None:
    assert drawn(name) == (GUIDE / f"{name}.svg").read_text(), "make it anew: python -m docs.tooling.drawings"
