"""Every test that a page names is there, under that name."""

import ast
import re

import pytest

from tests.project import PROJECT

NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
PAGES = {
    page.name: NAMED.findall(page.read_text())
    for page in [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]
}


def functions(path: str) -> set[str]:
    return {
        node.name
        for node in ast.parse((PROJECT / path).read_text()).body
        if isinstance(node, ast.FunctionDef)
    }


@pytest.mark.parametrize("page", [page for page, named in PAGES.items() if named])
def test_a_test_that_a_page_names_is_there(page: str) -> None:
    missing = [f"{path}::{name}" for path, name in PAGES[page] if name not in functions(path)]
    assert missing == []


def test_every_symptom_on_aws_has_a_test_beside_it() -> None:
    section = (
        (PROJECT / "docs" / "troubleshooting.md").read_text().split("\n## On AWS\n")[1].split("\n## ")[0]
    )
    rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 30
    assert [row for row in rows if not NAMED.search(row.split("|")[3])] == []
