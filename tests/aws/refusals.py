"""An account that says no: rules of AWS that moto lacks, each with its source. `World` holds what they need to know.

A rule raises Refusal with what AWS says, or what the pods' events say, where moto would let a stack through.
"""

import hashlib
import ipaddress
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from moto.ec2.models.availability_zones_and_regions import RegionsAndZonesBackend, Zone

from facts.hardware import INSTANCE_TYPES
from pods.bucket.store import PREFIX
from tests.aws.adapters import Account, addon_versions
from tests.aws.deployment import moto_account

Given = Mapping[str, Any]


class Refusal(Exception):
    """AWS's or Kubernetes's no."""


@dataclass
class World:
    """One account in one region, and the person at its keyboard.

    address: of the caller, on the internet. vcpus: quota of on-demand P instances. refused: how often each rule said
    no. chance: what Pulumi ends names with, never the same twice.
    """

    account: Account
    address: str = "198.51.100.7"
    vcpus: int = 1152
    refused: Counter[str] = field(default_factory=Counter)
    chance: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    tokens: dict[str, str] = field(default_factory=dict)
    """File system by client token of an access point."""
    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Inputs of node groups that are there, by id."""
    clusters: dict[str, dict[str, Any]] = field(default_factory=dict)
    """State of clusters that are there, by name."""

    caller: str = "arn:aws:iam::123456789012:role/people/first"
    """Who is at the keyboard, as IAM has them."""
    creators: dict[str, str] = field(default_factory=dict)
    """Who has an access entry for having made a cluster, by its name."""

    def no(self, rule: str, message: str) -> Refusal:
        """Count the refusal."""
        self.refused[rule] += 1
        return Refusal(message)

    @property
    def zones(self) -> list[str]:
        """The region's zones that are the account's."""
        return [each.name for each in RegionsAndZonesBackend.zones[self.account.region]]


@contextmanager
def world(region: str, **more: Any) -> Iterator[World]:
    """An empty account that says no; every GPU type is on offer in every zone. more: fields of Account."""
    zones = {name: list(there) for name, there in RegionsAndZonesBackend.zones.items()}
    with patch.object(RegionsAndZonesBackend, "zones", zones), moto_account(region, **more) as account:
        made = World(account)
        account.also_offered = dict.fromkeys(INSTANCE_TYPES, tuple(made.zones))
        yield made


def zone(world: World, given: Given) -> None:
    """A subnet's zone is one of the account's in the region; letters differ by region and account.

    ap-northeast-1 has no b (awslabs/sbt-aws#66). A Local Zone is one only once its group is opted in to (EC2 user
    guide, "Capacity Blocks for ML", on P6e-GB200).
    """
    name = given["availabilityZone"]
    if name not in world.zones:
        raise world.no(
            "zone", f"InvalidParameterValue: Value ({name}) for parameter availabilityZone is invalid. Subnets can "
            f"currently only be created in {', '.join(world.zones)}",
        )  # fmt: skip


def opt_in(world: World, given: Given) -> None:
    """From now on the Local Zones of the group are the account's (EC2 API, ModifyAvailabilityZoneGroup)."""
    name, region = f"{given['groupName']}a", world.account.region
    if name not in world.zones:
        RegionsAndZonesBackend.zones[region].append(Zone(name, region, f"id-{name}", "local-zone"))


def addresses(world: World, _: Given) -> None:
    """Five Elastic IP addresses a region (EC2 user guide, "Elastic IP address quota")."""
    if len(world.account.call("ec2", "DescribeAddresses")["Addresses"]) >= 5:
        raise world.no("quota", "AddressLimitExceeded: The maximum number of addresses has been reached.")


def networks(world: World, _: Given) -> None:
    """Five VPCs a region (VPC user guide, "Amazon VPC quotas"); one is the default VPC."""
    if len(world.account.call("ec2", "DescribeVpcs")["Vpcs"]) >= 5:
        raise world.no("quota", "VpcLimitExceeded: The maximum number of VPCs has been reached.")


