"""Tests that ask a real operator run where one is given."""

import pytest

from tests.operator.release import VARIABLE, releases


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips what needs an operator where none is given, in words that say how to give one."""
    if releases():
        return
    reason = f"set {VARIABLE} to a folder of built Dynamo operators: docs/development.md"
    for item in items:
        if item.get_closest_marker("operator"):
            item.add_marker(pytest.mark.skip(reason=reason))
