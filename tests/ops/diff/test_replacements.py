"""Which changed fields replace a resource."""

import pytest

from ops.diff.replacements import AWS, KUBERNETES, forcing, within


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("kubernetes:batch/v1:Job", "spec.template"),
        ("kubernetes:core/v1:ConfigMap", "metadata.namespace"),
        ("kubernetes:nvidia.com/v1beta1:DynamoGraphDeployment", "metadata.name"),
        ("aws:eks/nodeGroup:NodeGroup", "capacityType"),
    ],
)
def test_what_never_changes_in_place_forces(kind: str, field: str) -> None:
    assert field in forcing(kind)


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("kubernetes:core/v1:ConfigMap", "data"),
        ("aws:eks/nodeGroup:NodeGroup", "scalingConfig"),
        ("aws:eks/nodeGroup:NodeGroup", "metadata.name"),
        ("dynamo-gpt-oss:index:ModelCache", "metadata.name"),
    ],
)
def test_what_changes_in_place_does_not(kind: str, field: str) -> None:
    assert field not in forcing(kind)


def test_a_resources_own_rule_counts_with_its_quoted_keys() -> None:
    own = ['metadata.annotations["a/topology"]', "spec.backendFramework"]
    assert set(forcing("kubernetes:x:Y", own)) >= {"metadata.annotations.a/topology", "spec.backendFramework"}


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        ("spec.template", True),
        ("spec.template.spec.containers[0]", True),
        ("spec.template[0]", True),
        ("spec.templates", False),
        ("spec", False),
    ],
)
def test_a_field_is_itself_and_what_is_below_it(path: str, inside: bool) -> None:
    assert within(path, "spec.template") is inside


def test_rows_are_of_types_that_the_providers_have() -> None:
    for module, _, kind in (row.partition(":") for row in AWS):
        assert module.rpartition("/")[2] == kind[0].lower() + kind[1:], (module, kind)
    assert all(row.count("/") <= 1 and row.count(":") == 1 for row in KUBERNETES)
