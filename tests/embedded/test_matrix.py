"""The table that `python -m tests.matrix` prints: oldest, default and newest release, all with `--all-releases`."""

from pathlib import Path

import pytest

from embedded import dynamo
from embedded.processes import Report
from facts.releases import DEFAULT, LATEST_PATCH, Version
from tests import matrix
from tests.matrix import RELEASES, Cell

pytestmark = pytest.mark.xdist_group("live-matrix")
HERE = [release for release in RELEASES if not dynamo.unavailable(release)]
ALWAYS = {HERE[0], DEFAULT, HERE[-1]}
SELDOM = {"no decode", "dead prefill", "empty answers", "no answers"}
"""Faults that are always tried on the newest release alone."""


def is_always_tried(cell: Cell) -> bool:
    return cell.release in ALWAYS and (cell.fault not in SELDOM or cell.release == HERE[-1])


def cells() -> list[object]:
    return [
        pytest.param(
            cell,
            id=f"{release} {cell.topology} {cell.router} {cell.fault or 'healthy'}",
            marks=[] if is_always_tried(cell) else [pytest.mark.every_release],
        )
        for release in HERE
        for cell in (*matrix.healthy(release), *matrix.broken(release))
    ]


@pytest.mark.parametrize("cell", cells())
def test_cell(cell: Cell, tmp_path: Path, progress: Report) -> None:
    dynamo.install(cell.release, progress)
    with matrix.served(cell, tmp_path / "state") as (_, url):
        assert not matrix.wrong(cell, url)


def test_oldest_default_and_newest_are_always_tried() -> None:
    assert set(RELEASES) - {*HERE} == {LATEST_PATCH["0.4"]}
    assert {LATEST_PATCH["1.0"], DEFAULT, max(HERE, key=Version.parse)} == ALWAYS
    assert matrix.FAULTS.keys() > SELDOM
