"""`ops leftovers`: what stands on a cluster that stays is there or gone by itself."""

from collections.abc import Mapping
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from ops.aws.still_there import is_there as asked_for

ARN = "arn:aws:eks:us-east-2:123456789012:"
ROLE = "arn:aws:iam::123456789012:role/people/gpu"
GONE = "ResourceNotFoundException"

THINGS: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    "node group": (
        "nodegroup/there/gpu/1a2b", "describe_nodegroup", {"clusterName": "there", "nodegroupName": "gpu"},
        {"nodegroup": {"nodegroupArn": f"{ARN}nodegroup/there/gpu/1a2b", "status": "ACTIVE"}},
    ),
    "add-on": (
        "addon/there/efs/1a2b", "describe_addon", {"clusterName": "there", "addonName": "efs"},
        {"addon": {"addonArn": f"{ARN}addon/there/efs/1a2b", "status": "ACTIVE"}},
    ),
    "pod identity": (
        "podidentityassociation/there/a-1a2b", "describe_pod_identity_association",
        {"clusterName": "there", "associationId": "a-1a2b"}, {"association": {}},
    ),
    "access entry": (
        "access-entry/there/role/123456789012/gpu/1a2b", "describe_access_entry",
        {"clusterName": "there", "principalArn": ROLE},
        {"accessEntry": {"accessEntryArn": f"{ARN}access-entry/there/role/123456789012/gpu/1a2b"}},
    ),
}  # fmt: skip
"""By kind: the end of an ARN, the question, what it is asked with, and the answer where the thing is there."""


class Session:
    """One client, whose answers are written down beforehand."""

    def __init__(self) -> None:
        self.eks = boto3.client(
            "eks", region_name="us-east-2", aws_access_key_id="test", aws_secret_access_key="test"
        )
        self.stub = Stubber(self.eks)

    def client(self, _: str) -> Any:
        return self.eks


def is_there(kind: str, answer: Mapping[str, Any] | None) -> bool:
    """answer: None for one that AWS does not find."""
    resource, question, asked, _ = THINGS[kind]
    session = Session()
    with session.stub as stub:
        if kind == "access entry":
            listed = {"accessEntries": [ROLE, "arn:aws:iam::123456789012:role/other-gpu"]}
            stub.add_response("list_access_entries", listed, {"clusterName": "there"})
        if answer is None:
            stub.add_client_error(question, GONE, expected_params=asked)
        else:
            stub.add_response(question, dict(answer), asked)
        found = asked_for(session, ARN + resource)
        stub.assert_no_pending_responses()
    return found


@pytest.mark.parametrize("kind", THINGS)
def test_what_stands_on_a_cluster_that_stays_is_asked_for_itself(kind: str) -> None:
    assert is_there(kind, THINGS[kind][3])
    assert not is_there(kind, None)


@pytest.mark.parametrize("kind", ["node group", "add-on"])
def test_what_is_being_deleted_ends_by_itself(kind: str) -> None:
    ((name, there),) = THINGS[kind][3].items()
    assert not is_there(kind, {name: {**there, "status": "DELETING"}})


@pytest.mark.parametrize("kind", ["node group", "add-on", "access entry"])
def test_another_of_the_same_name_is_not_the_one_that_is_gone(kind: str) -> None:
    ((name, there),) = THINGS[kind][3].items()
    other = {key: f"{value}-later" if key.endswith("Arn") else value for key, value in there.items()}
    assert not is_there(kind, {name: other})
