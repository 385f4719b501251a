"""The page about Nexmark has the numbers of the last committed run."""

from __future__ import annotations

from bench.nexmark import table
from bench.nexmark.queries import QUERIES
from bench.reporting import report


def test_the_page_has_the_table_of_the_last_run() -> None:
    found = report.load(table.LATEST)
    assert found is not None, f"there is no run in {table.LATEST.name}: make nexmark"
    page = table.DOC.read_text()
    assert table.document(found, page) == page
    assert table.markdown(found) in page


def test_what_was_measured_is_of_nexmark_and_equal() -> None:
    found = report.load(table.LATEST)
    assert found is not None
    assert found["queries"].keys() <= QUERIES.keys()
    assert {name: of["unequal"] for name, of in found["queries"].items() if of["unequal"]} == {}
