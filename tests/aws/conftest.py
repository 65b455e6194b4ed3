"""A cluster in moto, for components that are added to one."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from components.nodes.gpu_node_pool import GpuNodePool
from components.nodes.gpu_node_pool_args import Capacity, GpuNodePoolArgs, JoinedCluster, Zones
from facts.hardware import INSTANCE_TYPES, InstanceType
from targets.capacity import CapacityKnobs
from tests.aws import read_once  # noqa: F401 before whatever imports moto
from tests.aws.adapters import Account
from tests.aws.deployment import Deployment, moto_account, run

REGION, ZONES = "us-east-1", ("us-east-1a", "us-east-1b")
BLOCK = "cr-0123456789abcdef0"
Pool = Callable[..., Deployment]


def block(instance: str, zone: str, **more: Any) -> dict[str, Any]:
    """A Capacity Block as EC2 describes it, active unless said otherwise."""
    said = {
        "availabilityZone": zone,
        "instanceType": instance,
        "instanceCount": 18,
        "startDate": "2026-12-01T11:30:00Z",
        "endDate": "2026-12-08T11:30:00Z",
        "state": "active",
    }
    return said | more


@dataclass(frozen=True)
class Base:
    """What pools are added to."""

    account: Account
    vpc: str
    subnets: Mapping[str, str]
    group: str


@pytest.fixture(scope="module")
def base() -> Iterator[Base]:
    """An account with a VPC, a subnet in two zones and a cluster with its node add-ons."""
    with moto_account(REGION) as account:
        vpc = account.call("ec2", "CreateVpc", CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        subnets = {
            zone: account.call(
                "ec2",
                "CreateSubnet",
                VpcId=vpc,
                CidrBlock=f"10.0.{position}.0/24",
                AvailabilityZone=zone,
            )["Subnet"]["SubnetId"]
            for position, zone in enumerate(ZONES)
        }
        group = account.call(
            "ec2", "CreateSecurityGroup", GroupName="eks", Description="EKS's own", VpcId=vpc
        )["GroupId"]
        account.call(
            "eks",
            "CreateCluster",
            name="there",
            roleArn="arn:aws:iam::123456789012:role/there",
            resourcesVpcConfig={"subnetIds": list(subnets.values())},
        )
        account.eks_group = group
        for addon in ("vpc-cni", "kube-proxy", "eks-pod-identity-agent"):
            account.keep("addon", f"there:{addon}")
        yield Base(account, vpc, subnets, group)


@pytest.fixture
def account(base: Base) -> Account:
    """The account, without reservations, every GPU type on offer in both zones."""
    base.account.blocks = {}
    base.account.also_offered = dict.fromkeys(INSTANCE_TYPES, ZONES)
    return base.account


@pytest.fixture
def pool(base: Base, account: Account) -> Iterator[Pool]:
    """Adds a GPU pool to the cluster and takes it away after the test. given: fields of GpuNodePoolArgs."""
    made: list[Deployment] = []

    def add(instance: str | InstanceType, capacity: Mapping[str, Any], **given: Any) -> Deployment:
        zones = given.pop("zones", ZONES[:1])
        wanted_type = INSTANCE_TYPES[instance] if isinstance(instance, str) else instance
        wanted: dict[str, Any] = {
            "cluster": JoinedCluster(name="there", vpc_id=base.vpc, security_group_id=base.group),
            "subnets": {zone: base.subnets[zone] for zone in zones},
            "zones": given.pop("choice", Zones()),
            "instance_type": wanted_type.name,
            "efa_devices": wanted_type.efa_devices,
            "capacity": Capacity(**CapacityKnobs.model_validate(capacity).model_dump()),
            "tags": {"project": "dynamo-gpt-oss", "stack": "test"},
        }

        def declare() -> dict[str, Any]:
            return {"window": GpuNodePool("gpu-nodes", GpuNodePoolArgs(**wanted | given)).window}

        made.append(run(account, declare))
        return made[-1]

    yield add
    for deployment in made:
        deployment.destroy()
