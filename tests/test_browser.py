"""Looking at a page sees what is wrong with it."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser import DESKTOP, PHONE, look

pytestmark = pytest.mark.browser


def page(folder: Path, body: str) -> str:
    path = folder / "page.html"
    head = '<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    path.write_text(f'{head}<link rel="icon" href="data:,">{body}')
    return path.as_uri()


def test_a_page_without_faults(browser: Browser, tmp_path: Path) -> None:
    with look(browser, page(tmp_path, "<p>hello")) as seen:
        assert seen.faults == {}


def test_errors_of_its_console(browser: Browser, tmp_path: Path) -> None:
    with look(browser, page(tmp_path, "<script>console.error('one'); nowhere()</script>")) as seen:
        assert seen.said == ["one", "nowhere is not defined"]


def test_what_it_asks_of_a_network(browser: Browser, tmp_path: Path) -> None:
    with look(browser, page(tmp_path, '<img src="http://127.0.0.1:9/picture.png">')) as seen:
        assert seen.asked == ["http://127.0.0.1:9/picture.png"]


def test_that_it_is_wider_than_a_phone(browser: Browser, tmp_path: Path) -> None:
    wide = page(tmp_path, '<div style="width: 600px">wide</div>')
    with look(browser, wide, PHONE) as seen:
        assert seen.sideways > 0
    with look(browser, wide, DESKTOP) as seen:
        assert seen.sideways == 0


def test_words_that_leave_their_box_or_their_drawing(browser: Browser, tmp_path: Path) -> None:
    boxed = '<g class="box"><rect width="30" height="20"/><text y="15">far too long</text></g>'
    body = f'<svg width="200" height="40">{boxed}<text x="190" y="15">outside</text><text y="35">fits</text></svg>'
    with look(browser, page(tmp_path, body)) as seen:
        assert seen.faults == {"outside": ["far too long", "outside"]}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_colour_scheme_that_was_asked_for(browser: Browser, tmp_path: Path, scheme: str) -> None:
    with look(browser, page(tmp_path, "<p>hello"), scheme=scheme) as seen:
        assert seen.page.evaluate(f"() => matchMedia('(prefers-color-scheme: {scheme})').matches")
