"""A browser, a page in it, and everything that it asked for."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.sync_api import Browser, Dialog, expect, sync_playwright
from playwright.sync_api import Error as BrowserError
from playwright.sync_api import Page as Tab
from tests.browser.feed import FakeControl, Feed

from headrace_fraud.page import Board, Page
from headrace_fraud.page.screenshots import browser_options

expect.set_options(timeout=30_000)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(**browser_options())
        except BrowserError as problem:
            pytest.fail(
                f"These tests need Chromium: run .ci/packages, or apt-get install chromium, or playwright install chromium.\n{problem}"
            )
        yield browser
        browser.close()


@dataclass
class Seen:
    """What a tab did that a reader does not see."""

    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)


@dataclass
class World:
    """A board with some history, its feed, its jobs, and the server."""

    board: Board
    feed: Feed
    control: FakeControl
    page: Page
    browser: Browser
    seen: Seen = field(default_factory=Seen)

    def tab(self, **options: Any) -> Tab:
        """A tab with the page open and its first data drawn."""
        tab = self.browser.new_page(**{"viewport": {"width": 1440, "height": 900}, **options})
        tab.set_default_timeout(60_000)
        tab.on("request", lambda request: self.seen.requests.append(request.url))
        tab.on("pageerror", lambda error: self.seen.errors.append(str(error)))
        tab.on("console", lambda said: self.seen.errors.append(said.text) if said.type == "error" else None)
        tab.on("dialog", self._dismiss)
        tab.goto(self.page.url)
        tab.wait_for_selector("#link[data-state=live]")
        return tab

    def _dismiss(self, dialog: Dialog) -> None:
        self.seen.dialogs.append(dialog.message)
        dialog.dismiss()

    def alert(self, customer: str, **evidence: Any) -> None:
        now = time.time()
        changes = {name: evidence.pop(name) for name in ("merchant", "amount") if name in evidence}
        place, record, _ = self.feed.transaction(now, customer=customer, **changes)
        self.feed.decide(place, record, now, **evidence)


@pytest.fixture
def world(browser: Browser) -> Iterator[World]:
    board, control = Board(), FakeControl()
    feed = Feed(board)
    feed.past(60, 25, time.time())
    with Page(board, control) as page:
        world = World(board, feed, control, page, browser)
        yield world
        for context in browser.contexts:
            context.close()
