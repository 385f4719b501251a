"""The page is readable: at phone width, in both themes, by keyboard."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page as Tab
from playwright.sync_api import expect
from tests.browser.conftest import World

# The contrast of every visible text with what is behind it, as WCAG computes it; those below 4.5.
CONTRAST = """() => {
  const parse = (c) => { const [r, g, b, a = 1] = c.match(/[\\d.]+/g).map(Number); return { rgb: [r, g, b], a }; };
  const behind = (e) => {
    for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c.a === 1) return c.rgb; }
    return [255, 255, 255];
  };
  const linear = (v) => (v <= 10.31 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const poor = [];
  for (const e of document.querySelectorAll('body *')) {
    const text = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!text || !e.checkVisibility() || e.closest('.unseen, .skip, noscript, button:disabled')) continue;
    const style = getComputedStyle(e);
    const own = light(parse(e instanceof SVGElement ? style.fill : style.color).rgb);
    const [a, b] = [own, light(behind(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) poor.push(`${e.tagName}.${e.getAttribute('class')} ${e.textContent.slice(0, 20)}: ${ratio.toFixed(2)}`);
  }
  return poor;
}"""
# Words that stick out of the box that they are in.
OUTSIDE = """() => [...document.querySelectorAll('.node *, .figures *, .sum *, .filter *')]
  .filter((e) => e.checkVisibility() && !e.closest('.unseen') && getComputedStyle(e).display !== 'inline')
  .filter((e) => e.scrollWidth > e.clientWidth + 1)
  .map((e) => `${e.className} ${e.textContent.slice(0, 30)} ${e.scrollWidth} > ${e.clientWidth}`)"""
NAMELESS = """() => [...document.querySelectorAll('button, input, a, [role=img]')]
  .filter((e) => e.checkVisibility() && !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length)).length"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("route", ["", "#/customer/c1"])
def test_every_text_has_contrast(world: World, theme: Any, route: str) -> None:
    tab = world.tab(color_scheme=theme)
    if route:
        tab.goto(tab.url + route)
        tab.wait_for_selector(".map svg")
    assert tab.evaluate(CONTRAST) == []


@pytest.mark.parametrize("width", [360, 768, 1024, 1280, 1440])
@pytest.mark.parametrize("route", ["", "#/customer/c1"])
def test_nothing_is_wider_than_the_window(world: World, width: int, route: str) -> None:
    tab = world.tab(viewport={"width": width, "height": 800})
    if route:
        tab.goto(tab.url + route)
        tab.wait_for_selector(".map svg")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.evaluate(OUTSIDE) == []


@pytest.mark.parametrize("height", [0, 900])
def test_the_alerts_are_as_tall_as_the_dead_letters_beside_them_and_tall_enough_alone(world: World, height: int) -> None:
    tab = world.tab(viewport={"width": 1440, "height": 800})
    tab.wait_for_selector(".alerts li")
    tab.locator("#letters").evaluate("(letters, height) => { letters.style.minHeight = `${height}px` }", height)
    bottom = [tab.locator(part).evaluate("e => e.getBoundingClientRect().bottom") for part in (".panel:has(> #alerts)", ".alerts")]
    assert bottom[0] - bottom[1] < 20
    assert tab.locator(".alerts").evaluate("e => e.clientHeight") >= 520


def background(tab: Tab) -> str:
    return str(tab.evaluate("getComputedStyle(document.body).backgroundColor"))


def test_the_theme_follows_the_system_until_one_is_chosen_and_that_is_remembered(world: World) -> None:
    tab = world.tab(color_scheme="light")
    light = background(tab)
    tab.emulate_media(color_scheme="dark")
    dark = background(tab)
    assert light != dark
    tab.get_by_role("button", name="Theme: auto").click()
    assert background(tab) == light
    tab.reload()
    expect(tab.get_by_role("button", name="Theme: light")).to_be_visible()
    assert background(tab) == light


def test_it_is_usable_by_keyboard_alone(world: World) -> None:
    world.control.states["store"] = "stopped"
    tab = world.tab()
    tab.keyboard.press("Tab")
    expect(tab.get_by_role("link", name="Skip to the content")).to_be_focused()
    reached = set()
    for _ in range(60):
        tab.keyboard.press("Tab")
        reached.add(tab.evaluate("(e => e.getAttribute('aria-label') || e.textContent || e.id)(document.activeElement)"))
    assert {"Stop the job decide", "Kill the driver of the job decide", "Start the job store", "Stop the job windows"} <= reached
    assert any("Newest alerts" in name for name in reached)
    tab.get_by_role("button", name="Kill the driver of the job windows").press("Enter")
    expect(tab.get_by_role("button", name="Leave it")).to_be_focused()
    tab.keyboard.press("Escape")
    expect(tab.get_by_role("dialog")).to_have_count(0)
    expect(tab.get_by_role("button", name="Kill the driver of the job windows")).to_be_focused()


def test_it_has_landmarks_headings_and_names(world: World) -> None:
    tab = world.tab()
    for part in ["header", "main", "footer", "[role=search]"]:
        expect(tab.locator(part)).to_have_count(1)
    assert tab.get_by_role("heading", level=1).count() == 1
    assert tab.evaluate(NAMELESS) == 0
    assert tab.get_by_role("status").count() >= 1
