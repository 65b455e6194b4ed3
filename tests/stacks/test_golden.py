"""Every shipped stack as files: what it is on Kubernetes, its dashboards, and what it is on AWS."""

import json

import pytest
import yaml

from manifests.graph.workers import engine_files
from ops.pulumi.stack_file import stacks
from tests import golden_graphs
from tests.golden_files import compare, names
from tests.golden_stacks import aws, config_entry, dashboards, kubernetes
from tests.project import PROJECT

STACKS = stacks(PROJECT)


@pytest.mark.parametrize("stack", STACKS)
def test_a_stack_is_as_in_its_golden_files(stack: str) -> None:
    compare(f"stacks/{stack}.yaml", kubernetes(stack))
    for name, text in dashboards(stack).items():
        compare(f"dashboards/{stack}/{name}", json.dumps(json.loads(text), indent=2) + "\n")
    on_aws = aws(stack)
    if on_aws is not None:
        compare(f"aws/{stack}.yaml", on_aws)
    assert names(f"dashboards/{stack}") == set(dashboards(stack)), "one is left over"
    assert (on_aws is not None) == (f"{stack}.yaml" in names("aws")), "it is left over"


def test_no_golden_file_is_left_over() -> None:
    assert names("stacks") == {f"{stack}.yaml" for stack in STACKS}
    assert names("aws") <= names("stacks")
    assert {path.partition("/")[0] for path in names("dashboards")} <= set(STACKS)


def test_a_graph_says_in_what_it_differs_from_its_targets() -> None:
    (written,) = (each for each in kubernetes("prod").split("---\n") if "kind: DynamoGraphDeployment" in each)
    graph = yaml.safe_load(written)
    assert graph["as in"] == "targets/trtllm-disagg-b200-1.4.2.yaml"
    assert graph["but"]["spec.components[Frontend].replicas"] == 2


def test_a_program_that_is_no_file_of_pods_is_written_out() -> None:
    text = (PROJECT / "pods" / "copy_weights.py").read_text()
    assert config_entry("dev", "copy_weights.py", text) == "the file pods/copy_weights.py"
    assert config_entry("dev", "copy_weights.py", text + "#") == text + "#"


def test_what_is_nearly_an_engine_file_of_a_target_is_written_out() -> None:
    text = engine_files(golden_graphs.plan("trtllm-disagg-b200", {"graph": {"dynamoVersion": "1.4.2"}}))[
        "decode.yaml"
    ]
    assert config_entry("dev", "decode.yaml", text) == "as in targets/trtllm-disagg-b200-1.4.2.yaml"
    assert config_entry("dev", "decode.yaml", text + "a: 1\n") == text + "a: 1\n"
