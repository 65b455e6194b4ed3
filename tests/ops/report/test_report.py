"""The page as a file, and as somebody sees it."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from typer.testing import CliRunner

from ops import __main__ as verbs
from ops.report.report import write
from tests.browser import VIEWS, look
from tests.ops.report import projects
from tests.ops.report.test_drawing import CONFIGS, SHIPPED
from tests.project import PROJECT

TOKEN = "hf_" + 24 * "x"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a stack of which everything is known."""
    folder = projects.project(tmp_path_factory.mktemp("whole"), projects.MANY)
    projects.run(folder, "01T10", {1: 100, 4: 400, 16: 1200})
    projects.run(folder, "02T10", {1: 110, 4: 420, 16: 1100})
    projects.run(folder, "03T10", {1: 110}, isl=8192, problem="ended by SIGTERM")
    projects.verification(folder, ok=False)
    projects.rollout(folder)
    return write(folder, "s")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, whole: Path) -> dict[str, Path]:
    """Of every shipped stack, and of some larger ones."""
    folder = tmp_path_factory.mktemp("pages")
    shipped = {stack: write(PROJECT, stack, folder / f"{stack}.html") for stack in SHIPPED}
    made = {
        name: write(projects.project(folder / name, config), "s", folder / f"{name}.html")
        for name, config in CONFIGS.items()
    }
    return {**shipped, **made, "whole": whole}


def test_the_verb_says_where_the_page_is(tmp_path: Path) -> None:
    verbs._add_verbs("report")
    out = tmp_path / "new" / "page.html"
    done = CliRunner().invoke(verbs.app, ["report", "--stack", "dev", "--out", str(out)])
    assert (done.exit_code, done.output.strip()) == (0, str(out))
    assert out.read_text().startswith("<!doctype html>")


def test_it_needs_no_other_file_and_no_network(pages: dict[str, Path]) -> None:
    for name, path in pages.items():
        text = path.read_text()
        assert not re.findall(r"<script|\bsrc=|@import|url\((?!#)|<link(?! rel=\"icon\")", text), name
        assert not re.findall(r'href="https?:', text), name


def test_ids_are_unique_and_what_is_referred_to_is_there(pages: dict[str, Path]) -> None:
    for name, path in pages.items():
        text = path.read_text()
        ids = re.findall(r'\bid="([^"]*)"', text)
        assert len(ids) == len(set(ids)), name
        labels = [each for found in re.findall(r'aria-labelledby="([^"]*)"', text) for each in found.split()]
        referred = {*labels, *re.findall(r'href="#([^"]*)"', text), *re.findall(r"url\(#([^)]*)\)", text)}
        assert referred <= set(ids), name


def test_what_is_simulated_says_so_in_its_section(whole: Path) -> None:
    text = whole.read_text()
    sections = dict(re.findall(r'<section aria-labelledby="(\w+)">(.*?)</section>', text, re.DOTALL))
    assert [*sections] == ["topology", "timeline", "cost", "benchmarks", "verification", "settings"]
    for name in ("timeline", "benchmarks", "verification"):
        assert '<span class="badge">simulated</span>' in sections[name], name
    assert "SIMULATED: engines (scripted)" in sections["cost"]


def test_only_on_the_embedded_cluster_are_nodes_simulated(pages: dict[str, Path]) -> None:
    said = {name: "SIMULATED nodes and GPUs" in path.read_text() for name, path in pages.items()}
    assert [name for name, simulated in said.items() if simulated] == ["dev"]


def test_words_of_a_server_are_no_markup(whole: Path) -> None:
    text = whole.read_text()
    assert "No &lt;b&gt;answer&lt;/b&gt;." in text
    assert "<b>" not in text


def test_no_secret_is_on_the_page(tmp_path: Path) -> None:
    config = {
        **projects.MANY,
        "huggingFace": {"token": {"secure": f"v1:{TOKEN}"}},
        "ingress": {"host": "a.example.com", "gateway": "a/b", "apiKeys": {"me": {"secure": f"v1:{TOKEN}"}}},
    }
    folder = projects.project(tmp_path, config)
    assert TOKEN not in write(folder, "s").read_text()


def test_the_same_stack_gives_the_same_page(tmp_path: Path) -> None:
    folder = projects.project(tmp_path, projects.MANY)
    one, two = (re.sub(r"Written .*? UTC", "", write(folder, "s").read_text()) for _ in range(2))
    assert one == two


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_in_a_browser(pages: dict[str, Path], browser: Browser, width: int, scheme: str) -> None:
    """Console clean, nothing asked of a network, no sideways scroll, no words outside of their box.

    Words are as wide in the dark, so there the page with everything is enough.
    """
    found = {}
    for name in pages if scheme == "light" else ["whole"]:
        path = pages[name]
        with look(browser, path.as_uri(), width, scheme) as seen:
            found[name] = seen.faults
            shown = seen.page.locator("svg.drawing:visible")
            assert shown.count() == 1, name
    assert {name: faults for name, faults in found.items() if faults} == {}
