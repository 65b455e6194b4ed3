"""Which cluster a stack goes onto, and whether it brings its nodes along."""

from pathlib import Path

import pytest

from ops.pulumi.stack_file import StackFileError
from ops.stack.stack import find

CONFIG = """
config:
  dynamo-gpt-oss:target: trtllm-disagg-b200
  dynamo-gpt-oss:platform: {install: false}
  dynamo-gpt-oss:cluster: {kind: existing, namespace: serving, kubeconfig: %s}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "Pulumi.yaml").write_text("name: dynamo-gpt-oss")
    (tmp_path / "Pulumi.real.yaml").write_text(CONFIG % "theirs")
    return tmp_path


def test_a_stack_goes_where_its_file_says(project: Path) -> None:
    found = find("acme/real", project=project)
    assert (found.name, found.full_name, found.namespace) == ("real", "acme/real", "serving")
    assert not found.embedded
    assert not found.own_nodes


def test_a_stack_that_is_tried_on_the_embedded_cluster_brings_its_nodes_along(project: Path) -> None:
    found = find("real", embedded=True, project=project)
    assert found.embedded
    assert found.own_nodes
    assert found.namespace == "real", "so that stacks can be there together"


def test_the_stack_of_the_embedded_cluster_finds_its_nodes_there() -> None:
    for asked in (True, False):
        found = find("dev", embedded=asked)
        assert found.embedded
        assert not found.own_nodes


def test_a_stack_without_a_file_is_refused(project: Path) -> None:
    with pytest.raises(StackFileError, match="choose one of real"):
        find("none", project=project)
