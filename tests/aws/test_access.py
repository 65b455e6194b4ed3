"""`cluster.aws` reaches the provider, the kubeconfig's token, image builds and boto3's sessions."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pulumi
import pytest
from moto import mock_aws

from components.aws.session import session
from components.cluster import api_reach
from components.cluster.kubeconfig import Credentials, kubeconfig
from stacks.load import parse
from stacks.settings import ConfigError
from targets.aws_access import AwsAccess, is_caller
from tests.aws.conftest import REGION, Base
from tests.aws.deployment import deploy

ROLE = "arn:aws:iam::123456789012:role/deployer"
SAID = {"profile": "team", "assumeRole": ROLE}


def config(base: Base, aws: dict[str, str]) -> dict[str, Any]:
    cluster = {"kind": "existing-eks", "region": REGION, "name": "there", "subnets": dict(base.subnets)}
    return {
        "target": "vllm-disagg-h100",
        "cluster": cluster | {"aws": aws},
        "pool": {"capacity": {"kind": "spot"}},
        "tags": {"ttl": "never"},
    }


@pytest.mark.parametrize(
    ("aws", "inputs"),
    [
        ({}, {}),
        (
            SAID,
            {
                "profile": "team",
                "assumeRoles": [{"roleArn": ROLE, "sessionName": "dynamo-gpt-oss"}],
                "allowedAccountIds": ["123456789012"],
            },
        ),
        ({"accountId": "210987654321"}, {"allowedAccountIds": ["210987654321"]}),
    ],
    ids=["nothing said", "role", "account"],
)
def test_the_provider_works_as_it_is_told(base: Base, aws: dict[str, str], inputs: dict[str, Any]) -> None:
    deployment = deploy(base.account, config(base, aws))
    deployment.destroy()
    (provider,) = [each for each in deployment.resources if each.type == "pulumi:providers:aws"]
    told = {key: provider.inputs.get(key) for key in ("profile", "assumeRoles", "allowedAccountIds")}
    assert {
        key: json.loads(value) if key != "profile" else value for key, value in told.items() if value
    } == inputs


def test_the_token_is_of_the_same_role(base: Base) -> None:
    deployment = deploy(base.account, config(base, SAID))
    deployment.destroy()
    (user,) = json.loads(deployment.outputs["kubeconfig"])["users"]
    assert user["user"]["exec"]["args"][-4:] == ["--profile", "team", "--role-arn", ROLE]


def test_the_account_may_shrink_the_stacks_own_node_groups_alone(base: Base) -> None:
    deployment = deploy(base.account, config(base, {}) | {"tags": {"ttl": "8h"}})
    deployment.destroy()
    [policy] = [
        json.loads(each.inputs["policy"])
        for each in deployment.resources
        if each.type == "aws:iam/rolePolicy:RolePolicy" and each.name == "shrink-gpu-pools"
    ]
    (changing,) = (each for each in policy["Statement"] if each["Action"] == "eks:UpdateNodegroupConfig")
    assert changing["Condition"] == {"StringEquals": {"aws:ResourceTag/stack": "test"}}
    assert changing["Resource"].endswith(":nodegroup/there/*")


def test_nothing_said_leaves_the_kubeconfig_as_it_was() -> None:
    (user,) = json.loads(kubeconfig("c", REGION, "https://e", "Y2E=", Credentials()))["users"]
    assert user["user"]["exec"]["args"][-2:] == ["--output", "json"]


def test_a_session_is_of_the_profile_and_the_role(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "credentials").write_text("[team]\naws_access_key_id = a\naws_secret_access_key = b\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    with mock_aws():
        boto3.client("iam", region_name=REGION, aws_access_key_id="a", aws_secret_access_key="b").create_role(
            RoleName="deployer", AssumeRolePolicyDocument="{}"
        )
        caller = session(REGION, AwsAccess.model_validate(SAID)).client("sts").get_caller_identity()
        assert caller["Arn"] == "arn:aws:sts::123456789012:assumed-role/deployer/dynamo-gpt-oss"
        alone = session(REGION, AwsAccess(profile="team"))
        assert alone.get_credentials().access_key == "a"


def test_an_account_that_pulumi_made_a_number_of() -> None:
    assert AwsAccess.model_validate({"accountId": 12345678901}).account == "012345678901"


@pytest.mark.parametrize(
    ("aws", "sentence"),
    [
        (
            {"assumeRole": ROLE, "accountId": "210987654321"},
            "dynamo-gpt-oss:cluster.aws: {assumeRole, accountId}: accountId 210987654321, but assumeRole is of account "
            "123456789012",
        ),
        (
            {"accountId": "12"},
            "dynamo-gpt-oss:cluster.aws.accountId: '12': write the 12 digits of an account, for example 123456789012",
        ),
    ],
)
def test_what_cannot_be_is_refused(aws: dict[str, str], sentence: str) -> None:
    stack = {"target": "vllm-disagg-h100", "cluster": {"kind": "eks", "region": REGION, "aws": aws}}
    with pytest.raises(ConfigError) as refused:
        parse(stack, set())
    assert str(refused.value) == sentence


@pytest.mark.parametrize(
    ("caller", "principal", "same"),
    [
        ("assumed-role/deployer/session", "role/deployer", True),
        ("assumed-role/deployer/session", "role/aws-reserved/sso/deployer", True),
        ("assumed-role/deployer/session", "role/deployer/other", False),
        ("assumed-role/deployer/session", "user/deployer", False),
    ],
)
def test_a_session_is_that_of_its_role(caller: str, principal: str, same: bool) -> None:
    said = f"arn:aws:iam::123456789012:{principal}"
    assert is_caller(f"arn:aws:sts::123456789012:{caller}", said) is same
    assert not is_caller(f"arn:aws:sts::210987654321:{caller}", said)


def test_a_user_is_that_user() -> None:
    user = "arn:aws:iam::123456789012:user/people/first"
    assert is_caller(user, user)
    assert not is_caller(user, f"{user}st")


def waited(monkeypatch: pytest.MonkeyPatch, knows: Callable[..., bool]) -> None:
    monkeypatch.setattr(api_reach, "knows", knows)
    asyncio.run(api_reach.wait_until_known("{}", "https://api", "", seconds=0))


def test_an_entry_that_is_not_in_force_yet_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_reach, "_SECONDS", 0)
    answers = iter([False, True])
    monkeypatch.setattr(api_reach, "knows", lambda *_: next(answers))
    asyncio.run(api_reach.wait_until_known("{}", "https://api", "", seconds=60))
    assert list(answers) == []


def test_a_caller_whom_the_server_does_not_know_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_reach, "_SECONDS", 0)
    with pytest.raises(
        pulumi.RunError, match=r"https://api answers, but does not know the caller; have .* added to"
    ):
        waited(monkeypatch, lambda *_: False)


def test_a_token_that_cannot_be_had_is_told_with_the_reason() -> None:
    command = {"command": "sh", "args": ["-c", "echo 'no credentials' >&2; exit 1"]}
    said = json.dumps({"users": [{"user": {"exec": command}}]})
    with pytest.raises(pulumi.RunError, match="no token for the API server https://api: no credentials"):
        asyncio.run(api_reach.wait_until_known(said, "https://api", "", seconds=0))
