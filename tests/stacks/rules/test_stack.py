"""A stack file is told of everything that is wrong with it, each by the key where it stands."""

from typing import Any

import pytest

from stacks.load import parse
from stacks.settings import ConfigError

STACK: dict[str, Any] = {
    "target": "trtllm-disagg-b200",
    "cluster": {"kind": "existing"},
    "platform": {"install": False},
}


def problems(**keys: Any) -> list[str]:
    with pytest.raises(ConfigError) as refused:
        parse({**STACK, **keys}, set())
    return [line.removeprefix("dynamo-gpt-oss:") for line in str(refused.value).splitlines()]


def test_four_mistakes_are_four_sentences() -> None:
    found = problems(
        platform={"install": True, "namespace": "dynamo"},
        cache={"kind": "fsx"},
        graph={"decode": {"env": {"HF_TOKEN": "x"}}},
        benchmark={"shape": "zzz"},
    )
    assert sorted(line.partition(": ")[0] for line in found) == [
        "benchmark.shape", "cache.kind", "graph.decode.env", "platform.namespace",
    ]  # fmt: skip


def test_a_value_that_is_not_encrypted_hides_no_other_mistake() -> None:
    found = problems(huggingFace={"token": "hf_plain"}, cache={"kind": "fsx"})
    assert [line.partition(": ")[0] for line in found] == ["cache.kind", "huggingFace.token"]
    assert "hf_plain" not in "".join(found)


def test_a_pool_that_no_graph_uses_hides_no_mistake_of_a_graph() -> None:
    found = problems(pools=[{"name": "h", "nodes": 1}], graph={"decode": {"env": {"HF_TOKEN": "x"}}})
    assert [line.partition(": ")[0] for line in found] == ["pools[0].name", "graph.decode.env"]


def test_a_graph_that_spans_nodes_is_named_by_its_own_key() -> None:
    second = {"name": "b", "target": "vllm-disagg-h100", "pool": "h", "transport": "efa"}
    found = problems(
        cluster={"kind": "existing", "efa": True},
        pool={"nodes": 8},
        pools=[{"name": "h", "nodes": 4}],
        graphs=[{**second, "decode": {"nodes": 2, "tensorParallel": 8}}],
    )
    assert [line.partition(": ")[0] for line in found] == ["graphs[0].decode.nodes"]


def test_the_oldest_graph_is_told_what_it_needs_of_the_platform() -> None:
    (found,) = problems(
        pool={"nodes": 2},
        platform={"install": True, "nats": False},
        graph={"dynamoVersion": "1.6.1"},
        graphs=[{"name": "b", "dynamoVersion": "1.0.2"}],
    )
    assert found.endswith("leave the key out or use graphs[0].dynamoVersion 1.4.0 or newer")


def test_what_graphs_would_need_together_is_not_asked_of_graphs_that_cannot_be() -> None:
    both = {"decode": {"env": {"HF_TOKEN": "x"}}}
    found = problems(graph=both, graphs=[{"name": "b", **both}])
    assert [line.partition(": ")[0] for line in found] == ["graph.decode.env", "graphs[0].decode.env"]


def test_pools_that_cannot_be_assigned_hide_no_mistake_elsewhere() -> None:
    found = problems(pools=[{"name": "spare"}], cache={"kind": "fsx"})
    assert [line.partition(": ")[0] for line in found] == ["cache.kind", "pools[0].name"]
