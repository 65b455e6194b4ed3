"""Pages as somebody sees them: in a headless Chromium, wide and narrow, light and dark."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SWITCHES = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
DESKTOP, PHONE = 1280, 390
VIEWS = [*product((DESKTOP, PHONE), ("light", "dark"))]
"""Widths in pixels and colour schemes in which every page is looked at."""
_SIDEWAYS = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"

_OUTSIDE = """() => [...document.querySelectorAll('svg text')].filter(text => text.checkVisibility()).filter(text => {
  const words = text.getBoundingClientRect(), box = text.parentElement.closest('g.box');
  const frame = (box ? box.querySelector(':scope > rect') : text.ownerSVGElement).getBoundingClientRect();
  return words.left < frame.left - 1 || words.right > frame.right + 1
    || words.top < frame.top - 1 || words.bottom > frame.bottom + 1;
}).map(text => text.textContent.trim())"""


@dataclass
class Seen:
    """An open page. said: errors and warnings of its console. asked: addresses that it wanted from a network."""

    page: Page
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    @property
    def sideways(self) -> int:
        """Pixels by which the page is wider than its window."""
        return int(self.page.evaluate(_SIDEWAYS))

    @property
    def outside(self) -> list[str]:
        """Texts of drawings that leave their box, or their drawing where they are in no box."""
        return list(self.page.evaluate(_OUTSIDE))

    @property
    def faults(self) -> dict[str, object]:
        """All that is wrong with it; empty for a good page."""
        found = {"said": self.said, "asked": self.asked, "sideways": self.sideways, "outside": self.outside}
        return {name: fault for name, fault in found.items() if fault}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """For a module alone: while it is open no other event loop runs in this thread."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        if os.environ.get("REQUIRE_BROWSER"):
            pytest.fail("no Chromium or Chrome on PATH")
        pytest.skip("no Chromium or Chrome on PATH")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=[*SWITCHES])
        yield opened
        opened.close()


@contextmanager
def look(browser: Browser, address: str, width: int = DESKTOP, scheme: str = "light") -> Iterator[Seen]:
    """The page of an address, loaded, in a window of that width and colour scheme."""
    with browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if scheme == "dark" else "light",
        device_scale_factor=2 if width <= PHONE else 1,
    ) as context:
        page = context.new_page()
        seen = Seen(page)
        page.on(
            "console",
            lambda message: seen.said.append(message.text) if message.type in {"error", "warning"} else None,
        )
        page.on("pageerror", lambda error: seen.said.append(str(error)))
        page.on(
            "request",
            lambda request: (
                None if request.url.startswith(("file:", "data:")) else seen.asked.append(request.url)
            ),
        )
        page.goto(address)
        yield seen
