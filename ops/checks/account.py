"""Who the caller is to AWS, and whether the account has the stack's region and zones."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from ops.checks.finding import Finding, ok, unknown, wrong
from targets.aws_access import AwsAccess
from targets.capacity import ZONES_WITHOUT_EKS, is_local_zone, placed_zones

ERRORS = (BotoCoreError, ClientError)
"""What boto3 raises where it gets no answer, or one that says no."""
HOME_REGION = "us-east-1"
"""Regions that an account has not opted in to answer nobody; this one answers everybody."""
_OPTED_OUT = "not-opted-in"


def caller(session: Any, access: AwsAccess) -> tuple[Finding, str | None]:
    """The line about credentials, and why no other question to AWS makes sense, if none does."""
    about = "credentials"
    try:
        found = session.client("sts", region_name=HOME_REGION).get_caller_identity()
    except ERRORS as error:
        how = (
            "have credentials (`aws configure sso`, `aws sso login`, AWS_PROFILE) or say cluster.aws.profile"
        )
        return unknown(about, f"{error}; {how}"), "AWS knows no caller"
    account, who = str(found["Account"]), f"account {found['Account']} as {found['Arn']}"
    if access.account is not None and access.account != account:
        text = f"{who}, but cluster.aws says account {access.account}; use credentials of that one"
        return wrong(about, text), f"account {account} is a foreign one"
    return ok(about, who), None


def region(session: Any, name: str) -> tuple[Finding, str | None]:
    """The line about the region, and why no question can be put there, if none can."""
    about, client = "region", session.client("ec2", region_name=HOME_REGION)
    try:
        regions = client.describe_regions(AllRegions=True)["Regions"]
    except ERRORS as error:
        return unknown(about, f"not looked at: {error}"), None
    status = {each["RegionName"]: each["OptInStatus"] for each in regions}.get(name)
    if status is None:
        return wrong(about, f"AWS has no {name}; correct cluster.region"), f"AWS has no region {name}"
    if status == _OPTED_OUT:
        remedy = f"`aws account enable-region --region-name {name}`, which takes minutes to hours"
        return wrong(about, f"the account has not opted in to {name}; {remedy}"), f"no access to {name}"
    return ok(about, name), None


def zones(
    session: Any, region_name: str, wanted: tuple[str, ...], named: Collection[str] | None = None
) -> Iterator[Finding]:
    """Whether the account has the zones, and has opted in to the Local Zones among them.

    named: of a stack that makes its network, those that must be these; in the place of others `up` takes the next, and
    it opts in to Local Zones.
    """
    about, client = "zones", session.client("ec2", region_name=region_name)
    there = {
        zone["ZoneName"]: zone
        for zone in client.describe_availability_zones(AllAvailabilityZones=True)["AvailabilityZones"]
    }
    problems = 0
    for name in wanted:
        zone = there.get(name)
        if zone is None:
            if named is not None and name not in named:
                continue
            problems += 1
            known = ", ".join(sorted(zone for zone in there if is_local_zone(zone) == is_local_zone(name)))
            yield wrong(about, f"the account has no {name}; choose among {known or 'none'}")
        elif zone.get("OptInStatus") == _OPTED_OUT and named is None:
            problems += 1
            group = zone["GroupName"]
            yield wrong(
                about,
                f"the account has not opted in to {name}; `aws ec2 modify-availability-zone-group --region "
                f"{region_name} --group-name {group} --opt-in-status opted-in`",
            )
    if not problems:
        yield ok(
            about, ", ".join(wanted if named is None else choose_zones(session, region_name, wanted).values())
        )


def choose_zones(session: Any, region_name: str, wanted: Sequence[str]) -> dict[str, str]:
    """Where zones that nobody named will be, as components.cluster.zones chooses; Local Zones are themselves."""
    found = session.client("ec2", region_name=region_name).describe_availability_zones()["AvailabilityZones"]
    regional = [each for each in found if not is_local_zone(each["ZoneName"])]
    there = [each["ZoneName"] for each in regional if each["ZoneId"] not in ZONES_WITHOUT_EKS]
    return placed_zones(wanted, [*there, *filter(is_local_zone, wanted)])
