"""The stacks that are measured, and what their times say."""

import pytest

from benchmarks.scaling import described, stack
from ops.stack.on_embedded import plan_of


def test_each_graph_has_a_node() -> None:
    plan = plan_of(stack(3))
    assert len({graph.name for graph in plan.graphs}) == 3
    assert plan.main.pool.nodes == 3


def test_the_exponent_is_of_what_further_graphs_add() -> None:
    sizes = (1, 2, 4, 8, 16)
    *rows, fitted = described(sizes, [5 + 2.0 * (size - 1) for size in sizes])
    assert [row.ratio for row in rows] == [1.4, 2.2, 3.8, 7.0]
    assert fitted.value == pytest.approx(1)
    assert fitted.met
