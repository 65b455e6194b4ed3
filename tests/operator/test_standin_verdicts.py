"""The operator stand-in admits what real operators admitted, and refuses what they refused."""

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from embedded import cluster
from embedded.operator.platform import GraphVersion, Platform
from facts.releases import LATEST_PATCH, Version
from tests.operator import observe, verdicts
from tests.operator.mutations import mutations
from tests.operator.running import Operator

LINES = ["1.2", "1.3", "1.4"]
"""Release lines to whose verdicts the stand-in is held."""


class StandIn(Operator):
    """The stand-in in the place of an operator."""

    def __init__(self, state: Path, version: GraphVersion, platform: Platform) -> None:
        self.state = state
        cluster.start(print, state, version, platform)


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("verdicts") / "cluster"
    yield folder
    cluster.stop(print, folder)


@pytest.mark.parametrize("version", get_args(GraphVersion))
@pytest.mark.parametrize("line", LINES)
def test_the_stand_in_admits_what_the_operator_admits(state: Path, line: str, version: GraphVersion) -> None:
    stand_in = StandIn(state, version, Platform(version=Version.parse(LATEST_PATCH[line])))
    namespace = f"verdicts-{version}"
    observe.prepare(stand_in, namespace)
    asked = [one for one in mutations() if one.graph["apiVersion"].endswith(f"/{version}")]
    found = dict(verdicts.ask(stand_in, namespace, asked))
    stand_in.kubectl("delete", "dynamographdeployments", "--all", f"--namespace={namespace}")
    kept = {name: lines[line] for name, lines in verdicts.read().items() if name in found and line in lines}
    assert len(kept) == len(found) > 40
    different = {
        name: (kept[name], found[name])
        for name in kept
        if (kept[name] == verdicts.ADMITTED) != (found[name] == verdicts.ADMITTED)
    }
    assert different == {}
