"""Facts of Dynamo's releases."""

import pytest

from facts.releases import DEFAULT, LATEST_PATCH, RELEASE_COSTS, Version, efa_tag
from facts.versions import DYNAMO


@pytest.mark.parametrize(
    ("version", "tag"),
    [
        ("1.0.2", "1.0.2-efa-amd64"),
        # The only one of 1.2.1, for ARM64 too.
        ("1.2.1", "1.2.1-efa-amd64"),
        ("1.3.1", "1.3.1-efa"),
        ("1.6.1", "1.6.1-efa"),
    ],
)
def test_the_efa_image_has_the_tag_that_was_published(version: str, tag: str) -> None:
    assert efa_tag(Version.parse(version)) == tag


def test_each_line_has_one_release_and_costs_are_of_lines_that_are_there() -> None:
    versions = [Version.parse(release) for release in DYNAMO]
    assert versions == sorted(versions)
    assert len(LATEST_PATCH) == len(DYNAMO), "two releases of one line"
    assert DEFAULT in DYNAMO
    assert RELEASE_COSTS.keys() <= LATEST_PATCH.keys()
