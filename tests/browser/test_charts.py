"""The page's charts and headlines in a real browser: which minutes they show, and what of them counts."""

from __future__ import annotations

import re
import time

from playwright.sync_api import Browser, Locator, expect
from playwright.sync_api import Page as Tab
from tests.browser.conftest import World
from tests.browser.feed import Feed

from headrace_fraud.page import Board, Page


def test_numbers_and_charts_move(world: World) -> None:
    tab = world.tab()
    drawn = "document.querySelector('#rates canvas').toDataURL()"
    before, decided = tab.evaluate(drawn), tab.locator(".sum b").nth(1).inner_text()
    world.feed.past(40, 100, time.time() + 30)  # the charts end at the last second: the next ones have something to show too
    expect(tab.locator(".sum b").nth(1)).not_to_have_text(decided)
    tab.wait_for_function(f"before => {drawn} !== before", arg=before)
    expect(tab.locator("#latency .plot")).to_have_attribute("aria-label", re.compile(r"p99 [\d.]+ ms"))


def test_the_first_minute_stands_where_the_newest_does_later(world: World, browser: Browser) -> None:
    board = Board()
    feed = Feed(board)
    with Page(board, world.control) as page:
        tab = World(board, feed, world.control, page, browser).tab()
        now = time.time()
        place, record, _ = feed.transaction(now)
        feed.decide(place, record, now, rules=["velocity"], gap_s=1)
        feed.windows(now)
        expect(tab.locator("#rules .plot")).to_have_attribute("aria-label", "Alerts by rule per minute: velocity 1, amount 0, location 0")
        # Of the pixels in the middle row of the canvas that have the colour of the bar, the leftmost, as a share of the width.
        left = """() => {
          const canvas = document.querySelector('#rules canvas');
          const row = canvas.getContext('2d').getImageData(0, Math.floor(canvas.height / 2), canvas.width, 1).data;
          const colour = getComputedStyle(document.querySelector('#rules .swatch.tone-1')).backgroundColor.match(/\\d+/g).map(Number);
          const bar = (x) => colour.every((part, i) => row[4 * x + i] === part);
          return [...Array(canvas.width).keys()].findIndex(bar) / canvas.width;
        }"""
        tab.wait_for_function(f"({left})() > 0.8")
        tab.close()


def test_the_charts_show_a_minute_until_there_is_more_or_another_span_is_chosen(world: World, browser: Browser) -> None:
    board = Board()
    feed = Feed(board)
    feed.past(10, 10, time.time())
    with Page(board, world.control) as page:
        tab = World(board, feed, world.control, page, browser).tab()
        expect(tab.get_by_role("radio", name="1 min", exact=True)).to_be_checked()
        board.seconds.transaction((time.time() - 70) * 1000)
        tab.reload()
        expect(tab.get_by_role("radio", name="5 min", exact=True)).to_be_checked()
        tab.get_by_role("radio", name="15 min").check()
        feed.past(1, 10, time.time())
        expect(tab.locator(".sum b").first).to_have_text(str(board.totals(0)["sent"]))  # all is drawn again
        expect(tab.get_by_role("radio", name="15 min")).to_be_checked()
        tab.close()


def figure(tab: Tab, name: str) -> Locator:
    return tab.locator("#figures > div", has_text=name)


def test_the_steady_state_is_the_headline_and_the_warm_up_stands_beside_it(world: World, browser: Browser) -> None:
    now = time.time()
    board = Board(warm_up_s=30)
    for ago, ms in ((40, 3_900), (39, 3_900), (5, 8), (4, 8)):
        board.seconds.decision((now - ago) * 1000, ms)
    with Page(board, world.control) as page:
        tab = World(board, world.feed, world.control, page, browser).tab()
        expect(figure(tab, "p50, steady state")).to_contain_text(re.compile(r"(7\.9|8\.[01]) ms"))
        expect(figure(tab, "p99, steady state")).to_contain_text(re.compile(r"(7\.9|8\.[01]) ms"))
        expect(figure(tab, "p99, warm-up")).to_contain_text(re.compile(r"3\.9 s.*first 30 s"))
        expect(tab.locator("#latency .legend")).to_contain_text("warm-up")
        tab.close()


def test_while_it_warms_up_there_is_no_steady_state_but_word_of_when(world: World, browser: Browser) -> None:
    board = Board(warm_up_s=3_000)
    with Page(board, world.control) as page:
        tab = World(board, world.feed, world.control, page, browser).tab()
        expect(figure(tab, "p99, steady state")).to_contain_text("–after 50 min")
        board.seconds.decision(time.time() * 1000, 3_900)
        expect(figure(tab, "p99, steady state")).to_contain_text("–in 50 min")
        expect(figure(tab, "p99, warm-up")).to_contain_text("3.9 s")
        tab.close()
