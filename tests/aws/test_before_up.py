"""What an EKS stack must say before anything is made of it, asked of an account in moto."""

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pulumi
import pytest

from ops.pulumi.stack_file import StackFile, stacks
from ops.stack.on_embedded import plan_of
from tests.aws.adapters import Account, snapshot
from tests.aws.deployment import CALLER, deploy, moto_account
from tests.project import PROJECT

EKS = {"kind": "eks", "region": "us-east-2", "publicAccessFrom": ["203.0.113.0/24"]}
STACK: dict[str, Any] = {"target": "trtllm-disagg-b200", "cluster": EKS, "tags": {"ttl": "24h"}}


@pytest.fixture
def account() -> Iterator[Account]:
    with moto_account("us-east-2") as empty:
        yield empty


def cluster(**said: Any) -> dict[str, Any]:
    return STACK | {"cluster": {key: value for key, value in (EKS | said).items() if value is not None}}


def refusal(account: Account, config: dict[str, Any]) -> str:
    before = snapshot(account)
    with pytest.raises(pulumi.RunError) as refused:
        deploy(account, config)
    assert snapshot(account) == before
    assert not account.made, "not even for a moment"
    return str(refused.value)


def test_nothing_is_made_without_the_aws_cli(account: Account) -> None:
    account.aws_cli = False
    assert refusal(account, STACK) == (
        "dynamo-gpt-oss:cluster.kind: eks clusters are reached with tokens from the AWS CLI, and no `aws` is on PATH; "
        "install it (https://docs.aws.amazon.com/cli/latest/userguide/getting-started-install.html)"
    )


@pytest.mark.parametrize(("config", "sentence"), [
    (
        cluster(publicAccessFrom=None),
        f"cluster.publicAccessFrom: missing, so nobody would reach the cluster to put anything onto it. Name the "
        f"ranges that may (this machine calls from {CALLER}: [{CALLER}/32], or [auto] for the address of whoever "
        "deploys), or for a private one set cluster.privateAccessFrom to ranges that are connected to its VPC",
    ),
    (
        STACK | {"tags": {}},
        "tags.ttl: missing, and 1 × p6-b200.48xlarge (pool) would be paid for until somebody ends them; say how long "
        "the stack may live, for example 24h, or never",
    ),
    (
        cluster(version="1.33"),
        "cluster.version: 1.33 left EKS's standard support on 2026-07-29; choose a newer release, such as 1.35, one "
        "minor version at a time, or set cluster.extendedSupport to true and pay 0.60 USD an hour for it",
    ),
])  # fmt: skip
def test_nothing_is_made_of_what_cannot_end_well(
    account: Account, config: dict[str, Any], sentence: str
) -> None:
    assert refusal(account, config) == f"dynamo-gpt-oss:{sentence}"


def test_without_an_answer_the_sentence_says_how_to_get_it(account: Account) -> None:
    with patch("tests.aws.deployment.CALLER", None):
        said = refusal(account, cluster(publicAccessFrom=None))
        assert "(`curl https://checkip.amazonaws.com` says from where this machine calls, or [auto]" in said
        assert "did not say from where this machine calls" in refusal(
            account, cluster(publicAccessFrom=["auto"])
        )


def test_auto_is_the_address_of_whoever_deploys(account: Account) -> None:
    deployment = deploy(account, cluster(publicAccessFrom=["auto", "203.0.113.0/24"]))
    (made,) = deployment.of_type("aws:eks/cluster:Cluster").values()
    assert made["vpcConfig"]["publicAccessCidrs"] == [f"{CALLER}/32", "203.0.113.0/24"]


def test_a_private_cluster_lets_in_whom_it_names(account: Account) -> None:
    deployment = deploy(account, cluster(publicAccessFrom=None, privateAccessFrom=["10.0.0.0/8"]))
    (made,) = deployment.of_type("aws:eks/cluster:Cluster").values()
    assert made["vpcConfig"]["endpointPublicAccess"] is False
    group = made["vpcConfig"]["clusterSecurityGroupId"]
    (found,) = account.call("ec2", "DescribeSecurityGroups", GroupIds=[group])["SecurityGroups"]
    (rule,) = [each for each in found["IpPermissions"] if each["IpRanges"]]
    assert (rule["FromPort"], rule["ToPort"], rule["IpRanges"][0]["CidrIp"]) == (443, 443, "10.0.0.0/8")


def test_nothing_is_put_onto_a_cluster_that_does_not_answer(account: Account) -> None:
    account.reached = False
    with (
        patch("components.cluster.api_access.PUBLIC_SECONDS", 0),
        pytest.raises(pulumi.RunError) as refused,
    ):
        deploy(account, STACK)
    said = str(refused.value)
    assert "does not answer from here" in said
    assert f"It lets in [203.0.113.0/24]; this machine calls from {CALLER}." in said


def test_every_stack_file_says_who_reaches_its_cluster_and_when_it_ends() -> None:
    seen = 0
    for stack in stacks(PROJECT):
        settings = plan_of(StackFile.load(PROJECT, stack))
        if settings.cluster.kind != "eks":
            continue
        seen += 1
        assert settings.cluster.public_access_from or settings.cluster.private_access_from, stack
        prepaid = all(each.capacity.kind.prepaid for each in settings.pools)
        assert prepaid or settings.billing.tags.ttl, stack
    assert seen >= 8