def access_point_token(world: World, token: str, system: str) -> None:
    """A client token names one access point in account and region (EFS API, CreateAccessPoint: ClientToken)."""
    if world.tokens.setdefault(token, system) != system:
        raise world.no(
            "client token", f"AccessPointAlreadyExists: No access point for client token {token} was returned"
        )


def claim(world: World, given: Given, storage_class: Given) -> None:
    """What the EFS driver does for a claim of its class: with reuseAccessPoint the token is the claim's name alone.

    aws-efs-csi-driver, docs/parameters.md and pkg/driver/controller.go.
    """
    said = storage_class["parameters"]
    if said.get("reuseAccessPoint") == "true":
        token = hashlib.sha256(given["metadata"]["name"].encode()).hexdigest()
        access_point_token(world, token, said["fileSystemId"])


def mount_target(world: World, given: Given) -> None:
    """One mount target a zone, all in one VPC (EFS API, CreateMountTarget: MountTargetConflict)."""
    (subnet,) = world.account.subnets(given["subnetId"])
    system = given["fileSystemId"]
    there = world.account.call("efs", "DescribeMountTargets", FileSystemId=system)["MountTargets"]
    if any(each["AvailabilityZoneName"] == subnet["AvailabilityZone"] for each in there):
        raise world.no("mount target", "MountTargetConflict: mount target already exists in this AZ")
    if any(each["VpcId"] != subnet["VpcId"] for each in there):
        raise world.no(
            "mount target",
            "MountTargetConflict: requested subnet for new mount target is not in the same VPC",
        )


def mount(world: World, volume: Given, zones: set[str], vpc: str, node_role: str | None) -> None:
    """A node finds a mount target of its own VPC and zone, or of the zone that `az` names; its role may mount.

    EFS user guide, "Mounting with a DNS name": the name resolves beside a mount target alone. efs-utils,
    efs_utils_common/metadata.py, has the message. "Using IAM to control access": a policy of the file system's own.
    """
    system, _, point = volume["csi"]["volumeHandle"].partition("::")
    options = dict(option.partition("=")[::2] for option in volume["mountOptions"])
    targets = world.account.call("efs", "DescribeMountTargets", FileSystemId=system)["MountTargets"]
    there = {each["AvailabilityZoneName"] for each in targets if each["VpcId"] == vpc}
    if not there:
        raise world.no(
            "mount", f'Failed to resolve "{system}.efs…": ensure that the VPC has an EFS mount target'
        )
    for name in sorted(zones):
        if options.get("az", name) not in there:
            raise world.no("mount", f"No matching mount target in the az {options.get('az', name)}")
    policy = json.loads(world.account.call("efs", "DescribeFileSystemPolicy", FileSystemId=system)["Policy"])
    (statement,) = policy["Statement"]
    allowed = statement["Principal"]["AWS"]
    if not point or allowed not in ("*", node_role) or "iam" not in options or "tls" not in options:
        raise world.no("mount", "mount.nfs4: access denied by server while mounting 127.0.0.1:/")


def addon(world: World, given: Given) -> None:
    """An add-on has a version that EKS lists for the cluster's Kubernetes, and identities for what it says it takes.

    EKS API, CreateAddon and DescribeAddonVersions; containers-roadmap#2625 has the message. Of the EFS driver's service
    accounts the controller's alone (aws-efs-csi-driver#1759).
    """
    name, kubernetes = given["addonName"], world.account.cluster(given["clusterName"])["version"]
    (listed,) = addon_versions(kubernetes)
    if given["addonVersion"] != listed:
        raise world.no(
            "add-on", f"InvalidParameterException: Addon version {given['addonVersion']} of {name} specified is not "
            f"supported in {kubernetes} kubernetes version",
        )  # fmt: skip
    for each in given.get("podIdentityAssociations") or []:
        if each["serviceAccount"] not in ADDON_IDENTITIES.get(name, ()):
            raise world.no(
                "add-on", f"InvalidParameterException: {name} does not support pod identity associations for "
                f"{each['serviceAccount']}",
            )  # fmt: skip


