"""`ops synth`: what it promises of every evaluation. What it makes of shipped stacks: tests/stacks/test_golden.py."""

import json
import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest
import yaml

from ops.evaluate import Evaluation, Resource, evaluate
from ops.options import Format
from ops.pulumi.stack_file import StackFile, stacks
from ops.synth import manifests, mask, render, write_tree
from targets.catalogue import TARGETS
from targets.target import Target
from tests.plans import ON_CLUSTER, stack_file
from tests.project import PROJECT

STACKS = stacks(PROJECT)


def synth(stack: str, *, hash_seed: str = "0") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ops", "synth", "--stack", stack, "--format", "json"],
        cwd=PROJECT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """No connection leaves the process."""

    def refuse(*_: object) -> NoReturn:
        raise AssertionError("synth opened a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize("stack", STACKS)
def test_manifests_are_yaml_of_what_the_stack_registers(stack: str) -> None:
    evaluation = evaluate(PROJECT, StackFile.load(PROJECT, stack))
    written = list(yaml.safe_load_all(render(evaluation, Format.YAML)))
    assert written == [mask(resource.inputs) for resource in manifests(evaluation)]
    assert {"Namespace", "DynamoGraphDeployment"} <= {each["kind"] for each in written}


def test_words_that_yaml_1_1_takes_for_booleans_are_quoted() -> None:
    """PyYAML writes them plain, and kubectl would read `y` as true."""
    labels = {"metadata": {"labels": {"team": "y", "n": "no"}}}
    resource = Resource(
        urn="urn::n",
        type="kubernetes:core/v1:Namespace",
        parent="",
        dependencies=(),
        property_dependencies={},
        provider="",
        inputs={"apiVersion": "v1", "kind": "Namespace", **labels},
    )
    text = render(Evaluation(stack="s", resources=(resource,), outputs={}), Format.YAML)
    assert "    'n': 'no'\n    team: 'y'\n" in text


def test_two_runs_give_the_same_bytes() -> None:
    first, second = synth("dev", hash_seed="1"), synth("dev", hash_seed="2")
    assert first.returncode == 0
    assert first.stdout == second.stdout


def test_a_config_error_is_one_line_and_exit_code_1() -> None:
    missing = synth("no-such-stack")
    assert missing.returncode == 1
    assert missing.stderr == (
        f"error: --stack: 'no-such-stack' has no Pulumi.no-such-stack.yaml here; choose one of {', '.join(STACKS)}\n"
    )
    assert missing.stdout == ""


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_the_program_runs_for_every_target(target: Target) -> None:
    evaluation = evaluate(PROJECT, stack_file(**ON_CLUSTER, target=target.name))
    (graph,) = (r for r in evaluation.resources if r.type.endswith(":DynamoGraphDeployment"))
    assert graph.inputs["metadata"]["name"] == target.graph
    assert evaluation.outputs["gpus"] == {
        gpu: sum(w.replicas * w.gpus for w in target.workers) for gpu in target.gpu_models[:1]
    }


def test_several_graphs_share_a_cache_and_nothing_else() -> None:
    further = [{"name": "second", "target": "vllm-agg-agentic-b200"}, {"name": "third"}]
    evaluation = evaluate(
        PROJECT, stack_file(**ON_CLUSTER, target="trtllm-disagg-b200", pool={"nodes": 3}, graphs=further)
    )
    names = ["gpt-oss-disagg", "second", "third"]
    graphs = {
        r.inputs["metadata"]["name"]: r
        for r in evaluation.resources
        if r.type.endswith(":DynamoGraphDeployment")
    }
    assert sorted(graphs) == names
    assert sorted(evaluation.outputs["endpoints"]) == names
    assert evaluation.outputs["gpus"] == {"B200": 24}
    maps = [
        r.inputs["metadata"]["name"] for r in evaluation.resources if r.type == "kubernetes:core/v1:ConfigMap"
    ]
    assert {"gpt-oss-disagg-llm-config", "third-llm-config"} <= set(maps)
    assert "second-llm-config" not in maps, "vLLM takes no engine file"
    (job,) = (r for r in evaluation.resources if r.type.endswith(":Job") and r.name == "model-download")
    env = job.inputs["spec"]["template"]["spec"]["containers"][0]["env"]
    (models,) = (json.loads(entry["value"]) for entry in env if entry["name"] == "MODELS")
    assert [each["model"] for each in models] == ["openai/gpt-oss-120b", "nvidia/gpt-oss-120b-Eagle3-v3"]
    for name, graph in graphs.items():
        others = [other for other in names if other != name]
        assert not any(f'"{other}"' in json.dumps(graph.inputs) for other in others)


def with_token(token: str) -> StackFile:
    stack = StackFile.load(PROJECT, "dev")
    key = f"{stack.project}:huggingFace"
    config = {**stack.config, key: json.dumps({"token": token})}
    return replace(stack, config=config, secret_keys=frozenset({key}))


@pytest.mark.parametrize("form", [Format.JSON, Format.YAML])
def test_secrets_never_appear(form: Format) -> None:
    text = render(evaluate(PROJECT, with_token("hf_visible")), form)
    assert "hf_visible" not in text
    assert "[secret]" in text


def test_the_tree_holds_every_resource_and_one_file_for_each_object(tmp_path: Path) -> None:
    evaluation = evaluate(PROJECT, StackFile.load(PROJECT, "dev"))
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "99-stale.yaml").touch()
    written = list(write_tree(evaluation, tmp_path))
    assert sorted(p for p in tmp_path.rglob("*") if p.is_file()) == sorted(written)
    described = json.loads((tmp_path / "resources.json").read_text())
    objects: list[dict[str, Any]] = [yaml.safe_load(path.read_text()) for path in written[1:]]
    kinds = [each["kind"] for each in objects]
    assert kinds.index("Namespace") < kinds.index("PersistentVolumeClaim") < kinds.index("Job")
    assert kinds.index("Job") < kinds.index("DynamoGraphDeployment")
    by_urn = {resource["urn"]: position for position, resource in enumerate(described["resources"])}
    for resource in described["resources"]:
        assert all(by_urn[urn] < by_urn[resource["urn"]] for urn in resource["dependencies"] if urn in by_urn)
