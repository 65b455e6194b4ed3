"""Whether a cluster's API will answer from here."""

import socket
from typing import Any

import pytest
from botocore.exceptions import ClientError

from ops.checks.finding import Verdict
from ops.checks.reach import existing_cluster, new_cluster
from stacks.sections.cluster import ExistingEksClusterSettings, NewEksClusterSettings


def new(*ranges: str) -> NewEksClusterSettings:
    return NewEksClusterSettings.model_validate(
        {"kind": "eks", "region": "us-east-2", "publicAccessFrom": list(ranges)}
    )


def unknown_address() -> str:
    raise OSError("no route to host")


@pytest.mark.parametrize(
    ("ranges", "own", "verdict"),
    [
        (("192.0.2.0/24",), "192.0.2.9", Verdict.OK),
        (("192.0.2.0/24", "198.51.100.0/24"), "198.51.100.1", Verdict.OK),
        (("192.0.2.0/24",), "192.0.3.9", Verdict.WRONG),
        (("auto",), "203.0.113.7", Verdict.OK),
        ((), "203.0.113.7", Verdict.UNKNOWN),
    ],
)
def test_a_new_cluster_lets_in_whom_it_names(ranges: tuple[str, ...], own: str, verdict: Verdict) -> None:
    (found,) = new_cluster(new(*ranges), lambda: own)
    assert found.verdict is verdict
    assert verdict is not Verdict.WRONG or f"add {own}/32" in found.text


def test_without_an_address_of_its_own_nothing_is_claimed() -> None:
    (found,) = new_cluster(new("192.0.2.0/24"), unknown_address)
    assert found.verdict is Verdict.UNKNOWN
    assert "no route to host" in found.text


class Eks:
    """One cluster as EKS describes it, None for none; itself a session and its client."""

    def __init__(self, found: dict[str, str] | None) -> None:
        self.found = found

    def client(self, _: str, region_name: str) -> "Eks":
        assert region_name == "us-east-2"
        return self

    def describe_cluster(self, name: str) -> dict[str, Any]:
        if self.found is None:
            raise ClientError(
                {"Error": {"Code": "ResourceNotFoundException", "Message": ""}}, "DescribeCluster"
            )
        return {"cluster": {"name": name, **self.found}}


EXISTING = ExistingEksClusterSettings.model_validate(
    {
        "kind": "existing-eks",
        "name": "ours",
        "region": "us-east-2",
        "subnets": {"us-east-2a": "subnet-0123456789abcdef0"},
    }
)


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (None, "us-east-2 has no EKS cluster ours; correct cluster.name or cluster.region"),
        ({"status": "CREATING", "endpoint": ""}, "EKS cluster ours is CREATING; wait until it is ACTIVE"),
    ],
)
def test_a_cluster_that_cannot_answer_is_wrong(found: dict[str, str] | None, text: str) -> None:
    (finding,) = existing_cluster(Eks(found), EXISTING)
    assert (finding.verdict, finding.text) == (Verdict.WRONG, text)


def test_an_endpoint_is_asked_for_a_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        endpoint = f"https://127.0.0.1:{server.getsockname()[1]}"
        (answers,) = existing_cluster(Eks({"status": "ACTIVE", "endpoint": endpoint}), EXISTING)
    (silent,) = existing_cluster(Eks({"status": "ACTIVE", "endpoint": endpoint}), EXISTING)
    assert answers.verdict is Verdict.OK
    assert silent.verdict is Verdict.WRONG
    assert silent.text.startswith(f"{endpoint} does not answer")
