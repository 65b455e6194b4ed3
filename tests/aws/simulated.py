"""What moto's account lacks and `ops doctor` asks for: quotas of EC2, reservations, zones that one opts in to.

Shapes are those of botocore's models.
"""

import functools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from moto import mock_aws
from moto.servicequotas.models import ServiceQuotasBackend

_LOCAL_ZONE = {"ZoneName": "us-east-1-dfw-2a", "GroupName": "us-east-1-dfw-2", "ZoneType": "local-zone"}
_QUOTAS = {"L-417A185B": 192, "L-1216C47A": 256, "L-34B43A08": 256, "L-C4BD4855": 192, "L-0263D0A3": 5}


@dataclass
class Simulated:
    """An account where everything is there, to take something away from.

    quotas: value by code. reservations: by id, as EC2 describes them. offered: zones by instance type, over moto's.
    opted_in: whether to the Local Zone. regions: status of those that are not as in moto.
    """

    session: Any
    quotas: dict[str, float] = field(default_factory=lambda: dict(_QUOTAS))
    reservations: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    offered: dict[str, tuple[str, ...]] = field(default_factory=dict)
    opted_in: bool = True
    regions: dict[str, str] = field(default_factory=dict)

    def client(self, service: str) -> Any:
        """boto3's, in the stack's region."""
        return self.session.client(service)


def reservation(**said: Any) -> dict[str, Any]:
    """A Capacity Block of one p6-b200 that is active, unless said otherwise."""
    return {
        "AvailabilityZone": "us-east-2b",
        "InstanceType": "p6-b200.48xlarge",
        "TotalInstanceCount": 1,
        "State": "active",
        "ReservationType": "capacity-block",
        "StartDate": datetime(2026, 12, 1, 11, 30, tzinfo=UTC),
        "EndDate": datetime(2026, 12, 8, 11, 30, tzinfo=UTC),
        **said,
    }


class Accounts:
    """Accounts one after the other behind one session a region, for its clients take long to make."""

    def __init__(self) -> None:
        self._sessions: dict[str, Any] = {}
        self._now: Simulated | None = None

    @contextmanager
    def account(self, region: str, patch: pytest.MonkeyPatch) -> Iterator[Simulated]:
        """An account of its own for as long as the block runs."""
        if region not in self._sessions:
            self._sessions[region] = self._session(region)
        self._now = Simulated(self._sessions[region])
        with mock_aws():
            patch.setattr(ServiceQuotasBackend, "get_service_quota", self._quota(self._now))
            yield self._now

    @staticmethod
    def _quota(account: Simulated) -> Any:
        of_moto = ServiceQuotasBackend.get_service_quota  # it knows those of VPC

        def quota(backend: Any, service_code: str, quota_code: str) -> Any:
            if quota_code in account.quotas:
                return {"QuotaCode": quota_code, "Value": account.quotas[quota_code]}
            return of_moto(backend, service_code, quota_code)

        return quota

    def _session(self, region: str) -> Any:
        session = boto3.Session(region_name=region, aws_access_key_id="test", aws_secret_access_key="test")

        def reservations(params: Mapping[str, Any], **_: Any) -> Any:
            assert self._now is not None
            wanted = params["body"]["CapacityReservationId.1"]
            if wanted in self._now.reservations:
                return Answer(200), {"CapacityReservations": [self._now.reservations[wanted]]}
            error = {"Code": "InvalidCapacityReservationId.NotFound", "Message": f"no {wanted}"}
            return Answer(400), {"Error": error}

        def zones(parsed: dict[str, Any], **_: Any) -> None:
            assert self._now is not None
            if region == "us-east-1":
                status = "opted-in" if self._now.opted_in else "not-opted-in"
                parsed["AvailabilityZones"].append(_LOCAL_ZONE | {"OptInStatus": status})

        def regions(parsed: dict[str, Any], **_: Any) -> None:
            assert self._now is not None
            for each in parsed["Regions"]:
                each["OptInStatus"] = self._now.regions.get(each["RegionName"], each["OptInStatus"])

        def offerings(parsed: dict[str, Any], **_: Any) -> None:
            assert self._now is not None
            offers = [
                o for o in parsed["InstanceTypeOfferings"] if o["InstanceType"] not in self._now.offered
            ]
            for name, there in self._now.offered.items():
                offers += [{"InstanceType": name, "Location": zone} for zone in there]
            parsed["InstanceTypeOfferings"] = offers

        session.client = functools.cache(session.client)
        session.events.register("before-call.ec2.DescribeCapacityReservations", reservations)
        session.events.register("after-call.ec2.DescribeAvailabilityZones", zones)
        session.events.register("after-call.ec2.DescribeRegions", regions)
        session.events.register("after-call.ec2.DescribeInstanceTypeOfferings", offerings)
        return session


@dataclass(frozen=True)
class Answer:
    """As much of an HTTP response as botocore looks at."""

    status_code: int