ADDON_IDENTITIES = {
    "vpc-cni": ("aws-node",),
    "aws-ebs-csi-driver": ("ebs-csi-controller-sa",),
    "aws-efs-csi-driver": ("efs-csi-controller-sa",),
}
"""Service accounts that EKS's add-ons take identities for (EKS API, DescribeAddonConfiguration)."""


def creator(world: World, given: Given) -> None:
    """Who made a cluster that is to let its maker in has an access entry already (EKS user guide, "access entries")."""
    if world.creators.get(given["clusterName"]) == given["principalArn"]:
        raise world.no(
            "access entry", "ResourceInUseException: The specified access entry resource is already in use on this "
            "cluster.",
        )  # fmt: skip


def bucket(world: World, pod: str, name: str, action: str) -> None:
    """A pod may do to a bucket what the role of its ServiceAccount may, and without one nothing.

    EKS user guide, "EKS Pod Identity": an association of cluster, namespace and account. pod: all three, as
    `cluster:namespace/account`.
    """
    identity = world.account.beside.get(("pod-identity", pod))
    if identity is None:
        raise world.no("identity", f"{pod}: Unable to locate credentials")
    role = identity["role"].rpartition("/")[2]
    names = world.account.call("iam", "ListRolePolicies", RoleName=role)["PolicyNames"]
    documents = [
        world.account.call("iam", "GetRolePolicy", RoleName=role, PolicyName=each)["PolicyDocument"]
        for each in names
    ]
    wanted = f"arn:aws:s3:::{name}/{PREFIX}*"
    if not any(
        action in statement["Action"] and wanted == statement["Resource"]
        for document in documents
        for statement in document["Statement"]
    ):
        raise world.no("identity", f"{pod}: AccessDenied: not authorized to perform {action} on {wanted}")


def reach(world: World, cluster: str) -> None:
    """The API server answers an address on the internet only where it is public, and to that address.

    EKS user guide, "Cluster API server endpoint". pulumi-eks#1134 has what Pulumi says of it.
    """
    network = world.account.cluster(cluster)["resourcesVpcConfig"]
    ranges = network.get("publicAccessCidrs") or ["0.0.0.0/0"]
    caller = ipaddress.ip_address(world.address)
    public = network.get("endpointPublicAccess") and any(
        caller in ipaddress.ip_network(each) for each in ranges
    )
    if not public:
        raise world.no(
            "reach", "configured Kubernetes cluster is unreachable: unable to load schema information from the API "
            f"server: dial tcp 10.80.0.9:443: i/o timeout (from {world.address})",
        )  # fmt: skip


def log_group(world: World, given: Given) -> None:
    """A log group's name is the account's only one (CloudWatch Logs API, CreateLogGroup)."""
    found = world.account.call("logs", "DescribeLogGroups", logGroupNamePrefix=given["name"])["logGroups"]
    if any(each["logGroupName"] == given["name"] for each in found):
        raise world.no("log group", "ResourceAlreadyExistsException: The specified log group already exists")


def log_group_made_again(world: World, state: Given) -> None:
    """Late streams of a deleted cluster make its log group again, which EKS's own role writes.

    terraform-aws-eks#2486 and #2763 (with CloudTrail's record).
    """
    name = state["name"]
    if name.startswith("/aws/eks/"):
        world.account.call("logs", "CreateLogGroup", logGroupName=name)


def volume_of_a_claim(world: World, cluster: str, namespace: str, more: Given) -> None:
    """What the EBS driver makes for a claim, of a chart for example; it deletes it a moment after the claim is gone, or
    never. more: tags that the driver is told to add.

    Nobody waits for that moment, and the driver goes next (aws-solutions-library-samples/
    global-capacity-orchestrator-on-aws#268, with the tag that such volumes have).
    """
    its_own = {
        f"kubernetes.io/cluster/{cluster}": "owned",
        "kubernetes.io/created-for/pvc/namespace": namespace,
    }
    tags = [{"Key": key, "Value": value} for key, value in {**its_own, **more}.items()]
    said = [{"ResourceType": "volume", "Tags": tags}]
    world.account.call(
        "ec2", "CreateVolume", AvailabilityZone=world.zones[0], Size=10, TagSpecifications=said
    )


