"""`%%sql` in a notebook with a kernel of its own: rows, names, mistakes in words, and a table that keeps up."""

from __future__ import annotations

from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

QUERY = "SELECT word, count(*) AS n FROM words GROUP BY word"
CELLS = {
    "load": "%load_ext headrace.fronts.sql.magic\nimport headrace as hr\nwords = hr.read.memory('word string', [('spark',), ('kafka',)])",
    "rows": f"%%sql\n{QUERY}",
    "name": f"%%sql counts\n{QUERY}",
    "named": "counts.columns",
    "explain": "%%sql\nEXPLAIN SELECT n FROM counts",
    "create": "%%sql\nCREATE STREAM few AS SELECT word FROM words LIMIT 1",
    "created": "few.columns",
    "mistake": "%%sql\nSELECT wort\nFROM words",
    "live": f"%%sql --live\n{QUERY}",
    "more": "running = _\nwords.add([('spark',)])\nrunning.process_all()\nrunning.stop()",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """What each cell has below it at the end."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS.values()])
    place = {"metadata": {"path": str(tmp_path_factory.mktemp("notebook"))}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", allow_errors=True, resources=place).execute()
    return {name: cell.outputs for name, cell in zip(CELLS, notebook.cells, strict=True)}


def test_a_cell_shows_rows_or_names_its_stream(outputs: dict[str, list[Any]]) -> None:
    assert "2 rows" in outputs["rows"][0]["data"]["text/html"]
    assert outputs["name"] == []
    assert outputs["named"][0]["data"]["text/plain"] == "['word', 'n']"


def test_a_cell_has_the_statements_of_the_prompt(outputs: dict[str, list[Any]]) -> None:
    assert outputs["explain"][0]["text"].startswith("steps  ")
    assert outputs["create"][0]["text"] == "few  Stream[word: string]\n"
    assert outputs["created"][0]["data"]["text/plain"] == "['word']"


def test_a_mistake_points_at_the_word_and_shows_nothing_of_headraces_own(outputs: dict[str, list[Any]]) -> None:
    (error,) = outputs["mistake"]
    assert "\n".join(error["traceback"]).splitlines() == [
        "QueryError: sql: there is no column 'wort'",
        "  1 | SELECT wort",
        "    |        ^^^^",
        "  fix  did you mean 'word'? The columns here are word",
    ]


def test_a_live_table_has_what_came_while_it_was_looked_at(outputs: dict[str, list[Any]]) -> None:
    table, job = outputs["live"]
    assert "spark  2" in table["data"]["text/html"]
    assert job["data"]["text/plain"].startswith("<Running 'sql', micro-batch, running")
    assert outputs["more"][0]["data"]["text/plain"] == "True"
