"""Two synths of a stack compared, resource by resource and field by field."""

from collections.abc import Mapping
from typing import Any

import pytest

from ops.diff.changes import MISSING, Action
from ops.diff.compare import field_changes, resource_changes


def resource(kind: str, inputs: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "urn": f"urn:pulumi:dev::p::{kind}::a",
        "type": kind,
        "name": "a",
        "parent": "urn:pulumi:dev::p::dynamo-gpt-oss:index:ModelCache::cache",
        "inputs": dict(inputs),
        **more,
    }


@pytest.mark.parametrize(
    ("kind", "before", "after", "forcing"),
    [
        ("kubernetes:batch/v1:Job", {"spec": {"template": {"x": 1}}}, {"spec": {"template": {"x": 2}}},
         ("spec.template.x",)),
        ("kubernetes:batch/v1:Job", {"spec": {"backoffLimit": 1}}, {"spec": {"backoffLimit": 2}}, ()),
        ("kubernetes:core/v1:PersistentVolumeClaim", {"spec": {"accessModes": ["a"]}}, {"spec": {"accessModes": ["b"]}},
         ("spec.accessModes[0]",)),
        ("kubernetes:core/v1:PersistentVolumeClaim", {"spec": {"resources": 1}}, {"spec": {"resources": 2}}, ()),
        ("kubernetes:core/v1:ConfigMap", {"metadata": {"name": "a"}}, {"metadata": {"name": "b"}},
         ("metadata.name",)),
        ("kubernetes:core/v1:ConfigMap", {"metadata": {"labels": {"name": "a"}}},
         {"metadata": {"labels": {"name": "b"}}}, ()),
        ("aws:ec2/vpc:Vpc", {"cidrBlock": "a"}, {"cidrBlock": "b"}, ("cidrBlock",)),
        ("aws:ec2/vpc:Vpc", {"enableDnsSupport": True}, {"enableDnsSupport": False}, ()),
    ],
)  # fmt: skip
def test_replacements_are_called_where_they_are_sure(
    kind: str, before: Mapping[str, Any], after: Mapping[str, Any], forcing: tuple[str, ...]
) -> None:
    base, head = ({"resources": [resource(kind, inputs)]} for inputs in (before, after))
    (change,) = resource_changes(base, head, {})
    assert change.component == "cache"
    assert change.replaced_for == forcing
    assert change.action is (Action.REPLACE if forcing else Action.UPDATE)


def test_a_resource_s_own_rule_forces_its_replacement() -> None:
    rule = {"replaceOnChanges": ['metadata.annotations["a/topology"]']}
    base, head = (
        {
            "resources": [
                resource("kubernetes:x:Y", {"metadata": {"annotations": {"a/topology": value}}}, **rule)
            ]
        }
        for value in ("1", "2")
    )
    (change,) = resource_changes(base, head, {})
    assert change.replaced_for == ("metadata.annotations.a/topology",)


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ([{"name": "A", "value": "1"}], [{"name": "B", "value": "2"}, {"name": "A", "value": "1"}],
         [("env[B]", MISSING, {"value": "2"})]),
        (["-m", "x", "--flag", "1", "--bare"], ["-m", "x", "--flag", "2"],
         [("env[--bare]", True, MISSING), ("env[--flag]", "1", "2")]),
        (["a", "b"], ["a", "c"], [("env[1]", "b", "c")]),
        ({"x": {"y": 1}}, {"x": 2}, [("env.x", {"y": 1}, 2)]),
        ("[secret 0a]", "[secret 0b]", [("env", "[secret 0a]", "[secret 0b]")]),
        ("[secret]", "[secret 0b]", []),
        ("[secret 0a]", "plain", [("env", "[secret 0a]", "plain")]),
    ],
)  # fmt: skip
def test_fields_are_matched_by_name_flag_or_position(before: Any, after: Any, changes: list[Any]) -> None:
    assert [(c.path, c.before, c.after) for c in field_changes(before, after, "env")] == changes


def test_yaml_in_a_config_map_is_compared_by_its_fields() -> None:
    before, after = ({"data": {"decode.yaml": f"max_batch_size: {size}\nother: 1\n"}} for size in (1280, 640))
    (change,) = field_changes(before, after)
    assert (change.path, change.before, change.after) == ("data.decode.yaml.max_batch_size", 1280, 640)
