"""The map of a customer's places: the land is where it should be, wherever they are."""

from __future__ import annotations

import time

import pytest
from playwright.sync_api import Page as Tab
from playwright.sync_api import expect
from tests.browser.conftest import World

# Of each point, in the order of the transactions, whether it is drawn on land.
ON_LAND = """() => [...document.querySelectorAll('.map circle')].map((dot) => {
  const at = new DOMPoint(dot.cx.baseVal.value, dot.cy.baseVal.value).matrixTransform(dot.getScreenCTM());
  const worlds = [...document.querySelectorAll('.map .land path')];
  return worlds.some((world) => world.isPointInFill(at.matrixTransform(world.getScreenCTM().inverse())));
})"""
LAND, SEA = True, False


def open_map(world: World, *places: tuple[float, float]) -> Tab:
    """Latitude and longitude of each transaction of one customer."""
    now = time.time()
    for lat, lon in places:
        place, record, _ = world.feed.transaction(now, customer="ann", lat=lat, lon=lon)
        world.feed.decide(place, record, now)
    tab = world.tab(color_scheme="light")
    tab.goto(tab.url + "#/customer/ann")
    expect(tab.locator(".map circle")).to_have_count(len(places))
    return tab


@pytest.mark.parametrize(
    "places",
    [
        pytest.param({(52.52, 13.4): LAND, (52.53, 13.41): LAND}, id="one city"),
        pytest.param({(52.52, 13.4): LAND, (48.86, 2.35): LAND, (56.5, 3.0): SEA}, id="some countries"),
        pytest.param({(-25.0, 134.0): LAND, (0.0, 25.0): LAND, (40.0, -100.0): LAND, (42.0, 51.0): SEA, (30.0, -45.0): SEA}, id="world"),
        pytest.param({(67.5, 178.0): LAND, (67.5, -178.0): LAND, (64.5, -156.0): LAND, (60.0, 180.0): SEA}, id="across the date line"),
        pytest.param({(-89.0, 179.0): LAND, (-89.0, -179.0): LAND, (-60.0, 180.0): SEA}, id="the far south"),
    ],
)
def test_points_on_land_are_drawn_on_land_and_points_at_sea_are_not(world: World, places: dict[tuple[float, float], bool]) -> None:
    tab = open_map(world, *places)
    assert tab.evaluate(ON_LAND) == list(places.values())


@pytest.mark.parametrize(
    ("places", "insets"),
    [
        pytest.param([(64.15, -21.95), (64.12, -21.9)], 1, id="one city, which the coarse coast leaves in the sea"),
        pytest.param([(52.52, 13.4), (53.55, 10.0)], 1, id="two cities, and no coast"),
        pytest.param([(52.52, 13.4), (48.86, 2.35)], 0, id="two countries"),
    ],
)
def test_places_without_a_coast_around_them_have_a_small_map_that_hides_none(
    world: World, places: list[tuple[float, float]], insets: int
) -> None:
    tab = open_map(world, *places)
    expect(tab.locator(".map .inset")).to_have_count(insets)
    hidden = """() => [...document.querySelectorAll('.map circle')].filter((dot) => {
      const [a, b] = [dot, document.querySelector('.map .inset .frame') ?? dot.ownerSVGElement].map((e) => e.getBoundingClientRect());
      return b.width < a.width * 30 && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    }).length"""
    assert tab.evaluate(hidden) == 0


def test_the_land_is_decoration_and_has_the_colours_of_the_theme(world: World) -> None:
    tab = open_map(world, (59.3, 18.1))
    expect(tab.locator(".map > svg > .land")).to_have_attribute("aria-hidden", "true")
    fill = "getComputedStyle(document.querySelector('.map .land path')).fill"
    light = tab.evaluate(fill)
    tab.emulate_media(color_scheme="dark")
    assert tab.evaluate(fill) != light
    assert world.seen.errors == []
