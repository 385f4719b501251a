"""Pictures of a running page, light and dark: `python -m headrace_fraud.page.screenshots URL DIRECTORY`.

Needs Playwright and a Chromium (Debian: `apt install chromium`; elsewhere: `playwright install chromium`), which the page itself does not.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import quote

from playwright.sync_api import Page, sync_playwright

WIDE, PHONE = {"width": 1440, "height": 900}, {"width": 360, "height": 800}


def browser_options() -> dict[str, Any]:
    """The system's Chromium if there is one, else the one that Playwright fetched."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    return {"executable_path": browser} if browser else {}


def take(url: str, directory: Path) -> list[Path]:
    """overview, phone and customer; each in light and dark."""
    directory.mkdir(parents=True, exist_ok=True)
    made: list[Path] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**browser_options())
        for theme in ("light", "dark"):
            for name, size in (("overview", WIDE), ("phone", PHONE), ("customer", WIDE)):
                page = browser.new_page(viewport=size, color_scheme=theme, device_scale_factor=1 if size is WIDE else 2)  # type: ignore[arg-type]
                _open(page, url)
                if name == "customer":
                    page.goto(page.url.split("#")[0] + "#/customer/" + quote(_travelled(page)))
                    page.wait_for_selector(".map svg")
                made.append(directory / f"{name}-{theme}.png")
                page.screenshot(path=made[-1], full_page=True)
                page.close()
        browser.close()
    return made


def _open(page: Page, url: str) -> None:
    page.goto(url)
    page.wait_for_selector("#link[data-state=live]")
    page.wait_for_selector(".alerts li")


def _travelled(page: Page) -> str:
    """A customer whose card is far from their phone, for there the map has the most to show; else the one who is flagged most."""
    far = page.locator(".alerts li", has=page.locator(".rule", has_text="location")).locator(".who").all_inner_texts()
    names = far or page.locator(".alerts .who").all_inner_texts()
    return max(names, key=names.count)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", help="the link that the demo prints")
    parser.add_argument("directory", type=Path)
    asked = parser.parse_args()
    for path in take(asked.url, asked.directory):
        print(path)
