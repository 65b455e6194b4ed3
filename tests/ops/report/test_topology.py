"""What a drawing says of a stack."""

from ops.report.sketch import Topology
from ops.report.topology import DRAWN_NODES, described, topology
from tests.ops.report.projects import CROWDED, MANY, SCALED
from tests.plans import stack


def drawn(target: str, **config: object) -> Topology:
    return topology("s", stack(target, **config))


def words(config: dict[str, object]) -> Topology:
    return topology("s", stack(**config))  # type: ignore[arg-type]


def test_a_disaggregated_graph_in_one_pod() -> None:
    [pool] = drawn("trtllm-disagg-b200").pools
    assert pool.name == "1 × p6-b200.48xlarge"
    assert pool.facts[0] == "8 × B200 · NVLink among a node's GPUs · 8 EFA devices a node"
    [node] = pool.nodes
    assert [(worker.name, worker.gpus, worker.hands) for worker in node.workers] == [
        ("Prefill worker", 4, "gives KV cache"),
        ("Decode worker", 4, "takes KV cache"),
    ]
    assert [band.words for band in node.kv] == ["KV cache: GPU to GPU over NVLink, in one pod"]
    assert (pool.kv, node.kv[0].slow) == ((), False)


def test_kv_cache_that_leaves_nodes_is_the_pools() -> None:
    [pool] = words(SCALED).pools
    assert [band.words for band in pool.kv] == ["KV cache: node to node over EFA"]
    assert all(node.kv == () for node in pool.nodes)


def test_a_slow_way_says_so() -> None:
    [pool] = drawn("vllm-disagg-h100", pool={"nodes": 2}, graph={"transport": "tcp"}).pools
    assert pool.kv[0].slow
    assert "slow" in pool.kv[0].words


def test_an_aggregated_graph_hands_nothing_over() -> None:
    [pool] = drawn("trtllm-agg-gb200", pool={"nodes": 9}).pools
    assert "one NVLink domain across nodes" in pool.facts[0]
    assert [len(node.workers) for node in pool.nodes] == [1] + 8 * [0]
    assert [node.free for node in pool.nodes] == [0] + 8 * [4]
    assert pool.nodes[0].workers[0].hands is None


def test_simulated_engines_say_so_and_have_no_nodes_of_their_own() -> None:
    [pool] = drawn("mocker-disagg-cpu").pools
    assert "SIMULATED" in pool.facts[0]
    assert pool.name == "Workers on the same nodes"
    assert {fact for worker in pool.nodes[0].workers for fact in worker.facts} == {"simulated engine"}


def test_each_frontend_belongs_to_the_pool_of_its_workers() -> None:
    found = words(MANY)
    assert [(frontend.pool, *frontend.facts) for frontend in found.frontends] == [
        (0, "graph gpt-oss-disagg", "1 frontend, port 8000", "router: round-robin"),
        (1, "graph gpt-oss-vllm-long-name-here", "3 frontends, port 8000", "router: kv"),
        (0, "graph second", "1 frontend, port 8000", "router: round-robin"),
    ]
    assert found.weights == "copied to the node"
    assert found.cache == ("Model cache", "an S3 bucket")


def test_workers_that_an_autoscaler_may_add_are_told_and_not_drawn() -> None:
    [pool] = words(SCALED).pools
    [prefill] = [worker for node in pool.nodes for worker in node.workers if worker.role == "prefill"]
    assert "scaled, up to 3" in prefill.facts


def test_nodes_that_are_not_drawn_are_counted() -> None:
    [pool] = words(CROWDED).pools
    assert len(pool.nodes) == DRAWN_NODES
    assert all(node.workers for node in pool.nodes)
    assert pool.more == "12 more nodes, 2 of them with workers"


def test_the_way_in() -> None:
    assert drawn("trtllm-disagg-b200").entry == ("OpenAI API", "inside the cluster, or by port-forward")
    ingress = {"host": "llm.example.com", "gateway": "envoy/main", "existingSecret": "keys"}
    assert (
        drawn("trtllm-disagg-b200", ingress=ingress).entry[1] == "https://llm.example.com, through a Gateway"
    )


def test_a_filled_claim_is_not_downloaded_into() -> None:
    found = drawn("trtllm-disagg-b200", cache={"existingClaim": "weights"})
    assert found.source == ("Filled already", "nothing is downloaded")
    assert "claim weights" in found.cache


def test_it_is_described_for_those_who_do_not_see_it() -> None:
    text = described(drawn("trtllm-disagg-b200"))
    for said in (
        "Clients use the OpenAI API",
        "1 × p6-b200.48xlarge: 8 × B200",
        "Node 1: Prefill worker (4 GPUs), Decode worker (4 GPUs); 0 GPUs free.",
        "KV cache goes from GPU to GPU over NVLink",
        "Model cache: ",
    ):
        assert said in text
