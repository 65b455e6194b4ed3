"""GPU pools on moto: the launch template of every type, and every field of every kind of capacity."""

import base64
from dataclasses import replace
from email import message_from_bytes
from types import SimpleNamespace
from typing import Any, cast

import pulumi
import pytest
import yaml

from components.nodes.gpu_capacity import refuse_upgrade_of_running_nodes, where_offered
from components.nodes.gpu_node_pool_args import GpuNodePoolArgs, Host, Zones
from facts.hardware import INSTANCE_TYPES
from manifests.gpu_nodes import GPU_TAINT
from tests.aws.adapters import Account, snapshot
from tests.aws.conftest import BLOCK, ZONES, Base, Pool, block
from tests.aws.deployment import Deployment, deploy

ZONE = ZONES[0]
GROUP = "arn:aws:resource-groups:us-east-1:123456789012:group/gpus"


def efa(*cards: int) -> list[tuple[int, int, str]]:
    return [(card, 0, "efa-only") for card in cards]


PRIMARY, BESIDE_PRIMARY = (0, 0, "interface"), (0, 1, "efa-only")
LAYOUTS = {
    ("p5.4xlarge", 1): [PRIMARY, BESIDE_PRIMARY],
    ("p5.48xlarge", 32): [PRIMARY, BESIDE_PRIMARY, *efa(*range(1, 32))],
    ("p5en.48xlarge", 16): [PRIMARY, BESIDE_PRIMARY, *efa(*range(1, 16))],
    ("p6-b200.48xlarge", 8): [PRIMARY, BESIDE_PRIMARY, *efa(1, 2, 3, 4, 5, 6, 7)],
    ("p6-b300.48xlarge", 16): [PRIMARY, *efa(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)],
    ("p6e-gb200.36xlarge", 4): [PRIMARY, *efa(1, 5, 9, 13)],
    ("p6e-gb200.36xlarge", 8): [PRIMARY, *efa(1, 3, 5, 7, 9, 11, 13, 15)],
}


def template(deployment: Deployment) -> dict[str, Any]:
    data: dict[str, Any] = deployment.of_type("aws:ec2/launchTemplate:LaunchTemplate")["gpu-nodes"]["data"]
    return data


def group(deployment: Deployment) -> dict[str, Any]:
    found: dict[str, Any] = deployment.account.call(
        "eks", "DescribeNodegroup", clusterName="there", nodegroupName="gpu-nodes"
    )["nodegroup"]
    return found


@pytest.mark.parametrize(("name", "devices"), LAYOUTS)
def test_every_type_has_its_layout(pool: Pool, name: str, devices: int) -> None:
    deployment = pool(replace(INSTANCE_TYPES[name], efa_devices=devices), {"kind": "on-demand"})
    interfaces = template(deployment)["NetworkInterfaces"]
    laid_out = [(each["NetworkCardIndex"], each["DeviceIndex"], each["InterfaceType"]) for each in interfaces]
    assert laid_out == LAYOUTS[name, devices]
    assert sum(kind == "efa-only" for _, _, kind in laid_out) == devices
    assert not any("SubnetId" in each for each in interfaces)


def test_every_gpu_type_is_tested() -> None:
    assert {name for name, _ in LAYOUTS} == {
        name for name, instance in INSTANCE_TYPES.items() if instance.gpus
    }


@pytest.mark.parametrize("name", sorted({name for name, _ in LAYOUTS}))
def test_every_type_is_locked_down(pool: Pool, name: str) -> None:
    data = template(pool(name, {"kind": "on-demand"}))
    assert data["InstanceType"] == name
    assert data["MetadataOptions"] == {
        "HttpEndpoint": "enabled",
        "HttpTokens": "required",
        "HttpPutResponseHopLimit": 1,
    }
    (root,) = data["BlockDeviceMappings"]
    assert root["Ebs"]["Encrypted"] is True
    assert root["Ebs"]["VolumeType"] == "gp3"
    assert "ImageId" not in data
    tagged = {
        each["ResourceType"]: {tag["Key"] for tag in each["Tags"]} for each in data["TagSpecifications"]
    }
    assert tagged == {kind: {"project", "stack"} for kind in ("instance", "volume", "network-interface")}


