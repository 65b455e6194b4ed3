"""Which GPU nodes an `up` would newly pay, by what Pulumi has written down of the stack."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from stacks.plan import StackPlan
from stacks.pools import PoolPlan

_NODE_GROUP, _TEMPLATE = "aws:eks/nodeGroup:NodeGroup", "aws:ec2/launchTemplate:LaunchTemplate"


@dataclass(frozen=True)
class NewNodes:
    """Nodes of a pool that there are not yet. now: those of this kind that there are."""

    pool: PoolPlan
    count: int
    now: int

    def __str__(self) -> str:
        pool = self.pool.pool
        beside = f", beside {self.now} that are there" if self.now else ""
        each = f"{pool.instance.gpus} × {pool.instance.gpu} each, " if pool.instance.gpus > 1 else ""
        return f"{self.count} × {pool.instance.name} ({each}{self.pool.capacity.kind}){beside}"


def new_nodes(plan: StackPlan, resources: Iterable[Mapping[str, Any]]) -> list[NewNodes]:
    """GPU nodes by pool that the stack wants and its state does not have. resources: of its state.

    Another instance type or another market is another price, so all nodes of such a pool are new.
    """
    from components.nodes.launch_template import capacity_type  # noqa: PLC0415  no other stack loads pulumi_aws

    there = list(resources)
    groups = {_name(each): each.get("inputs") or {} for each in there if each["type"] == _NODE_GROUP}
    templates = {_name(each): each.get("inputs") or {} for each in there if each["type"] == _TEMPLATE}
    found = []
    for each in plan.pools:
        if not each.pool.instance.gpus:
            continue
        group = groups.get(each.component, {})
        alike = templates.get(each.component, {}).get(
            "instanceType"
        ) == each.pool.instance.name and group.get("capacityType") == capacity_type(each.capacity.kind)
        now = int((group.get("scalingConfig") or {}).get("desiredSize", 0)) if alike else 0
        if each.running > now:
            found.append(NewNodes(each, each.running - now, now))
    return found


def running(pool: PoolPlan, resources: Iterable[Mapping[str, Any]]) -> int:
    """How many nodes of a pool the stack's state has, of whatever kind."""
    groups = [each for each in resources if each["type"] == _NODE_GROUP and _name(each) == pool.component]
    return sum(
        int(((each.get("inputs") or {}).get("scalingConfig") or {}).get("desiredSize", 0)) for each in groups
    )


def _name(resource: Mapping[str, Any]) -> str:
    return str(resource["urn"]).rpartition("::")[2]
