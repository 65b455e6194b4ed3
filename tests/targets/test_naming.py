"""Names of a graph's components, and how long the graph's own may be."""

from typing import Any

import pytest

from targets.naming import GROVE_NAME_LIMIT, component_name, name_problems
from targets.plan import GraphPlan
from tests.plans import resolved

SPANNING = {"nodes": 2}


def names(graph: GraphPlan) -> set[str]:
    return {component_name(graph.target.engine, planned) for planned in graph.workers}


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (resolved("trtllm-disagg-b200"), {"TrtllmPrefillWorker", "TrtllmDecodeWorker"}),
        (resolved("trtllm-agg-gb200", "p6e-gb200.36xlarge"), {"TrtllmWorker"}),
        (resolved("vllm-disagg-h100", "p5.48xlarge"), {"VllmPrefillWorker", "VllmDecodeWorker"}),
        (resolved("trtllm-disagg-b200", nodes=4, decode=SPANNING), {"TrtllmPrefillWorker", "decode"}),
    ],
)
def test_components_are_called_as_published_where_there_is_room(graph: GraphPlan, expected: set[str]) -> None:
    assert names(graph) == expected


@pytest.mark.parametrize("roles", [{}, {"decode": SPANNING}, {"decode": SPANNING, "prefill": SPANNING}])
def test_the_longest_name_that_is_taken_fits_groves_limit(roles: dict[str, Any]) -> None:
    def problems(length: int) -> list[str]:
        return list(name_problems(resolved("trtllm-disagg-b200", nodes=8, name="n" * length, **roles)))

    longest = max(length for length in range(1, GROVE_NAME_LIMIT) if not problems(length))
    (problem,) = problems(longest + 1)
    assert f"at most {longest} leave room" in problem
    graph = resolved("trtllm-disagg-b200", nodes=8, **roles)
    # Grove names a pod of a worker that spans nodes `<graph>-0-<component>-<component>-ldr-…`.
    added = [len(n) if n[0].isupper() else 2 * len(n) + 4 for n in names(graph)]
    assert longest + max(added) == GROVE_NAME_LIMIT
