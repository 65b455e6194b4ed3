"""Clusters and pools that cannot work are refused before any resource, each with its whole message."""

from typing import Any

import pytest

from stacks.settings import ConfigError, Settings, parse

BLOCK = "cr-0123456789abcdef0"
GROUP = "arn:aws:resource-groups:us-east-2:123456789012:group/gpus"
EKS = {"kind": "eks", "region": "us-east-2"}
B200 = {"target": "trtllm-disagg-b200", "cluster": EKS}
GB200 = {"target": "trtllm-agg-gb200", "cluster": {"kind": "eks", "region": "us-east-1"}}
ULTRASERVER = {"kind": "capacity-block", "reservationId": BLOCK, "ultraserver": "u-p6e-gb200x36"}
DALLAS = ["us-east-1-dfw-2a"]
REGIONS_B200 = "ap-south-1, ap-south-2, eu-north-1, eu-west-3, us-east-1, us-east-2, us-west-2"


def said(base: dict[str, Any], **more: Any) -> Settings:
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
    # size
    (
        B200 | {"target": "vllm-disagg-h100"}, {"pool": {"instanceType": "p5.4xlarge", "nodes": 2}},
        "graph.prefill.tensorParallel: one prefill worker needs 4 GPUs (TP 4 × PP 1), but 1 node(s) of p5.4xlarge "
        "have 1",
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
    (B200, {"cluster": {"kind": "eks"}}, "cluster.region: missing; it has no default"),
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
        "namespace, createNamespace, region, kind, name, version"
    )


def test_one_node_may_be_in_any_zone_and_several_in_one() -> None:
    assert said(B200).pool_zones() == ("us-east-2a", "us-east-2b", "us-east-2c")
    assert said(B200, pool={"nodes": 2}).pool_zones() == ("us-east-2a",)


def test_an_ultraserver_pool_has_all_its_nodes() -> None:
    settings = said(GB200, pool={"zones": DALLAS, "capacity": ULTRASERVER})
    assert settings.gpu_pool().nodes == 9


def test_a_blocks_nodes_run_only_once_the_stack_says_so() -> None:
    block = {"zones": ["us-east-2a"], "capacity": {"kind": "capacity-block", "reservationId": BLOCK}}
    assert not said(B200, pool=block).graphs_run()
    assert said(B200, pool=block | {"active": True}).graphs_run()
    assert said(B200).graphs_run()
    assert not said(B200, pool={"active": False}).graphs_run()


def test_a_pool_that_is_there_already_is_not_held_to_how_nodes_are_bought() -> None:
    block = {"zones": ["us-east-2a"], "capacity": {"kind": "capacity-block", "reservationId": BLOCK}}
    for cluster in ({"kind": "existing"}, {"kind": "stack", "stack": "organization/shared/prod"}):
        settings = said(B200, cluster=cluster, pool=block)
        assert settings.graphs_run()
        assert settings.pool_zones() == ()


def test_more_efa_devices_reach_the_graph() -> None:
    settings = said(GB200, pool={"zones": DALLAS, "efaDevices": 8, "capacity": ULTRASERVER})
    assert settings.plan().pool.instance.efa_devices == 8


def test_tags_cannot_hide_whose_the_stack_is() -> None:
    tags = said(B200, tags={"owner": "ml", "ttl": "72h", "more": {"project": "other", "team": "x"}}).tags
    assert tags.applied(project="dynamo-gpt-oss", stack="s", target="t") == {
        "project": "dynamo-gpt-oss", "stack": "s", "target": "t", "owner": "ml", "ttl": "72h", "team": "x"
    }  # fmt: skip