def test_local_disks_are_striped_for_kubelet_and_containerd(pool: Pool) -> None:
    data = template(pool("p6-b200.48xlarge", {"kind": "on-demand"}))
    _, part = message_from_bytes(base64.b64decode(data["UserData"])).walk()
    assert part.get_content_type() == "application/node.eks.aws"
    config = yaml.safe_load(str(part.get_payload()))
    assert (config["apiVersion"], config["kind"]) == ("node.eks.aws/v1alpha1", "NodeConfig")
    assert config["spec"]["instance"] == {"localStorage": {"strategy": "RAID0"}}


@pytest.mark.parametrize("parallel", [True, False])
def test_images_are_pulled_in_parallel_if_asked(pool: Pool, parallel: bool) -> None:
    data = template(pool("p5.4xlarge", {"kind": "on-demand"}, host=Host(parallel_pull=parallel)))
    _, part = message_from_bytes(base64.b64decode(data["UserData"])).walk()
    gates = yaml.safe_load(str(part.get_payload()))["spec"].get("featureGates")
    assert gates == ({"FastImagePull": True} if parallel else None)


def test_every_gpu_type_can_unpack_in_parallel() -> None:
    """As nodeadm asks for CPUs and memory, and for a disk that is faster than a root volume usually is."""
    for each in INSTANCE_TYPES.values():
        if each.gpus:
            assert (each.vcpus >= 4, each.memory_gib >= 8, each.nvme_gb[0] > 0) == (True, True, True), each


def test_containers_of_nodes_with_efa_may_lock_memory(pool: Pool) -> None:
    data = template(pool("p6-b200.48xlarge", {"kind": "on-demand"}))
    _, part = message_from_bytes(base64.b64decode(data["UserData"])).walk()
    runtime = yaml.safe_load(str(part.get_payload()))["spec"]["containerd"]["baseRuntimeSpec"]
    limits = {each["type"]: each["soft"] for each in runtime["process"]["rlimits"]}
    assert limits["RLIMIT_MEMLOCK"] > 2**43, "more than the memory of any instance type"
    assert int(float(limits["RLIMIT_MEMLOCK"])) == limits["RLIMIT_MEMLOCK"], "JSON numbers are floating-point"
    assert limits["RLIMIT_NOFILE"] == 65536, "the image's own, which a list replaces"


def test_the_graphs_toleration_tolerates_the_pools_taint(pool: Pool) -> None:
    made = group(pool("p6-b200.48xlarge", {"kind": "on-demand"}))
    (taint,) = made["taints"]
    toleration = GPU_TAINT.toleration
    assert (taint["key"], toleration["operator"]) == (toleration["key"], "Exists")
    assert taint["effect"].replace("_", "").lower() == toleration["effect"].lower()
    assert made["labels"] == {"nvidia.com/gpu.present": "true", "nvidia.com/gpu.product": "NVIDIA-B200"}


@pytest.mark.parametrize(
    ("name", "image"),
    [("p6-b200.48xlarge", "AL2023_x86_64_NVIDIA"), ("p6e-gb200.36xlarge", "AL2023_ARM_64_NVIDIA")],
)
def test_the_image_is_of_the_types_architecture(pool: Pool, name: str, image: str) -> None:
    assert group(pool(name, {"kind": "on-demand"}))["amiType"] == image


