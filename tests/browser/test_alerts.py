"""The page's alerts and customers in a real browser: words, filters, lists that stand still, texts that are no HTML."""

from __future__ import annotations

import time

from playwright.sync_api import expect
from tests.browser.conftest import World

NASTY = '<img src=x onerror="alert(1)"><script>alert(2)</script>'


def test_an_alert_appears_with_its_words(world: World) -> None:
    tab = world.tab()
    world.alert("c4711", rules=["velocity", "amount", "location"], amount=50.0, gap_s=3.2, previous_max=25.0, distance_km=512.345)
    row = tab.locator(".alerts li").first
    expect(row).to_contain_text("c4711")
    for words in ["3.2 s after the previous", "twice the old maximum", "512 km from the phone", "411111******1111"]:
        expect(row).to_contain_text(words)
    expect(tab.locator("#said")).to_contain_text("new alert")


def test_words_are_careful(world: World) -> None:
    tab = world.tab()
    table = [
        ("gap", [3.2], "3.2 s after the previous"),
        ("gap", [0.12], "120 ms after the previous"),
        ("gap", [0], "at the same moment as the previous"),
        ("gap", [0.0004], "at the same moment as the previous"),
        ("gap", [10], "10 s after the previous"),
        ("gap", [None], "soon after another"),
        ("ratio", [50, 25], "twice the old maximum"),
        ("ratio", [48, 25], "92 % above the old maximum"),
        ("ratio", [75, 25], "three times the old maximum"),
        ("ratio", [60, 25], "2.4 times the old maximum"),
        ("ratio", [1012, 25], "40 times the old maximum"),
        ("ratio", [100.01, 100], "just above the old maximum of 100.00"),
        ("ratio", [140, 100], "40 % above the old maximum"),
        ("ratio", [140, None], "above the old maximum"),
        ("distance", [512.345], "512 km from the phone"),
        ("distance", [100.001], "100.1 km from the phone"),  # never the limit itself
        ("distance", [8430.2], "8,430 km from the phone"),
    ]
    said = tab.evaluate("async table => { const w = await import('/static/words.js'); return table.map(([f, a]) => w[f](...a)) }", table)
    assert said == [words for _, _, words in table]


def test_the_filter_shows_only_what_was_asked_for(world: World) -> None:
    world.alert("zoe", rules=["location"], distance_km=700)
    world.alert("zoe", rules=["velocity"], gap_s=1)
    tab = world.tab()
    tab.get_by_label("Customer").fill("ZOE")
    expect(tab.locator(".alerts li")).to_have_count(2)
    tab.get_by_role("checkbox", name="velocity").uncheck()
    expect(tab.locator(".alerts li")).to_have_count(1)
    expect(tab.locator(".alerts li")).to_contain_text("700 km from the phone")
    tab.get_by_label("Customer").fill("nobody")
    expect(tab.get_by_text("No alert to show.")).to_be_visible()


def test_rows_stand_still_under_the_pointer_and_newer_ones_wait(world: World) -> None:
    tab = world.tab()
    first = tab.locator(".alerts li").first
    before = first.get_attribute("data-n")
    first.hover()
    world.alert("late-comer", rules=["velocity"], gap_s=1)
    newer = tab.get_by_role("button", name="Show 1 newer")
    expect(newer).to_be_visible()
    assert first.get_attribute("data-n") == before
    tab.mouse.move(0, 0)
    expect(first).to_contain_text("late-comer")
    expect(newer).to_be_hidden()


def test_a_list_that_was_scrolled_stands_still_until_asked(world: World) -> None:
    tab = world.tab()
    tab.locator(".alerts li").nth(20).scroll_into_view_if_needed()
    world.alert("late-comer", rules=["velocity"], gap_s=1)
    tab.get_by_role("button", name="Show 1 newer").click()
    expect(tab.locator(".alerts li").first).to_contain_text("late-comer")
    expect(tab.locator(".alerts li").first).to_be_in_viewport()


def test_a_record_full_of_html_is_shown_as_text(world: World) -> None:
    world.alert(NASTY, rules=["velocity"], gap_s=1, merchant=NASTY)
    world.feed.dead(time.time(), NASTY.encode(), f"missing:{NASTY}")
    world.feed.windows(time.time())
    tab = world.tab()
    expect(tab.locator(".alerts li").first).to_contain_text(NASTY)
    expect(tab.locator(".letters pre").first).to_have_text(NASTY)
    expect(tab.locator(".reasons")).to_contain_text(NASTY)
    tab.locator(".alerts li").first.get_by_role("link").click()
    expect(tab.locator("#customer h2.title")).to_contain_text(NASTY)
    expect(tab.locator("tbody")).to_contain_text(NASTY)
    assert tab.locator("img").count() == 0
    assert tab.locator("script").count() == 2
    assert world.seen.dialogs == []
    assert world.seen.errors == []


def test_a_customers_page_has_a_point_for_each_place(world: World) -> None:
    now = time.time()
    for n in range(4):
        place, record, _ = world.feed.transaction(now + n, customer="ann", lat=59.3 + n / 10, lon=18.0)
        world.feed.decide(place, record, now + n, rules=["location"] if n == 3 else [], distance_km=333.3)
    world.feed.put("locations", {"type": "location", "customer": "ann", "lat": 59.3, "lon": 18.1, "ts": record["ts"]}, now)
    tab = world.tab()
    tab.get_by_role("link", name="ann").first.click()
    expect(tab.locator(".map circle")).to_have_count(4)
    expect(tab.locator(".map circle.flagged")).to_have_count(1)
    expect(tab.locator(".map rect.phone")).to_have_count(1)
    expect(tab.locator(".timeline circle")).to_have_count(4)
    expect(tab.locator("tbody tr").first).to_contain_text("333 km from the phone")
    tab.get_by_role("link", name="← all customers").click()
    expect(tab.locator("#overview")).to_be_visible()
