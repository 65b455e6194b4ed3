"""Which cluster a stack goes onto, and whether it brings its nodes along."""

import shlex
from pathlib import Path

import pytest

from ops.pulumi.stack_file import StackFileError
from ops.stack.stack import find
from tests.ops.stacks import of_file
from tests.plans import stack_file

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


@pytest.mark.parametrize(
    ("own_nodes", "options", "line"),
    [
        (False, (), "make down STACK=mine"),
        (True, (), "make down STACK=mine ARGS=--embedded"),
        (False, ("--force",), "make down STACK=mine ARGS=--force"),
        (True, ("--force",), "make down STACK=mine ARGS='--embedded --force'"),
    ],
)
def test_messages_say_a_verb_as_it_can_be_typed(own_nodes: bool, options: tuple[str, ...], line: str) -> None:
    config = {"target": "trtllm-disagg-b200", "cluster": {"kind": "existing"}, "platform": {"install": False}}
    mine = of_file(stack_file("mine", **config), embedded=own_nodes, own_nodes=own_nodes)
    assert mine.command("down", *options) == line
    words = shlex.split(line)
    assert words[0] == "make" and len(words) == 3 + bool(own_nodes or options)
