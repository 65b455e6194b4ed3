"""Which Availability Zones a stack gets: letters differ by account, and EKS refuses some zones."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial

import pulumi
import pulumi_aws as aws

from targets.capacity import ZONES_WITHOUT_EKS, placed_zones


def zones_of_account(
    wanted: Sequence[str], provider: aws.Provider, taken: Collection[str] = ()
) -> Mapping[str, pulumi.Output[str]]:
    """For each zone that is wanted the zone that it will be: itself where the account has it, else a spare one.

    taken: zones that pools name. Zones are asked for whatever their state, since one in trouble is still the stack's.
    """
    found = aws.get_availability_zones_output(
        exclude_zone_ids=ZONES_WITHOUT_EKS,
        filters=[{"name": "opt-in-status", "values": ["opt-in-not-required"]}],
        opts=pulumi.InvokeOutputOptions(provider=provider),
    )
    return {zone: found.apply(partial(_placed, wanted, zone, taken)) for zone in wanted}


def _placed(
    wanted: Sequence[str], zone: str, taken: Collection[str], found: aws.GetAvailabilityZonesResult
) -> str:
    if found.names is None:  # nobody was asked: a synth evaluates the program without an AWS account
        return zone
    placed = placed_zones(wanted, found.names, taken)
    if zone not in placed:
        raise pulumi.RunError(
            f"zones: missing, and this account has no {len(wanted)} zones that EKS takes, only "
            f"{', '.join(sorted(found.names))}; name two or more of them"
        )
    return placed[zone]
