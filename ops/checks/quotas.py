"""What the account's quotas leave, against what the stack wants. The stack's own things are not counted twice.

Quota codes: what `aws service-quotas list-service-quotas --service-code ec2` (and `vpc`) lists.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ops.aws.own import Own, tags_of
from ops.checks.finding import Finding, ok, unknown, wrong
from stacks.cost import cpu_instance
from stacks.plan import StackPlan
from stacks.sections.cluster import NewEksClusterSettings
from stacks.settings import PROJECT
from targets.capacity import CapacityKind

_STANDARD = frozenset("acdhimrtz")
_COUNTED = (None, "spot")
"""EC2's InstanceLifecycle of what quotas count, absent on demand; those of a Capacity Block are not counted."""
_CONSOLE = "https://console.aws.amazon.com/servicequotas/home/services"


@dataclass(frozen=True)
class Quota:
    """service, code: of Service Quotas. name: as AWS shows it."""

    service: str
    code: str
    name: str


ON_DEMAND_STANDARD = Quota("ec2", "L-1216C47A", "Running On-Demand Standard instances")
ON_DEMAND_P = Quota("ec2", "L-417A185B", "Running On-Demand P instances")
SPOT_STANDARD = Quota("ec2", "L-34B43A08", "All Standard Spot Instance Requests")
SPOT_P5 = Quota("ec2", "L-C4BD4855", "All P5 Spot Instance Requests")
ADDRESSES = Quota("ec2", "L-0263D0A3", "EC2-VPC Elastic IPs")
VPCS = Quota("vpc", "L-F678F1CE", "VPCs per Region")


def vcpu_quota(family: str, *, spot: bool) -> Quota | None:
    """The quota that counts the vCPUs of a family, such as p5en; None for one of which no list says it."""
    if family[0] in _STANDARD:
        return SPOT_STANDARD if spot else ON_DEMAND_STANDARD
    if family.startswith("p"):
        if not spot:
            return ON_DEMAND_P
        return SPOT_P5 if family.startswith("p5") else None
    return None


def wanted_vcpus(plan: StackPlan) -> tuple[Mapping[Quota, int], list[str]]:
    """vCPUs by quota of what the stack buys, and the families that no known quota counts. Reservations need none."""
    wanted, unlisted = Counter[Quota](), []
    for each in plan.pools:
        instance, kind = each.pool.instance, each.capacity.kind
        if not instance.gpus or not each.pool.runs or kind.prepaid:
            continue
        quota = vcpu_quota(instance.family, spot=kind is CapacityKind.SPOT)
        if quota is None:
            unlisted.append(instance.family)
        else:
            wanted[quota] += each.pool.nodes * instance.vcpus
    if isinstance(plan.cluster, NewEksClusterSettings):
        instance = cpu_instance(plan)
        wanted[ON_DEMAND_STANDARD] += plan.cluster.cpu_size * instance.vcpus
    return wanted, unlisted


def vcpus(session: Any, plan: StackPlan, region: str, stack: str, mine: Own) -> Iterator[Finding]:
    """A line a quota of vCPUs that the stack needs something of."""
    wanted, unlisted = wanted_vcpus(plan)
    for family in unlisted:
        yield unknown("vCPU quota", f"which quota counts spot instances of {family} is not published")
    used = _vcpus_in_use(session.client("ec2", region_name=region), partial(_is_own, stack, mine))
    for quota, number in wanted.items():
        yield _judge(session, region, _Need(quota, number, used[quota], "vCPUs"))


def network(session: Any, region: str, mine: Own) -> Iterator[Finding]:
    """Room for the VPC and for its NAT gateway's address."""
    client = session.client("ec2", region_name=region)
    found = client.describe_vpcs()["Vpcs"]
    others = sum(each["VpcId"] not in mine.ids for each in found)
    yield _judge(session, region, _Need(VPCS, 1, others, "VPC"))
    found = client.describe_addresses()["Addresses"]
    others = sum(each["AllocationId"] not in mine.ids for each in found)
    yield _judge(session, region, _Need(ADDRESSES, 1, others, "address"))


@dataclass(frozen=True)
class _Need:
    """wanted: by the stack. used: by others."""

    quota: Quota
    wanted: int
    used: int
    unit: str


def _judge(session: Any, region: str, need: _Need) -> Finding:
    quota, client = need.quota, session.client("service-quotas", region_name=region)
    allowed = client.get_service_quota(ServiceCode=quota.service, QuotaCode=quota.code)["Quota"]["Value"]
    about = f"quota {quota.name}"
    text = f"the stack wants {need.wanted} {need.unit}, others use {need.used} of {allowed:.0f}"
    if need.used + need.wanted <= allowed:
        return ok(about, text)
    more = (
        f"ask for {need.used + need.wanted} at {_CONSOLE}/{quota.service}/quotas/{quota.code}?region={region}"
    )
    prepaid = ", which takes days, or use a Capacity Block, which needs none" if quota is ON_DEMAND_P else ""
    return wrong(about, f"{text}; {more}{prepaid}")


def _vcpus_in_use(client: Any, is_own: Callable[[Mapping[str, Any]], bool]) -> Counter[Quota]:
    pages = client.get_paginator("describe_instances").paginate(
        Filters=[{"Name": "instance-state-name", "Values": ["pending", "running"]}]
    )
    reservations = (each for page in pages for each in page["Reservations"])
    instances = [each for found in reservations for each in found["Instances"] if not is_own(each)]
    sizes = _vcpus_by_type(client, sorted({each["InstanceType"] for each in instances}))
    used = Counter[Quota]()
    for instance in instances:
        name, how = instance["InstanceType"], instance.get("InstanceLifecycle")
        quota = vcpu_quota(name.partition(".")[0], spot=how == "spot")
        if quota is not None and how in _COUNTED:
            used[quota] += sizes[name]
    return used


def _vcpus_by_type(client: Any, names: Sequence[str]) -> dict[str, int]:
    if not names:
        return {}
    pages = client.get_paginator("describe_instance_types").paginate(
        Filters=[{"Name": "instance-type", "Values": names}]
    )
    types = (each for page in pages for each in page["InstanceTypes"])
    return {each["InstanceType"]: each["VCpuInfo"]["DefaultVCpus"] for each in types}


def _is_own(stack: str, mine: Own, instance: Mapping[str, Any]) -> bool:
    """Other stacks may have nodes in the same cluster, and other people a stack of that name."""
    tags = tags_of(instance.get("Tags", ()))
    return tags.get("project") == PROJECT and tags.get("stack") == stack and mine.has_cluster_name(tags)
