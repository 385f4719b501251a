"""`%%sql`: a cell knows the streams of its notebook, and names or shows the one that it makes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import headrace as hr
from headrace.errors import DefinitionError
from headrace.fronts.sql.magic import cell_magic, load_ipython_extension

pytestmark = pytest.mark.usefixtures("spark")


def notebook() -> Any:
    return SimpleNamespace(user_ns={"words": hr.read.memory("word string", [("spark",), ("spark",)]), "word": 5})


QUERY = "SELECT word, count(*) AS n FROM words GROUP BY word"


def test_a_cell_with_a_name_names_its_stream() -> None:
    shell = notebook()
    assert cell_magic(shell, "counts", QUERY) is None
    assert repr(shell.user_ns["counts"]) == "Stream[word: string, n: bigint]"
    assert cell_magic(shell, "", "INSERT INTO memory.twice SELECT * FROM counts").name == "twice"


def test_a_cell_without_a_name_shows_rows(capsys: pytest.CaptureFixture[str]) -> None:
    cell_magic(notebook(), "", QUERY)
    assert "1 row" in capsys.readouterr().out


def test_what_is_created_is_a_name_of_the_notebook_again_and_again(capsys: pytest.CaptureFixture[str]) -> None:
    shell = notebook()
    for columns in (["word"], ["n"]):
        cell_magic(shell, "", f"CREATE STREAM few AS SELECT {'word' if columns == ['word'] else 'count(*) AS n'} FROM words")
        assert shell.user_ns["few"].columns == columns
    assert "few  Stream[n: bigint]" in capsys.readouterr().out


@pytest.mark.parametrize("line", ["--lve", "two names"])
def test_a_line_that_is_neither_a_name_nor_live_is_refused(line: str) -> None:
    with pytest.raises(DefinitionError, match="this is no name") as refused:
        cell_magic(notebook(), line, QUERY)
    assert "--live" in refused.value.fix


def test_the_extension_registers_the_magic() -> None:
    known: dict[str, Any] = {}
    load_ipython_extension(
        SimpleNamespace(register_magic_function=lambda f, kind, name: known.update({f"{kind} {name}": f}), **vars(notebook()))
    )
    assert list(known) == ["cell sql"]
