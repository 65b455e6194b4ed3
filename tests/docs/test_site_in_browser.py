"""The built site as a reader sees it: every page without faults, its navigation and its search."""

import subprocess
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import DESKTOP, PHONE, look
from tests.docs.test_site import MKDOCS
from tests.project import PROJECT

pytestmark = pytest.mark.browser
PAGES = sorted(f"{page.stem}.html" for page in (PROJECT / "docs").glob("*.md"))


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the site, built from today's pages."""
    if not MKDOCS.exists():
        pytest.skip("mkdocs is not installed: `make docs` does it")
    built = tmp_path_factory.mktemp("site")
    subprocess.run([MKDOCS, "build", "--strict", "--site-dir", built], cwd=PROJECT, check=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=built))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_no_fault(browser: Browser, site: str, name: str) -> None:
    with look(browser, site + name) as seen:
        for width in (DESKTOP, PHONE):
            seen.page.set_viewport_size({"width": width, "height": 900})
            assert seen.sideways == 0, width
        assert seen.page.evaluate("() => [...document.images].every(each => each.naturalWidth)")
        assert seen.said == []
        assert [address for address in seen.asked if not address.startswith(site)] == []


def test_the_navigation_leads_to_every_page_on_a_phone_too(browser: Browser, site: str) -> None:
    with look(browser, f"{site}index.html", PHONE) as seen:
        links = seen.page.locator(".md-nav--primary a.md-nav__link").evaluate_all(
            "all => all.map(a => a.href)"
        )
        assert {link.partition("#")[0] for link in links} == {site + name for name in PAGES}
        seen.page.locator("label.md-header__button[for=__drawer]").click()
        for text in ("Operate", "Troubleshooting"):
            seen.page.locator(".md-nav--primary .md-nav__link:visible", has_text=text).first.click()
        expect(seen.page).to_have_title("Troubleshooting - dynamo-gpt-oss")


def test_a_key_is_found_by_its_last_word(browser: Browser, site: str) -> None:
    with look(browser, f"{site}index.html") as seen:
        seen.page.locator(".md-search__input").click()
        seen.page.keyboard.type("publicAccessFrom")
        found = seen.page.locator(
            ".md-search-result__link[href*='configuration.html'][href*='#cluster-of-kind-eks']"
        )
        expect(found).to_be_attached()
