"""The schema that editors hold stack files against says what the settings say."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from ops.pulumi.stack_file import stacks
from stacks.schema import EDITORS_FILE, editors_file
from stacks.settings import Settings
from tests.engine.test_eks_preview import EVERY_OPTION
from tests.project import PROJECT

SCHEMA: dict[str, Any] = json.loads(EDITORS_FILE.read_text())
SHIPPED = {stack: yaml.safe_load((PROJECT / f"Pulumi.{stack}.yaml").read_text()) for stack in stacks(PROJECT)}
REFERENCE = "# yaml-language-server: $schema=stacks/schema.json\n"
EKS = {"kind": "eks", "region": "us-east-2"}


def refusals(content: Mapping[str, Any]) -> list[str]:
    """What an editor says about a stack file, each with where."""
    found = Draft7Validator(SCHEMA).iter_errors(content)
    return [f"{'.'.join(map(str, error.absolute_path))}: {error.message}" for error in found]


def said(**sections: Any) -> dict[str, Any]:
    """A stack file on EKS."""
    config = {"target": "trtllm-disagg-b200", "cluster": EKS, **sections}
    return {"config": {f"dynamo-gpt-oss:{key}": value for key, value in config.items()}}


def test_the_file_is_what_the_settings_say() -> None:
    assert EDITORS_FILE.read_text() == editors_file(), "run `python -m stacks.schema`"


def test_it_is_a_schema() -> None:
    Draft7Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("stack", SHIPPED)
def test_a_shipped_stack_file_names_it_and_passes(stack: str) -> None:
    assert refusals(SHIPPED[stack]) == []
    assert (PROJECT / f"Pulumi.{stack}.yaml").read_text().startswith(REFERENCE)


@pytest.mark.parametrize(
    ("sections", "refusal"),
    [
        (
            {"tragets": "trtllm-disagg-b200"},
            "config: 'dynamo-gpt-oss:tragets' does not match any of the regexes",
        ),
        (
            {"target": "trtllm-disagg-b100"},
            "config.dynamo-gpt-oss:target: 'trtllm-disagg-b100' is not one of ['vllm",
        ),
        (
            {"cluster": {**EKS, "publicAcessFrom": ["auto"]}},
            "config.dynamo-gpt-oss:cluster: Additional properties are not allowed ('publicAcessFrom' was unexpected)",
        ),
        (
            {"cluster": {"kind": "ekz"}},
            "config.dynamo-gpt-oss:cluster.kind: 'ekz' is not one of ['eks', 'existing'",
        ),
        ({"cluster": {"kind": "eks"}}, "config.dynamo-gpt-oss:cluster: 'region' is a required property"),
        (
            {"pool": {"capacity": {"kind": "on-demnd"}}},
            "config.dynamo-gpt-oss:pool.capacity.kind: 'on-demnd' is not one of ['on-demand', 'spot'",
        ),
        (
            {"pool": {"instanceType": "p4d.24xlarge"}},
            "config.dynamo-gpt-oss:pool.instanceType: 'p4d.24xlarge' is not",
        ),
        ({"pool": {"nodes": 0}}, "config.dynamo-gpt-oss:pool.nodes: 0 is less than the minimum of 1"),
        ({"tags": {"ttl": "soon"}}, "config.dynamo-gpt-oss:tags.ttl: 'soon' does not match"),
        ({"verify": True}, "config.dynamo-gpt-oss:verify: True is not one of ['off', False]"),
        (
            {"policy": {"rules": {"imds": {}}}},
            "config.dynamo-gpt-oss:policy.rules: 'imds' is not one of ['owner-and-ttl'",
        ),
        (
            {"huggingFace": {"token": "hf_plain"}},
            "config.dynamo-gpt-oss:huggingFace.token: 'hf_plain' is not",
        ),
        (
            {"graphs": [{"name": "b", "target": "c"}]},
            "config.dynamo-gpt-oss:graphs.0.target: 'c' is not one of ['vllm-disagg-h100'",
        ),
    ],
)
def test_what_is_wrong_is_refused_where_it_stands(sections: Mapping[str, Any], refusal: str) -> None:
    [said_by_the_schema] = refusals(said(**sections))
    assert said_by_the_schema.startswith(refusal)


@pytest.mark.parametrize(
    "content",
    [
        said(huggingFace={"token": {"secure": "v1:abc"}}),
        said(huggingFace={"secure": "v1:abc"}),
        said(ingress={"host": "a.example.com", "gateway": "a/b", "apiKeys": {"me": {"secure": "v1:abc"}}}),
        said(**EVERY_OPTION),
        said(verify="off"),
        said(ingress=None),
        said(verify=False),
        said(tags={"ttl": None, "more": {"costCenter": 1234}}),
        {**said(), "encryptionsalt": "v1:a", "secretsprovider": "passphrase", "encryptedkey": "a"},
        {"config": {**said()["config"], "aws:region": "us-east-2"}},
        {"environment": ["dynamo/prod"]},
    ],
)
def test_what_pulumi_or_a_user_may_write_passes(content: Mapping[str, Any]) -> None:
    assert refusals(content) == []


@pytest.mark.parametrize(
    "content", [{}, {"config": {}}, {"config": {"dynamo-gpt-oss:target": "mocker-disagg-cpu"}}]
)
def test_a_stack_without_a_cluster_is_refused(content: Mapping[str, Any]) -> None:
    assert len(refusals(content)) == 1


def test_every_key_says_what_it_is_for() -> None:
    """Its own documentation, or for a section without one that of the section's model."""
    models = {"config": SCHEMA["properties"]["config"], **SCHEMA["$defs"]}
    keys = {
        f"{name}.{key}": each
        for name, model in models.items()
        for key, each in model.get("properties", {}).items()
    }
    assert len(keys) > 200
    texts = {
        key: each.get("description") or models[each["$ref"].rpartition("/")[2]] for key, each in keys.items()
    }
    assert [key for key, text in texts.items() if not text] == []
    assert texts["NewEksClusterSettings.region"] == "AWS region."


def test_every_key_of_the_settings_is_there() -> None:
    keys = SCHEMA["properties"]["config"]["properties"]
    assert {*keys} == {f"dynamo-gpt-oss:{field.alias}" for field in Settings.model_fields.values()}
