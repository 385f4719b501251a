"""The page in a real browser, fed with made-up messages."""

from __future__ import annotations

import re
import time
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Locator, expect
from playwright.sync_api import Page as Tab
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