class TestCapacityBlock:
    @pytest.fixture
    def made(self, account: Account, pool: Pool) -> Deployment:
        account.blocks = {BLOCK: block("p6-b200.48xlarge", ZONE)}
        return pool("p6-b200.48xlarge", {"kind": "capacity-block", "reservationId": BLOCK}, nodes=2)

    def test_market_type(self, made: Deployment) -> None:
        assert template(made)["InstanceMarketOptions"] == {"MarketType": "capacity-block"}

    def test_reservation_target(self, made: Deployment) -> None:
        target = {"CapacityReservationTarget": {"CapacityReservationId": BLOCK}}
        assert template(made)["CapacityReservationSpecification"] == target

    def test_instance_type_is_in_the_template_alone(self, made: Deployment) -> None:
        assert template(made)["InstanceType"] == "p6-b200.48xlarge"
        assert "instanceTypes" not in made.of_type("aws:eks/nodeGroup:NodeGroup")["gpu-nodes"]

    def test_capacity_type(self, made: Deployment) -> None:
        assert group(made)["capacityType"] == "CAPACITY_BLOCK"

    def test_one_subnet_in_the_blocks_zone(self, made: Deployment) -> None:
        (subnet,) = made.account.subnets(*group(made)["subnets"])
        assert subnet["AvailabilityZone"] == ZONE

    def test_no_placement_group(self, made: Deployment) -> None:
        assert "Placement" not in template(made)

    def test_eks_alone_ends_its_nodes(self, made: Deployment) -> None:
        assert schedules(made) == []

    def test_runs_at_size(self, made: Deployment) -> None:
        assert group(made)["scalingConfig"] == {"minSize": 0, "maxSize": 2, "desiredSize": 2}


GB200 = {"kind": "capacity-block", "reservationId": BLOCK, "ultraserver": "u-p6e-gb200x36"}


def ultraserver(pool: Pool, account: Account, end: str, *, running: bool = True) -> Deployment:
    account.blocks = {BLOCK: block("p6e-gb200.36xlarge", ZONE, endDate=end)}
    return pool("p6e-gb200.36xlarge", GB200, nodes=9, active=running)


def schedules(made: Deployment) -> list[dict[str, Any]]:
    return list(made.of_type("aws:autoscaling/schedule:Schedule").values())


def test_an_ultraservers_nodes_go_before_ec2_ends_them(account: Account, pool: Pool) -> None:
    made = ultraserver(pool, account, "2126-12-08T11:30:00Z")
    (action,) = schedules(made)
    assert action["startTime"] == "2126-12-08T10:15:00Z"
    assert [action[size] for size in ("desiredCapacity", "minSize", "maxSize")] == [0, -1, -1]
    (scaling,) = made.of_type("aws:eks/nodeGroup:NodeGroup")["gpu-nodes"]["resources"]
    assert scaling["autoscalingGroups"] == [{"name": action["autoscalingGroupName"]}]


def test_nothing_ends_where_nothing_runs(account: Account, pool: Pool) -> None:
    assert schedules(ultraserver(pool, account, "2026-01-08T11:30:00Z", running=False)) == []


def test_an_ultraserver_that_is_about_to_end_gets_no_nodes(account: Account, pool: Pool) -> None:
    with pytest.raises(pulumi.RunError) as refused:
        ultraserver(pool, account, "2026-01-08T11:30:00Z")
    assert str(refused.value) == (
        f"gpu-nodes.active: true, but Capacity Block {BLOCK} ends at 2026-01-08T11:30:00Z, and an "
        "UltraServer's nodes go at 2026-01-08T10:15:00Z, before EC2 ends them; set it to false"
    )


