"""Fresh graphs pass their gate on a machine that is busy; `python -m tests.embedded.gates` does the same 200 times."""

import pytest

from tests.embedded.gates import busy, gates

pytestmark = pytest.mark.xdist_group("live-gates")


def test_fresh_graphs_and_healed_ones_pass_beside_busy_loops() -> None:
    with busy(4):
        done = list(gates(rounds=2, seed=1122))
    assert [gate.failed for gate in done] == [[], [], []]
    assert [bool(gate.killed) for gate in done] == [False, False, True]
    assert all(len(gate.results) > 10 for gate in done), "every check was tried"
