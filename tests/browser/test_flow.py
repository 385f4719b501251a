"""The page's picture of the jobs in a real browser: its numbers, its buttons, and the sum that must hold."""

from __future__ import annotations

import re
import time

from playwright.sync_api import expect
from tests.browser.conftest import World


def test_the_picture_has_a_rate_on_its_edges_and_numbers_in_its_jobs(world: World) -> None:
    for second in range(4):
        world.feed.look(time.time() + second)
    world.feed.past(1, 1000, time.time())
    world.feed.look(time.time() + 5)
    tab = world.tab()
    assert len([text for text in tab.locator(".edges .rate").all_text_contents() if re.fullmatch(r"[\d,.]+/s", text)]) >= 10
    decide = tab.get_by_role("article", name="job decide")
    expect(decide).to_contain_text("real-time")
    expect(decide).to_contain_text("12 k rows · 3.1 MB")
    expect(decide).to_contain_text("s ago")
    expect(tab.get_by_role("article", name="job windows")).to_contain_text("812 ms")
    expect(tab.locator(".edges .lag").filter(has_text="12 behind").first).to_be_visible()


def test_what_was_stored_is_what_the_job_says_it_wrote(world: World) -> None:
    world.board.log("decisions", 0, 0, 10**6)  # what is in the topics is another matter
    world.board.logs_read(time.time() * 1000 + 1000)
    tab = world.tab()
    parquet = tab.get_by_role("img", name="By its own report, the job store wrote 54,321 rows to Parquet, 960/s of late, and is 12 behind.")
    expect(parquet.locator(".rate")).to_have_text("960/s")
    expect(parquet.locator(".lag")).to_have_text("12 behind")
    expect(tab.locator(".at-parquet")).to_contain_text("54 k decisions")
    wrote = "By its own report, the job store wrote 108,642 rows to the database, 7.5/s of late, and is 24 behind."
    expect(tab.get_by_role("img", name=wrote).locator(".rate")).to_have_text("7.5/s")
    expect(tab.locator(".at-database")).to_contain_text("54 k alerts, 54 k window rows")
    world.control.states["store"] = "stopped"
    expect(tab.get_by_role("img", name="rows to Parquet, 0/s of late")).to_be_visible()


def test_a_first_batch_is_shown_though_it_has_no_rate_yet(world: World) -> None:
    world.control.paces["store"], world.control.written = {"parquet": None}, 0
    tab = world.tab()
    expect(tab.get_by_role("img", name="The job store has not reported yet what it wrote to Parquet.").locator(".rate")).to_have_text("")
    world.control.written = 800
    expect(tab.get_by_role("img", name="the job store wrote 800 rows to Parquet, and is 12 behind.").locator(".rate")).to_have_text("")
    expect(tab.locator(".at-parquet")).to_contain_text("800 decisions")


def test_buttons_stop_start_and_kill_and_say_how_it_went(world: World) -> None:
    tab = world.tab()
    tab.get_by_role("button", name="Stop the job windows").click()
    tab.get_by_role("button", name="Start the job windows").click()
    expect(tab.get_by_role("button", name="Stop the job windows")).to_be_enabled()

    tab.get_by_role("button", name="Kill the driver of the job decide").click()
    expect(tab.get_by_role("dialog")).to_contain_text("goes on from its last checkpoint")
    tab.keyboard.press("Escape")
    assert world.control.told == [("stop", "windows"), ("start", "windows")]
    tab.get_by_role("button", name="Kill the driver of the job decide").click()
    tab.get_by_role("button", name="Kill it").click()
    decide = tab.get_by_role("article", name="job decide")
    expect(decide).to_contain_text("recovering…")
    world.control.recover("decide")
    expect(decide).to_contain_text("back after")
    assert world.control.told[-1] == ("kill", "decide")

    tab.get_by_role("button", name="Stop the job store").click()
    expect(tab.get_by_role("article", name="job store")).to_contain_text("The store cannot be stopped now. Wait for its batch.")


def test_there_is_no_kill_outside_the_demo(world: World) -> None:
    world.control.can_kill = False
    tab = world.tab()
    expect(tab.get_by_role("button", name="Stop the job decide")).to_be_visible()
    expect(tab.get_by_role("button", name="Kill the driver of the job decide")).to_be_hidden()


def test_the_sum_is_an_equation_that_holds_or_says_why_not(world: World) -> None:
    tab = world.tab()
    sums = tab.locator(".sum")

    def numbers() -> list[int]:
        return [int(text.replace(",", "")) for text in sums.first.locator("b").all_inner_texts()]

    sent, *parts = numbers()
    assert sent == sum(parts) > 1000
    expect(sums.first.locator(".verdict")).to_have_text("✓ every one has exactly one outcome")
    world.feed.transaction(time.time())
    expect(sums.first).to_contain_text("1in flight")
    place, record, _ = world.feed.transaction(time.time())
    world.feed.decide(place, record, time.time())
    world.feed.put("duplicates", record, time.time(), of=place)
    expect(sums.first.locator(".verdict")).to_have_text("✗ 1 with two outcomes")