def test_a_block_that_has_not_begun_gets_a_pool_of_size_zero(account: Account, pool: Pool) -> None:
    account.blocks = {BLOCK: block("p6-b200.48xlarge", ZONE, state="scheduled")}
    made = pool("p6-b200.48xlarge", {"kind": "capacity-block", "reservationId": BLOCK}, active=False)
    assert group(made)["scalingConfig"]["desiredSize"] == 0
    assert made.outputs["window"] == {
        "start": "2026-12-01T11:30:00Z",
        "end": "2026-12-08T11:30:00Z",
        "state": "scheduled",
    }


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            {"state": "scheduled"},
            f"gpu-nodes.active: true, but Capacity Block {BLOCK} is scheduled (from 2026-12-01T11:30:00Z to "
            "2026-12-08T11:30:00Z); set it to false until the block is active",
        ),
        (
            {"availabilityZone": "us-east-1b"},
            f"gpu-nodes.subnets: us-east-1a, but Capacity Block {BLOCK} is in us-east-1b",
        ),
        (
            {"instanceType": "p5.48xlarge"},
            f"gpu-nodes.instanceType: p6-b200.48xlarge, but Capacity Block {BLOCK} is of p5.48xlarge",
        ),
        ({"instanceCount": 1}, f"gpu-nodes.nodes: 2, but Capacity Block {BLOCK} has 1"),
    ],
)
def test_a_block_that_is_another_is_refused(
    account: Account, pool: Pool, change: dict[str, Any], problem: str
) -> None:
    account.blocks = {BLOCK: block("p6-b200.48xlarge", ZONE) | change}
    with pytest.raises(pulumi.RunError) as refused:
        pool("p6-b200.48xlarge", {"kind": "capacity-block", "reservationId": BLOCK}, nodes=2)
    assert str(refused.value) == problem


@pytest.mark.parametrize(
    ("said", "target"),
    [
        ({"reservationId": BLOCK}, {"CapacityReservationId": BLOCK}),
        ({"reservationGroup": GROUP}, {"CapacityReservationResourceGroupArn": GROUP}),
    ],
)
def test_a_reservation_is_on_demand_to_eks(
    account: Account, pool: Pool, said: dict[str, Any], target: dict[str, Any]
) -> None:
    account.blocks = {BLOCK: {}}
    made = pool("p5.48xlarge", {"kind": "odcr", **said}, nodes=2)
    assert template(made)["CapacityReservationSpecification"] == {"CapacityReservationTarget": target}
    assert "InstanceMarketOptions" not in template(made)
    assert "Placement" not in template(made)
    assert template(made)["InstanceType"] == "p5.48xlarge"
    assert group(made)["capacityType"] == "ON_DEMAND"
    assert len(group(made)["subnets"]) == 1


@pytest.mark.parametrize(("kind", "capacity_type"), [("on-demand", "ON_DEMAND"), ("spot", "SPOT")])
def test_capacity_without_reservation(pool: Pool, kind: str, capacity_type: str) -> None:
    made = pool("p5.48xlarge", {"kind": kind}, nodes=2)
    assert not {"CapacityReservationSpecification", "InstanceMarketOptions"} & template(made).keys()
    assert template(made)["InstanceType"] == "p5.48xlarge"
    assert template(made)["Placement"] == {"GroupName": "gpu-nodes"}
    assert group(made)["capacityType"] == capacity_type


def test_one_node_takes_any_zone_that_has_the_type(account: Account, pool: Pool) -> None:
    account.also_offered = {"p6e-gb200.36xlarge": (ZONES[1],)}
    made = pool("p6e-gb200.36xlarge", {"kind": "on-demand"}, zones=ZONES, choice=Zones(named=False))
    (subnet,) = made.account.subnets(*group(made)["subnets"])
    assert subnet["AvailabilityZone"] == ZONES[1]
    assert "Placement" not in template(made)


def test_zones_without_the_type_are_refused(account: Account, pool: Pool) -> None:
    account.also_offered = {"p6e-gb200.36xlarge": ("us-east-1-dfw-2a",)}
    with pytest.raises(pulumi.RunError) as refused:
        pool("p6e-gb200.36xlarge", {"kind": "on-demand"}, zones=ZONES)
    assert str(refused.value) == (
        "gpu-nodes.subnets: [us-east-1a, us-east-1b] have no p6e-gb200.36xlarge; for this account EC2 "
        "offers it in us-east-1-dfw-2a"
    )


def offered(zones: list[str], *, named_zones: bool) -> list[str]:
    """The subnets of a pool in us-east-1a and b where EC2 offers its type in those zones."""
    args = SimpleNamespace(instance=INSTANCE_TYPES["p6-b200.48xlarge"], zones=Zones(named=named_zones))
    answer: Any = SimpleNamespace(locations=zones)
    return where_offered(
        "gpu-nodes-b",
        cast(GpuNodePoolArgs, args),
        answer,
        {"us-east-1a": "subnet-a", "us-east-1b": "subnet-b"},
    )


