"""Keys that a page of docs/ lists by hand."""

from pathlib import Path

import pytest

from stacks.sections.benchmark import BenchmarkSettings, OwnShape

PAGE = (Path(__file__).parents[2] / "docs" / "benchmarks.md").read_text()
KEYS = [field.alias for model in (BenchmarkSettings, OwnShape) for field in model.model_fields.values()]


@pytest.mark.parametrize("key", [key for key in KEYS if key != "shapes"])
def test_every_key_of_the_benchmark_is_in_its_page(key: str) -> None:
    assert f"`{key}`" in PAGE
