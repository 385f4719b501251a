"""The rules and a model on the page, if the demo was asked for one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect
from tests.browser.conftest import World
from tests.browser.feed import FakeControl, Feed
from tests.browser.test_look import CONTRAST

from headrace_fraud.page import Board, Page


@pytest.fixture
def learning(browser: Browser) -> Iterator[World]:
    """A demo with a model: of four frauds the rules have found three, with one false alarm, and the model one."""
    board, control = Board(model=True), FakeControl("learn")
    feed = Feed(board)
    cases = [
        (True, True, False),
        (True, True, True),
        (True, True, False),
        (True, False, False),
        (False, True, False),
        (False, False, False),
    ]
    with Page(board, control) as page:
        for fraud, flagged, model in cases:
            place, _, partition = feed.transaction(time.time())
            for _ in range(2):  # what comes again after a crash counts once
                feed.put("scores", {"fraud": fraud, "flagged": flagged, "model": model}, time.time(), partition=partition, of=place)
        world = World(board, feed, control, page, browser)
        yield world
        for context in browser.contexts:
            context.close()


def test_precision_and_recall_of_both_stand_side_by_side(learning: World) -> None:
    tab = learning.tab()
    expect(tab.get_by_role("heading", name="The rules and a model")).to_be_visible()
    rules, model = (tab.get_by_role("row", name=who) for who in ("the rules", "the model"))
    expect(rules.get_by_role("cell")).to_have_text(["75 % 75 %", "75 % 75 %", "4 4"])
    expect(model.get_by_role("cell")).to_have_text(["100 % 100 %", "25 % 25 %", "1 1"])
    expect(tab.locator("#model")).to_contain_text("Of 6 decisions 4 were fraud.")
    place, _, partition = learning.feed.transaction(time.time())
    learning.feed.put("scores", {"fraud": True, "flagged": False, "model": True}, time.time(), partition=partition, of=place)
    expect(model.get_by_role("cell")).to_have_text(["100 % 100 %", "40 % 40 %", "2 2"])
    assert learning.seen.errors == []


def test_its_job_can_be_stopped_and_killed_as_the_others(learning: World) -> None:
    tab = learning.tab()
    expect(tab.get_by_role("article", name="job learn")).to_contain_text("running")
    tab.get_by_role("button", name="Stop the job learn").click()
    expect(tab.get_by_role("article", name="job learn")).to_contain_text("stopped")
    assert learning.control.told == [("stop", "learn")]


@pytest.mark.parametrize("width", [360, 1440])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_is_readable_at_any_width_and_in_both_themes(learning: World, theme: Any, width: int) -> None:
    tab = learning.tab(color_scheme=theme, viewport={"width": width, "height": 800})
    expect(tab.get_by_role("row", name="the model")).to_be_visible()
    assert tab.evaluate(CONTRAST) == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_without_a_model_there_is_no_such_panel(world: World) -> None:
    tab = world.tab()
    expect(tab.get_by_role("heading", name="Nothing lost")).to_be_visible()
    expect(tab.get_by_role("heading", name="The rules and a model")).to_be_hidden()


def test_before_the_first_score_it_says_so(browser: Browser) -> None:
    board, control = Board(model=True), FakeControl()
    with Page(board, control) as page:
        tab = World(board, Feed(board), control, page, browser).tab()
        expect(tab.locator("#model")).to_contain_text("The model has not scored a decision yet.")
        expect(tab.get_by_role("article", name="job learn")).to_contain_text("not started")
        tab.close()