def test_a_zone_that_is_named_is_never_left_out() -> None:
    assert offered(["us-east-1a", "us-east-1b"], named_zones=True) == ["subnet-a", "subnet-b"]
    assert offered(["us-east-1a"], named_zones=False) == ["subnet-a"]
    with pytest.raises(pulumi.RunError) as refused:
        offered(["us-east-1a"], named_zones=True)
    assert str(refused.value) == (
        "gpu-nodes-b.subnets: [us-east-1b] have no p6-b200.48xlarge; for this account EC2 offers it "
        "in us-east-1a"
    )


def change(old_size: int, old_version: str, new_version: str | None) -> pulumi.ResourceHookArgs:
    old, new = (
        {
            "scalingConfig": {"desiredSize": float(old_size)},
            "launchTemplate": {"id": "lt-1", "version": version},
        }
        for version in (old_version, new_version)
    )
    return pulumi.ResourceHookArgs("urn", "id", "gpu-nodes", "type", new_inputs=new, old_inputs=old)


def test_running_nodes_of_a_block_are_not_upgraded() -> None:
    with pytest.raises(pulumi.RunError, match=r"set gpu-nodes-b\.active to false"):
        refuse_upgrade_of_running_nodes(change(2, "1", "2"), "gpu-nodes-b")
    refuse_upgrade_of_running_nodes(change(0, "1", "2"), "gpu-nodes")
    refuse_upgrade_of_running_nodes(change(2, "1", "1"), "gpu-nodes")


def test_a_preview_tells_what_it_cannot_know_and_refuses_what_it_knows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    warned: list[str] = []
    monkeypatch.setattr(pulumi.runtime, "is_dry_run", lambda: True)
    monkeypatch.setattr(pulumi.log, "warn", warned.append)
    refuse_upgrade_of_running_nodes(change(2, "1", None), "gpu-nodes")
    (warning,) = warned
    assert warning.startswith("if this gives the pool's nodes another launchTemplate, `up` refuses: ")
    known = change(2, "1", None)
    known.new_inputs = {**(known.new_inputs or {}), "version": "1.35"}
    with pytest.raises(pulumi.RunError, match=r"set gpu-nodes\.active to false"):
        refuse_upgrade_of_running_nodes(known, "gpu-nodes")


def test_another_machine_image_is_an_upgrade_too() -> None:
    moved = change(2, "1", "1")
    moved.new_inputs = {**(moved.new_inputs or {}), "releaseVersion": "1.35.0-20261101"}
    with pytest.raises(pulumi.RunError, match=r"set gpu-nodes\.active to false"):
        refuse_upgrade_of_running_nodes(moved, "gpu-nodes")


def test_pools_on_a_cluster_that_is_there(base: Base) -> None:
    config = {
        "target": "vllm-disagg-h100",
        "cluster": {
            "kind": "existing-eks",
            "region": base.account.region,
            "name": "there",
            "subnets": dict(base.subnets),
        },
        "pool": {"capacity": {"kind": "spot"}},
        "tags": {"ttl": "never"},
        "pools": [{"name": "copy", "zones": [ZONES[1]]}],
        "graphs": [{"name": "copy", "pool": "copy"}],
    }
    before = snapshot(base.account)
    deployment = deploy(base.account, config)
    assert deployment.outputs["cluster"] == "there"
    pools = base.account.call("eks", "ListNodegroups", clusterName="there")["nodegroups"]
    assert pools == ["gpu-nodes", "gpu-nodes-copy"]
    copy = base.account.call("eks", "DescribeNodegroup", clusterName="there", nodegroupName="gpu-nodes-copy")
    assert copy["nodegroup"]["subnets"] == [base.subnets[ZONES[1]]]
    assert copy["nodegroup"]["labels"]["dynamo-gpt-oss/pool"] == "copy"
    deployment.destroy()
    assert snapshot(base.account) == before
