"""Clusters and pools that cannot work are refused before any resource, each with its whole message."""

from typing import Any

import pytest

from manifests.graph.placement import worker_affinity
from manifests.names import POOL_LABEL
from stacks.load import parse
from stacks.plan import StackPlan
from stacks.settings import ConfigError
from targets.plan import GraphPlan
from tests import plans
from tests.targets.instances import instance_names

BLOCK = "cr-0123456789abcdef0"
GROUP = "arn:aws:resource-groups:us-east-2:123456789012:group/gpus"
EKS = {"kind": "eks", "region": "us-east-2"}
B200 = {"target": "trtllm-disagg-b200", "cluster": EKS}
GB200 = {"target": "trtllm-agg-gb200", "cluster": {"kind": "eks", "region": "us-east-1"}}
ULTRASERVER = {"kind": "capacity-block", "reservationId": BLOCK, "ultraserver": "u-p6e-gb200x36"}
DALLAS = ["us-east-1-dfw-2a"]
H100 = "p5.48xlarge"
SECOND = {"name": "second", "target": "vllm-disagg-h100", "pool": "h100"}
REGIONS_B200 = "ap-south-1, ap-south-2, eu-north-1, eu-west-3, us-east-1, us-east-2, us-west-2"


def said(base: dict[str, Any], **more: Any) -> StackPlan:
    return parse(base | more, set())


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    # reservations
    (
        B200, {"pool": {"capacity": {"kind": "capacity-block"}, "zones": ["us-east-2a"]}},
        "pool.capacity.reservationId: missing; a capacity-block pool needs the block's Capacity Reservation id (cr-…)",
    ),
    (
        B200,
        {"pool": {
            "capacity": {"kind": "capacity-block", "reservationId": BLOCK, "reservationGroup": GROUP},
            "zones": ["us-east-2a"],
        }},
        f"pool.capacity.reservationGroup: '{GROUP}' is for odcr; a capacity-block pool takes reservationId",
    ),
    (
        B200, {"pool": {"capacity": {"kind": "odcr"}, "zones": ["us-east-2a"]}},
        "pool.capacity: an odcr pool needs either reservationId (cr-…) or reservationGroup (ARN of a resource "
        "group), given neither",
    ),
    (
        B200,
        {"pool": {
            "capacity": {"kind": "odcr", "reservationId": BLOCK, "reservationGroup": GROUP},
            "zones": ["us-east-2a"],
        }},
        "pool.capacity: an odcr pool needs either reservationId (cr-…) or reservationGroup (ARN of a resource "
        "group), given both",
    ),
    (
        B200, {"pool": {"capacity": {"kind": "spot", "reservationId": BLOCK}}},
        f"pool.capacity.reservationId: '{BLOCK}' with kind spot, which uses no reservation; choose kind "
        "capacity-block or odcr, or leave it out",
    ),
    (
        B200, {"pool": {"capacity": {"kind": "on-demand", "reservationGroup": GROUP}}},
        f"pool.capacity.reservationGroup: '{GROUP}' with kind on-demand, which uses no reservation; choose kind "
        "capacity-block or odcr, or leave it out",
    ),
    # zones
    (
        B200,
        {"pool": {
            "capacity": {"kind": "capacity-block", "reservationId": BLOCK}, "zones": ["us-east-2a", "us-east-2b"],
        }},
        "pool.zones: [us-east-2a, us-east-2b] with kind capacity-block; name exactly one zone, the reservation's",
    ),
    (
        B200, {"pool": {"capacity": {"kind": "odcr", "reservationId": BLOCK}}},
        "pool.zones: [] with kind odcr; name exactly one zone, the reservation's",
    ),
    (
        B200, {"pool": {"nodes": 2, "zones": ["us-east-2a", "us-east-2b"]}},
        "pool.zones: [us-east-2a, us-east-2b] for 2 nodes; EFA and placement groups do not cross zones, name "
        "exactly one",
    ),
    (
        B200, {"pool": {"zones": ["us-west-2a"]}},
        "pool.zones: us-west-2a is not in cluster.region us-east-2",
    ),
    (
        B200,
        {
            "cluster": {
                "kind": "existing-eks", "region": "us-east-2", "name": "there",
                "subnets": {"us-east-2a": "subnet-0123456789abcdef0"},
            },
            "pool": {"zones": ["us-east-2b"]},
        },
        "pool.zones: us-east-2b has no subnet; the cluster has them in us-east-2a",
    ),
    (
        B200, {"cluster": {"kind": "eks", "region": "ca-central-1"}},
        f"cluster.region: ca-central-1 has no p6-b200.48xlarge; EC2 offers it in {REGIONS_B200}",
    ),
    # UltraServers
    (
        GB200, {"pool": {"zones": DALLAS}},
        "pool.capacity.kind: on-demand, but p6e-gb200.36xlarge is sold only in UltraServer Capacity Blocks; choose "
        "capacity-block with ultraserver u-p6e-gb200x36 or u-p6e-gb200x72",
    ),
    (
        GB200, {"pool": {"zones": DALLAS, "capacity": {"kind": "capacity-block", "reservationId": BLOCK}}},
        "pool.capacity.ultraserver: missing; choose u-p6e-gb200x36 or u-p6e-gb200x72",
    ),
    (
        GB200, {"pool": {"zones": DALLAS, "nodes": 2, "capacity": ULTRASERVER}},
        "pool.nodes: 2, but an UltraServer is sold whole: u-p6e-gb200x36 has 9 nodes",
    ),
    (
        B200, {"pool": {"zones": ["us-east-2a"], "nodes": 9, "capacity": ULTRASERVER}},
        "pool.capacity.ultraserver: 'u-p6e-gb200x36', but p6-b200.48xlarge is sold as single nodes; leave it out",
    ),
    (
        GB200,
        {
            "cluster": {"kind": "eks", "region": "us-east-1", "version": "1.33"},
            "pool": {"zones": DALLAS, "capacity": ULTRASERVER},
        },
        "cluster.version: 1.33, but ComputeDomains on p6e-gb200.36xlarge need Kubernetes 1.34 or newer",
    ),
    (
        GB200, {"pool": {"zones": DALLAS, "efaDevices": 6, "capacity": ULTRASERVER}},
        "pool.efaDevices: 6 is not allowed on p6e-gb200.36xlarge; choose 4 or 8",
    ),
    # further pools
    (
        B200, {"pools": [{"name": "h100"}]},
        "pools[0].name: 'h100' is no graph's pool, and would cost money for nothing; name it in graphs[…].pool, or "
        "leave the pool out",
    ),
    (
        B200, {"graphs": [SECOND | {"pool": "h200"}], "pools": [{"name": "h100"}]},
        "graphs[0].pool: 'h200' is no pool of the stack; choose one of main, h100",
    ),
    (
        B200, {"graphs": [SECOND], "pools": [{"name": "h100"}, {"name": "h100"}]},
        "pools[1].name: 'h100' is the name of more than one pool (main is that of `pool`); choose another",
    ),
    (
        B200, {"graphs": [SECOND], "pools": [{"name": "h100"}, {"name": "main"}]},
        "pools[1].name: 'main' is the name of more than one pool (main is that of `pool`); choose another",
    ),
    (
        B200, {"graphs": [SECOND], "pools": [{"name": "h100" + "-" * 37}]},
        f"pools[0].name: 'h100{'-' * 37}': string should have at most 40 characters",
    ),
    (
        B200, {"graphs": [SECOND], "pools": [{"name": "h100", "enablement": False}]},
        "pools[0].enablement: unknown key, given False (did you mean pool.enablement?); known keys: instanceType, "
        "nodes, efaDevices, capacity, zones, rootVolumeType, parallelPull, active, nodeSelector, tolerations, "
        "gpuProduct, name",
    ),
    (
        B200, {"graphs": [{"name": "copy", "pool": "h100"}], "pools": [{"name": "h100", "instanceType": H100}]},
        "pools[0].instanceType: p5.48xlarge has H100 GPUs, but target trtllm-disagg-b200 is for B200 or B300; choose "
        f"one of {instance_names('trtllm-disagg-b200')}, or another pool for graphs[0].pool",
    ),
    (
        B200, {"graphs": [SECOND | {"decode": {"replicas": 2}}], "pools": [{"name": "h100"}]},
        "graphs[0]: second needs 12 GPUs (prefill 1×4 + decode 2×4), but the pool has 8 (1 × p5.48xlarge (8 × H100 "
        "each)); lower tensorParallel or replicas, or raise pools[0].nodes",
    ),
    (
        B200, {"graphs": [SECOND], "pools": [{"name": "h100", "nodes": 2, "zones": ["us-east-2a", "us-east-2b"]}]},
        "pools[0].zones: [us-east-2a, us-east-2b] for 2 nodes; EFA and placement groups do not cross zones, name "
        "exactly one",
    ),
    (
        B200, {"graphs": [SECOND], "pools": [{"name": "h100", "capacity": {"kind": "capacity-block"}}]},
        "pools[0].capacity.reservationId: missing; a capacity-block pool needs the block's Capacity Reservation id "
        "(cr-…)",
    ),
    (
        B200 | {"cluster": {"kind": "eks", "region": "us-east-1"}},
        {
            "graphs": [{"name": "arm", "target": "trtllm-agg-gb200", "pool": "gb200", "image": {"archs": ["arm64"]}}],
            "pools": [{"name": "gb200", "zones": DALLAS, "capacity": ULTRASERVER}],
        },
        "graphs[0].image.archs: [arm64] does not hold amd64, the architecture of the main pool and so of the CPU "
        "nodes, which frontends run on",
    ),
    # size
    (
        B200 | {"target": "vllm-disagg-h100"}, {"pool": {"instanceType": "p5.4xlarge", "nodes": 2}},
        "graph.prefill.tensorParallel: one prefill worker needs 4 GPUs (TP 4 × PP 1), but 1 node(s) of p5.4xlarge "
        "have 1; lower tensorParallel or pipelineParallel, or raise graph.prefill.nodes",
    ),
    (
        B200, {"graph": {"decode": {"replicas": 2}}},
        "graph: gpt-oss-disagg needs 12 GPUs (prefill 1×4 + decode 2×4), but the pool has 8 "
        "(1 × p6-b200.48xlarge (8 × B200 each)); lower tensorParallel or replicas, or raise pool.nodes",
    ),
    # clusters
    (
        B200, {"cluster": {"region": "us-east-2"}},
        "cluster.kind: missing; choose one of existing, eks, existing-eks, stack",
    ),
    (
        B200, {"cluster": {"kind": "gke"}},
        "cluster.kind: 'gke' is not allowed; choose one of existing, eks, existing-eks, stack",
    ),
    (B200, {"cluster": {"kind": "eks"}}, "cluster.region: missing; it has no default: AWS region"),
    (
        B200, {"cluster": EKS | {"version": "1.32"}},
        "cluster.version: '1.32': the oldest that works is 1.33",
    ),
    (
        B200, {"cluster": EKS | {"publicAccessFrom": ["0.0.0.0/0"]}},
        "cluster.publicAccessFrom[0]: '0.0.0.0/0': opens the control plane to the whole internet; name the ranges "
        "that need it",
    ),
    (
        B200, {"cluster": EKS | {"zones": ["us-east-2a"]}},
        "cluster: {kind, region, zones}: zones [us-east-2a]; EKS needs two or more different ones",
    ),
    (
        B200, {"cluster": EKS | {"zones": ["us-east-2a", "us-west-2b"]}},
        "cluster: {kind, region, zones}: zone us-west-2b is no Availability Zone of region us-east-2",
    ),
    (
        B200, {"cluster": EKS | {"cidr": "8.8.0.0/16"}},
        "cluster.cidr: '8.8.0.0/16': choose a private IPv4 range from /16 to /18",
    ),
    (
        B200, {"tags": {"more": {"aws:owner": "me"}}},
        "tags.more.aws:owner: 'aws:owner': AWS keeps tags that start with aws: to itself",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("base", "more", "message"), REFUSED, ids=[message.split(":")[0] for *_, message in REFUSED]
)
def test_refused(base: dict[str, Any], more: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        said(base, **more)
    assert message in [line.removeprefix("dynamo-gpt-oss:") for line in str(refused.value).splitlines()]


def test_an_unknown_key_of_a_cluster_is_named_without_its_kind() -> None:
    with pytest.raises(ConfigError) as refused:
        said(B200, cluster=EKS | {"regoin": "us-east-1"})
    assert str(refused.value).startswith(
        "dynamo-gpt-oss:cluster.regoin: unknown key, given 'us-east-1' (did you mean region?); known keys: "
        "namespace, createNamespace, region, "
    )


def test_one_node_may_be_in_any_zone_and_several_in_one() -> None:
    assert said(B200).pool_zones == ("us-east-2a", "us-east-2b", "us-east-2c")
    assert said(B200, pool={"nodes": 2}).pool_zones == ("us-east-2a",)


def test_how_nodes_pull_is_for_those_that_the_stack_makes() -> None:
    with pytest.raises(ConfigError) as refused:
        plans.stack("trtllm-disagg-b200", pool={"parallelPull": True})
    assert str(refused.value) == (
        "dynamo-gpt-oss:pool.parallelPull: true, but the stack does not make these nodes; leave it out, it is for "
        "cluster.kind eks or existing-eks"
    )


def test_an_ultraserver_pool_has_all_its_nodes() -> None:
    settings = said(GB200, pool={"zones": DALLAS, "capacity": ULTRASERVER})
    assert settings.main_pool.nodes == 9


def test_a_further_pool_is_what_its_first_graph_was_published_for() -> None:
    third = {"name": "third", "target": "sglang-disagg-h100", "pool": "h100"}
    settings = said(B200, graphs=[SECOND, third], pools=[{"name": "h100", "nodes": 2}])
    main, h100 = (each.pool for each in settings.pools)
    assert (main.key, main.instance.name, main.nodes) == ("pool", "p6-b200.48xlarge", 1)
    assert (h100.key, h100.instance.name, h100.nodes) == ("pools[0]", H100, 2)
    assert [plan.pool for plan in settings.graphs] == [main, h100, h100]


def test_each_pool_has_zones_of_its_own_and_the_network_those_of_all() -> None:
    settings = said(
        B200, pool={"nodes": 2}, graphs=[SECOND], pools=[{"name": "h100", "zones": ["us-east-2c"]}]
    )
    assert [each.zones for each in settings.pools] == [("us-east-2a",), ("us-east-2c",)]
    assert settings.pool_zones == ("us-east-2a", "us-east-2c")


def test_pools_are_told_apart_by_a_label_where_their_gpus_are_alike() -> None:
    copies = [{"name": "copy", "pool": "b200"}, SECOND]
    settings = said(B200, graphs=copies, pools=[{"name": "b200"}, {"name": "h100"}])
    wanted = [affinity_to_pools(plan) for plan in settings.graphs]
    assert wanted == [[("NotIn", ["b200"])], [("In", ["b200"])], []]


def affinity_to_pools(plan: GraphPlan) -> list[tuple[str, list[str]]]:
    affinity = worker_affinity(plan, plan.workers[0].role)["nodeAffinity"]
    required = affinity["requiredDuringSchedulingIgnoredDuringExecution"]
    (term,) = required["nodeSelectorTerms"]
    return [(e["operator"], e["values"]) for e in term["matchExpressions"] if e["key"] == POOL_LABEL]


def test_a_blocks_nodes_run_only_once_the_stack_says_so() -> None:
    block = {"zones": ["us-east-2a"], "capacity": {"kind": "capacity-block", "reservationId": BLOCK}}
    assert not said(B200, pool=block).main.pool.runs
    assert said(B200, pool=block | {"active": True}).main.pool.runs
    assert said(B200).main.pool.runs
    assert not said(B200, pool={"active": False}).main.pool.runs


def test_a_pool_that_is_there_already_is_not_held_to_how_nodes_are_bought() -> None:
    block = {"zones": ["us-east-2a"], "capacity": {"kind": "capacity-block", "reservationId": BLOCK}}
    for cluster in ({"kind": "existing"}, {"kind": "stack", "stack": "organization/shared/prod"}):
        settings = said(B200, cluster=cluster, pool=block)
        assert settings.main.pool.runs
        assert settings.pool_zones == ()


def test_more_efa_devices_reach_the_graph() -> None:
    settings = said(GB200, pool={"zones": DALLAS, "efaDevices": 8, "capacity": ULTRASERVER})
    assert settings.main.pool.instance.efa_devices == 8


def test_tags_cannot_hide_whose_the_stack_is() -> None:
    tags = said(
        B200, tags={"owner": "ml", "ttl": "72h", "more": {"project": "other", "team": "x"}}
    ).billing.tags
    assert tags.all(project="dynamo-gpt-oss", stack="s", target="t") == {
        "project": "dynamo-gpt-oss", "stack": "s", "target": "t", "owner": "ml", "ttl": "72h", "team": "x"
    }  # fmt: skip
