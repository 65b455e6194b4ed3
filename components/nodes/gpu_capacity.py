"""What EC2 says of the capacity that a GPU pool is to have, and what EKS would do to nodes that run."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pulumi
import pulumi_aws as aws

from components.nodes.gpu_node_pool_args import GpuNodePoolArgs
from targets.node_updates import OF_A_NODE, refusal
from targets.reservations import Reservation, Wanted, offering_problem, reservation_problem, ultraserver_end


def refuse_upgrade_of_running_nodes(change: pulumi.ResourceHookArgs, pool: str) -> None:
    """Raise RunError for a change that needs other nodes than those that run. pool: the component's name.

    A preview does not know a launch template's next version, and every change of the template's tags may be one: then
    it is told what `up` would say.
    """
    old, new = change.old_inputs or {}, change.new_inputs or {}
    running = round(old["scalingConfig"]["desiredSize"])
    moved = [part for part in OF_A_NODE if old.get(part) != new.get(part)]
    if not running or not moved:
        return
    if pulumi.runtime.is_dry_run() and all(_unknown(new.get(part)) for part in moved):
        pulumi.log.warn(
            f"if this gives the pool's nodes another {' or '.join(moved)}, `up` refuses: {refusal(pool, running)}"
        )
        return
    raise pulumi.RunError(refusal(pool, running))


def _unknown(value: Any) -> bool:
    """Hooks get None for what a preview cannot know."""
    return value is None or (isinstance(value, Mapping) and any(map(_unknown, value.values())))


def by_real_zone(
    pool: str, args: GpuNodePoolArgs, zones: Mapping[str, str], subnets: Mapping[str, str]
) -> dict[str, str]:
    """Subnet id by the zone that it really is in. Raises RunError for a zone that was named and is another."""
    for zone, real in zones.items():
        if args.zones.named and real != zone:
            raise pulumi.RunError(
                f"{pool}.subnets: {zone} is not among the zones that this account has and EKS takes, so its subnet is "
                f"in {real}; name others, or name the cluster's own"
            )
    return {zones[zone]: subnet for zone, subnet in subnets.items()}


def where_offered(
    pool: str,
    args: GpuNodePoolArgs,
    offered: aws.ec2.GetInstanceTypeOfferingsResult,
    subnets: Mapping[str, str],
) -> list[str]:
    """The subnets: all of them where somebody named the zones, else those in zones that have the type.

    Raises RunError for a zone that is named and has none, or if no zone has any.
    """
    if offered.locations is None:  # nobody was asked: a synth evaluates the program without an AWS account
        return list(subnets.values())
    lacking = [zone for zone in subnets if zone not in offered.locations]
    if lacking and (args.zones.named or lacking == list(subnets)):
        _refuse(pool, offering_problem(args.instance.name, lacking, offered.locations, zones_key="subnets"))
    return [subnet for zone, subnet in subnets.items() if zone in offered.locations]


def in_block(
    pool: str,
    args: GpuNodePoolArgs,
    block: aws.ec2.GetCapacityBlockReservationResult,
    subnets: Mapping[str, str],
    identity: str,
) -> list[str]:
    """The subnet in the block's zone. Raises RunError if the block, of that id, is not what the pool says."""
    ((zone, subnet),) = subnets.items()
    if block.state is not None:  # as above
        bought = replace(args.capacity, reservation_id=identity)
        problem = reservation_problem(bought, _described(block), _wanted(args, zone), zones_key="subnets")
        _refuse(pool, problem)
    return [subnet]


def _described(block: aws.ec2.GetCapacityBlockReservationResult) -> Reservation:
    return Reservation(
        zone=block.availability_zone,
        instance_type=block.instance_type,
        instances=block.instance_count,
        state=block.state,
        start=block.start_date,
        end=block.end_date,
    )


def _wanted(args: GpuNodePoolArgs, zone: str) -> Wanted:
    return Wanted(zone=zone, instance_type=args.instance.name, nodes=args.nodes, running=args.active)


def _refuse(pool: str, problem: str | None) -> None:
    if problem is not None:
        raise pulumi.RunError(f"{pool}.{problem}")


def window(block: aws.ec2.GetCapacityBlockReservationResult) -> dict[str, str | None]:
    """Start, end and state of a block."""
    return {"start": block.start_date, "end": block.end_date, "state": block.state}


def end_before_ec2_does(
    name: str,
    group: aws.eks.NodeGroup,
    block: pulumi.Output[aws.ec2.GetCapacityBlockReservationResult],
    child: pulumi.ResourceOptions,
) -> aws.autoscaling.Schedule:
    """Sets the size of an UltraServer's node group to 0, which drains it, before EC2 ends what runs in the block.

    It is the Auto Scaling group's own, as EKS's scheduled action is, so it needs nothing of the cluster.
    """
    return aws.autoscaling.Schedule(
        name,
        scheduled_action_name=name,
        autoscaling_group_name=group.resources.apply(_scaling_group),
        start_time=block.end_date.apply(lambda end: end and ultraserver_end(end)),
        desired_capacity=0,
        # Of these EKS holds what it was told; -1 leaves them alone.
        min_size=-1,
        max_size=-1,
        opts=child,
    )


def _scaling_group(made: Sequence[aws.eks.outputs.NodeGroupResource] | None) -> str:
    """Name of the one Auto Scaling group that EKS makes for a node group."""
    names = [group.name for each in made or () for group in each.autoscaling_groups or ()]
    return str(names[0]) if names else ""  # nobody was asked, as above
