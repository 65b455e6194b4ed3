"""The site: every link leads somewhere, and every page stands in the navigation."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from docs.generate.tables import anchor
from tests.project import PROJECT

DOCS = PROJECT / "docs"
MKDOCS = Path(sys.prefix, "docs", "bin", "mkdocs")
PAGES = [
    *(PROJECT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")),
    *sorted(DOCS.glob("*.md")),
]
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")


class Loader(yaml.SafeLoader):
    """Reads mkdocs.yml without making the objects that it names."""


Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: suffix)
SITE: dict[str, Any] = yaml.load((PROJECT / "mkdocs.yml").read_text(), Loader)


def links(page: Path) -> list[str]:
    """Where the page's links lead, without what stands in code."""
    return _LINK.findall(_CODE.sub("``", _FENCE.sub("", page.read_text())))


def anchors(page: Path) -> list[str]:
    """Addresses of the page's headings, whose code and links are addressed by their text."""
    headings = re.findall(r"^#+ (.+)$", _FENCE.sub("", page.read_text()), re.MULTILINE)
    return [anchor(re.sub(r"\[(.+?)\]\(.+?\)", r"\1", heading)) for heading in headings]


def listed(entries: list[Any]) -> Iterator[str]:
    """The pages of the navigation, of its sections too."""
    for entry in entries:
        for below in entry.values():
            yield from [below] if isinstance(below, str) else listed(below)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in links(page):
        if link.startswith("https://"):
            continue
        name, _, heading = link.partition("#")
        found = (page.parent / name).resolve() if name else page
        assert found.exists(), link
        assert not heading or heading in anchors(found), link


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_a_page_of_the_site_links_to_nothing_outside_it(page: Path) -> None:
    assert [link for link in links(page) if link.startswith(("..", "http://"))] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_two_headings_of_a_page_have_one_address(page: Path) -> None:
    found = anchors(page)
    assert len(found) == len({*found})


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_an_empty_line_stands_before_a_list_or_a_table(page: Path) -> None:
    """GitHub reads them without one, the site does not."""
    text = _FENCE.sub("```", page.read_text())
    assert re.findall(r"^(?![|#<`\s]|- |\d+\. ).+\n(?:\| |- |\d+\. ).*", text, re.MULTILINE) == []


def test_every_page_is_in_the_navigation_once() -> None:
    assert sorted(listed(SITE["nav"])) == sorted(page.name for page in DOCS.glob("*.md"))


def test_every_page_is_reached_from_the_readme_and_from_home() -> None:
    pages = {page.name for page in DOCS.glob("*.md")}
    assert pages - {link.removeprefix("docs/") for link in links(PROJECT / "README.md")} == set()


def test_the_site_asks_no_other_host() -> None:
    assert SITE["theme"]["font"] is False


@pytest.mark.skipif(not MKDOCS.exists(), reason="mkdocs is not installed: `make docs` does it")
@pytest.mark.parametrize("link", ["gone.md", "faq.md#gone", "/faq.md"])
def test_a_broken_link_fails_the_build(tmp_path: Path, link: str) -> None:
    shutil.copy(PROJECT / "mkdocs.yml", tmp_path)
    shutil.copytree(DOCS, tmp_path / "docs")
    with (tmp_path / "docs" / "faq.md").open("a") as page:
        page.write(f"\n[broken]({link})\n")
    [arguments] = re.findall(r"/mkdocs (.+)", (PROJECT / "Makefile").read_text())
    ran = subprocess.run(
        [MKDOCS, *arguments.split()], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 1
    assert link in ran.stderr


def test_the_check_sees_a_broken_link(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A `word` more\n[gone](gone.md) `[code](x)` [here](#a-word-more)\n```\n# no heading [no](link)\n```\n"
    )
    assert links(page) == ["gone.md", "#a-word-more"]
    assert anchors(page) == ["a-word-more"]
