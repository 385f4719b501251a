"""The page about faults has the numbers of the rounds that were kept, and claims no more than they show."""

from __future__ import annotations

import json

from bench.faults import page


def test_the_page_has_what_was_found() -> None:
    found = json.loads(page.LATEST.read_text())
    assert page.document(found, page.PAGE.read_text()) == page.PAGE.read_text()


def test_nothing_was_missing_extra_or_twice() -> None:
    found = json.loads(page.LATEST.read_text())
    assert all(line["missing"] == line["extra"] == line["twice"] == 0 for line in found["faults"])
    assert all(each["good"] or each["error"] in page.PAGE.read_text() for each in found["rounds"])
    assert found["acknowledged"] == sum(found["sums"].values()) > 0
