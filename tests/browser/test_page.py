"""The page in a real browser, fed with made-up messages: it loads, keeps up, and says when it is cut off."""

from __future__ import annotations

import re
import time
from urllib.parse import urlsplit

from playwright.sync_api import Browser, expect
from tests.browser.conftest import World
from tests.browser.feed import Feed

from headrace_fraud.page import Board, Page

NASTY = '<img src=x onerror="alert(1)"><script>alert(2)</script>'


def test_it_loads_without_an_error_and_asks_nobody_else(world: World) -> None:
    tab = world.tab()
    for title in [
        "Flow",
        "Nothing lost",
        "Decision latency",
        "Alerts by rule per minute",
        "Top merchants",
        "Newest alerts",
        "Dead letters",
    ]:
        expect(tab.get_by_role("heading", name=title, exact=True)).to_be_visible()
    tab.goto(tab.url + "#/customer/c1")
    expect(tab.locator(".map > svg")).to_be_visible()
    assert {urlsplit(url).netloc for url in world.seen.requests} == {f"127.0.0.1:{world.page.port}"}
    assert world.seen.errors == []
    assert "token" not in tab.url


def test_it_can_be_opened_before_anything_was_sent(world: World, browser: Browser) -> None:
    world.control.states = {"decide": "rehearsing"}
    board = Board()
    with Page(board, world.control) as page:
        empty = World(board, Feed(board), world.control, page, browser)
        tab = empty.tab()
        expect(tab.get_by_role("article", name="job decide")).to_contain_text("rehearsing")
        expect(tab.locator("#starting")).to_have_text(re.compile("Each job first works on made-up records, which count nowhere"))
        expect(tab.get_by_role("article", name="job store")).to_contain_text("not started")
        for panel in ("rules", "merchants"):
            expect(tab.locator(f"#{panel}").get_by_text("The first window is not written yet.")).to_be_visible()
        expect(tab.get_by_text("No alert to show.")).to_be_visible()
        for route in ("#/customer/nobody", "#/customer/%E0%A4%A"):
            tab.goto(tab.url.split("#")[0] + route)
            expect(tab.get_by_text("Nothing was heard of this customer lately.")).to_be_visible()
        assert [error for error in empty.seen.errors if "404" not in error] == []  # the browser's own note of an unknown customer
        tab.goto(tab.url.split("#")[0])
        empty.feed.past(2, 10, time.time())
        expect(tab.locator("#starting")).to_be_hidden()
        tab.close()


def test_a_reload_keeps_history(world: World) -> None:
    tab = world.tab()
    newest = tab.locator(".alerts li").first.get_attribute("data-n")
    tab.reload()
    expect(tab.locator(f".alerts li[data-n='{newest}']")).to_be_visible()
    assert tab.evaluate("document.querySelectorAll('.alerts li').length") > 5
    expect(tab.locator("#rates .plot")).to_have_attribute("aria-label", re.compile(r"transactions \d+/s"))


def test_a_restarted_server_is_found_again(world: World) -> None:
    tab = world.tab()
    world.page.close()
    expect(tab.get_by_text("Connection lost, trying again…")).to_be_visible()
    board = Board()
    feed = Feed(board)
    feed.past(20, 50, time.time())
    with Page(board, world.control, port=world.page.port, token=world.page.token):
        expect(tab.locator("#link")).to_have_text("live")
        expect(tab.locator("#banner")).to_be_hidden()
        expect(tab.locator(".sum b").first).to_have_text(f"{board.totals(0)['sent']:,}")
    tab.close()


def test_a_server_with_another_token_says_so(world: World) -> None:
    tab = world.tab()
    world.page.close()
    with Page(Board(), world.control, port=world.page.port):
        expect(tab.get_by_text("started again with another link")).to_be_visible()
    tab.close()


def test_a_wrong_token_is_refused_in_words(world: World, browser: Browser) -> None:
    tab = browser.new_page()
    answer = tab.goto(world.page.url + "x")
    assert answer is not None
    assert answer.status == 403
    expect(tab.get_by_role("heading", name="This link is not valid")).to_be_visible()


def test_topics_that_cannot_be_read_are_told_until_they_can(world: World) -> None:
    world.board.reading.away = f"no topic {NASTY} yet"
    tab = world.tab()
    banner = tab.get_by_role("alert")
    expect(banner).to_contain_text(f"The topics cannot be read: no topic {NASTY} yet. See whether the broker runs (headrace kafka status)")
    tab.goto(tab.url + "#/customer/c1")
    expect(banner).to_be_visible()
    world.board.reading.away = None
    expect(banner).to_be_hidden()
    assert tab.locator("img").count() == 0
    assert world.seen.dialogs == []


def test_a_lost_connection_is_told_before_what_the_server_said_last(world: World) -> None:
    world.board.reading.away = "timed out"
    tab = world.tab()
    expect(tab.locator("#banner")).to_contain_text("timed out")
    world.page.close()
    expect(tab.locator("#banner")).to_have_text("Connection lost, trying again…")
    tab.close()


def test_an_odd_message_is_told_quietly_and_not_for_long(world: World) -> None:
    tab = world.tab()
    world.board.reading.odd(f"windows/0/7 {NASTY}", time.time() * 1000)
    expect(tab.locator("#odd")).to_have_text(f"Left out: windows/0/7 {NASTY}")
    expect(tab.locator("#banner")).to_be_hidden()
    world.board.reading.odd("windows/0/7", 0.0)
    expect(tab.locator("#odd")).to_be_hidden()
    assert tab.locator("img").count() == 0


def test_five_thousand_events_a_second_leave_the_browser_idle_most_of_the_time(world: World) -> None:
    """Processor time of the page's own thread, and not the time between frames, which a busy machine changes; and of four parts the least,
    since it changes the former a little too."""
    tab = world.tab()
    metrics = tab.context.new_cdp_session(tab)
    metrics.send("Performance.enable", {"timeDomain": "threadTicks"})

    def used() -> float:
        found = {metric["name"]: metric["value"] for metric in metrics.send("Performance.getMetrics")["metrics"]}
        return float(found["TaskDuration"])

    def share() -> float:
        before, began = used(), time.monotonic()
        for _ in range(40):  # two seconds: the page is drawn once in each
            now = time.time()
            for n in range(250):
                world.feed.some(now + n / 5000)
            world.feed.look(now)
            tab.wait_for_timeout(max(0.0, 50 - (time.time() - now) * 1000))
        return (used() - before) / (time.monotonic() - began)

    sent = world.board.totals(0)["sent"]
    shares = [share() for _ in range(4)]
    assert world.board.totals(0)["sent"] == sent + 40_000
    assert min(shares) < 0.3
    expect(tab.locator(".sum b").first).to_have_text(f"{sent + 40_000:,}")
    assert world.seen.errors == []