def quota(world: World, given: Given) -> None:
    """On-demand P instances have a quota of vCPUs, 0 in a fresh account (EC2 user guide, "On-Demand Instance quotas").

    Capacity Blocks do not count against it.
    """
    if given.get("capacityType", "ON_DEMAND") != "ON_DEMAND" or not given.get("taints"):
        return
    wanted = 192 * int(given["scalingConfig"]["desiredSize"])
    if wanted > world.vcpus:
        raise world.no(
            "quota", "AsgInstanceLaunchFailures: You have requested more vCPU capacity than your current vCPU limit "
            f"of {world.vcpus} allows",
        )  # fmt: skip


def role_name(world: World, name: str) -> None:
    """A role's name has 64 characters at most (IAM API, CreateRole)."""
    if len(name) > 64:
        raise world.no(
            "name", f"ValidationError: roleName {name!r} must have length less than or equal to 64"
        )


def way_out(world: World, vpc: str, what: str) -> None:
    """Routes, gateways and endpoints carry what drivers, hooks and nodes still say while a cluster is there.

    Without them volumes and interfaces stay behind: DependencyViolation (terraform-aws-eks#2004, #2048).
    """
    for name, cluster in world.clusters.items():
        if cluster["vpcConfig"]["vpcId"] == vpc:
            raise world.no(
                "way out", f"DependencyViolation: {what} went while cluster {name} needed the way out"
            )


def detach(world: World, role: str) -> None:
    """Node groups need their policies until they are gone (EKS user guide, node IAM role: stuck in DELETE_FAILED)."""
    for made, given in world.nodes.items():
        if given["nodeRoleArn"].endswith(f"/{role}"):
            raise world.no("role", f"DELETE_FAILED: node group {made} lost a policy of its role {role}")


def in_place(world: World, token: str, name: str, old: Given, new: Given) -> None:
    """What may change under a running stack without making anything anew.

    Node groups keep their subnets and take a new template by replacing nodes (EKS API, UpdateNodegroupVersion and
    UpdateNodegroupConfig, whose parameters are all that can change); other AWS resources as the provider's schema says.
    """
    changed = {key for key in {*old, *new} if old.get(key) != new.get(key)}
    if extra := changed - UPDATABLE.get(token, set()):
        raise world.no("in place", f"{token} {name}: {', '.join(sorted(extra))} would replace it")


UPDATABLE: dict[str, set[str]] = {
    "aws:eks/nodeGroup:NodeGroup": {"scalingConfig", "updateConfig", "labels", "taints"},
    "aws:eks/cluster:Cluster": {"vpcConfig", "enabledClusterLogTypes", "upgradePolicy", "deletionProtection"},
    "aws:cloudwatch/logGroup:LogGroup": {"retentionInDays"},
    "aws:budgets/budget:Budget": {"limitAmount", "notifications", "costFilters"},
}
"""Inputs that AWS changes in place, by type; of launch templates none, since nodes follow them."""

CREATED: dict[str, tuple[Callable[[World, Given], None], ...]] = {
    "aws:ec2/vpc:Vpc": (networks,),
    "aws:ec2/subnet:Subnet": (zone,),
    "aws:ec2/eip:Eip": (addresses,),
    "aws:ec2/availabilityZoneGroup:AvailabilityZoneGroup": (opt_in,),
    "aws:efs/mountTarget:MountTarget": (mount_target,),
    "aws:cloudwatch/logGroup:LogGroup": (log_group,),
    "aws:eks/nodeGroup:NodeGroup": (quota,),
    "aws:eks/addon:Addon": (addon,),
    "aws:eks/accessEntry:AccessEntry": (creator,),
}
"""Rules by type, asked before something is made."""
