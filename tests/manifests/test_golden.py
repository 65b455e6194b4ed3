"""Every target's objects as files: the graph, its engine files and its ComputeDomain, in both API versions."""

from typing import Any

import pytest
import yaml

from facts.releases import Version
from tests.golden_files import compare, names
from tests.golden_graphs import CASES, documents, plan


@pytest.mark.parametrize(("file", "target", "values"), CASES, ids=[file for file, _, _ in CASES])
def test_objects_are_as_in_the_golden_file(file: str, target: str, values: dict[str, Any]) -> None:
    graph = plan(target, values)
    assert graph.version == Version.parse(values["graph"]["dynamoVersion"])
    text = yaml.safe_dump_all(documents(graph), sort_keys=True, width=1000, allow_unicode=True)
    compare(f"targets/{file}.yaml", text)


def test_no_golden_file_is_left_over() -> None:
    assert names("targets") == {f"{file}.yaml" for file, _, _ in CASES}
