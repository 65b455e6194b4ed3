"""The real Pulumi engine against an embedded cluster: up, no change, an engine swap, a rename, destroy."""

import base64
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pulumi import automation

from embedded import cluster
from ops import synth
from ops.evaluate import evaluate
from ops.pulumi.stack_file import StackFile
from tests.project import PROGRAM, PROJECT
from tests.waiting import PATIENCE

pytestmark = [
    pytest.mark.engine,
    pytest.mark.xdist_group("engine"),
    pytest.mark.skipif(shutil.which("pulumi") is None, reason="no Pulumi CLI on PATH"),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The project beside itself: same code, a stack file and an embedded cluster of its own."""
    folder = tmp_path_factory.mktemp("engine")
    for name in ("Pulumi.yaml", "__main__.py", *PROGRAM, ".venv"):
        (folder / name).symlink_to(PROJECT / name)
    shutil.copy(PROJECT / "Pulumi.dev.yaml", folder)
    try:
        cluster.start(print, folder / ".embedded", "v1beta1")
        yield folder
    finally:
        cluster.stop(print, folder / ".embedded")


@pytest.fixture(scope="module")
def stack(project: Path) -> automation.Stack:
    backend = project / "backend"
    backend.mkdir()
    env = {"PULUMI_BACKEND_URL": backend.as_uri(), "PULUMI_CONFIG_PASSPHRASE": ""}
    options = automation.LocalWorkspaceOptions(env_vars=env)
    return automation.create_or_select_stack("dev", work_dir=str(project), opts=options)


def objects(project: Path, kind: str) -> list[dict[str, Any]]:
    listed = cluster.kubectl("get", kind, "--namespace=dynamo", "--output=json", state=project / ".embedded")
    items: list[dict[str, Any]] = json.loads(listed)["items"]
    return items


def set_token(stack: automation.Stack, value: str) -> None:
    secret = automation.ConfigValue(value, secret=True)
    stack.set_config("dynamo-gpt-oss:huggingFace.token", secret, path=True)


def set_key(project: Path, key: str, value: object) -> None:
    path = project / "Pulumi.dev.yaml"
    content = yaml.safe_load(path.read_text())
    content["config"][f"dynamo-gpt-oss:{key}"] = value
    path.write_text(yaml.safe_dump(content))


def test_up_creates_what_synth_writes(project: Path, stack: automation.Stack) -> None:
    result = stack.up()
    wanted = {
        (r.inputs["kind"], r.inputs["metadata"]["name"])
        for r in synth.manifests(evaluate(PROJECT, StackFile.load(PROJECT, "dev")))
    }
    for kind, name in wanted - {("Namespace", "dynamo")}:
        assert name in {obj["metadata"]["name"] for obj in objects(project, kind)}, kind
    graph = objects(project, "dynamographdeployments")[0]
    assert graph["status"]["state"] == "successful"
    assert result.outputs["graph"].value == "gpt-oss-disagg"
    assert result.outputs["gpus"].value == {"B200": 8}


def test_a_second_up_shows_no_changes(stack: automation.Stack) -> None:
    assert set(stack.up().summary.resource_changes or {}) <= {"same", "read"}


def test_a_knob_changes_the_graph_in_place(project: Path, stack: automation.Stack) -> None:
    before = objects(project, "dynamographdeployments")[0]["metadata"]["uid"]
    set_key(project, "graph", {"prefill": {"chunkedPrefill": False}})
    changes = {str(kind): count for kind, count in (stack.up().summary.resource_changes or {}).items()}
    assert changes["update"] == 2
    assert objects(project, "dynamographdeployments")[0]["metadata"]["uid"] == before
    assert "enable_chunked_prefill: false" in objects(project, "configmaps")[0]["data"]["prefill.yaml"]


def test_what_an_autoscaler_decided_survives_an_update(project: Path, stack: automation.Stack) -> None:
    def scale(replicas: int) -> None:
        adapter = ("dgdsa/gpt-oss-disagg-trtllmdecodeworker", "--namespace=dynamo")
        state = project / ".embedded"
        cluster.kubectl("scale", *adapter, f"--replicas={replicas}", state=state)
        there = (f"--for=jsonpath={{.status.replicas}}={replicas}", f"--timeout={PATIENCE}s")
        cluster.kubectl("wait", *adapter, *there, state=state)

    set_key(project, "graph", {"transport": "node"})
    stack.up()
    before = objects(project, "dynamographdeployments")[0]["metadata"]["uid"]
    decode = {"tensorParallel": 2, "expertParallel": 2}
    set_key(project, "autoscaling", {"kind": "external"})
    set_key(project, "graph", {"decode": decode | {"maxReplicas": 2}})
    stack.up()
    scale(2)
    set_key(project, "graph", {"decode": decode | {"maxReplicas": 2, "maxBatchSize": 64}})
    stack.up()
    graph = objects(project, "dynamographdeployments")[0]
    replicas = {each["name"]: each["replicas"] for each in graph["spec"]["components"]}
    assert replicas["TrtllmDecodeWorker"] == 2
    assert set(stack.up().summary.resource_changes or {}) <= {"same", "read"}
    scale(1)
    set_key(project, "autoscaling", {})
    set_key(project, "graph", {"transport": "node"})
    stack.up()
    assert objects(project, "dynamographdeployments")[0]["metadata"]["uid"] == before


def test_a_rotated_token_reaches_its_secret_and_nothing_else(project: Path, stack: automation.Stack) -> None:
    def uids() -> set[str]:
        return {
            obj["metadata"]["uid"] for kind in ("jobs", "pods", "secrets") for obj in objects(project, kind)
        }

    def token() -> str:
        return base64.b64decode(objects(project, "secrets")[0]["data"]["HF_TOKEN"]).decode()

    set_token(stack, "hf_first")
    stack.up()
    assert token() == "hf_first"
    before = uids()
    set_token(stack, "hf_second")
    stack.up()
    assert token() == "hf_second"
    assert uids() == before
    assert "hf_second" not in json.dumps(stack.export_stack().deployment)
    stack.remove_config("dynamo-gpt-oss:huggingFace")
    stack.up()


def test_a_token_that_is_not_encrypted_is_refused(stack: automation.Stack) -> None:
    stack.set_config("dynamo-gpt-oss:huggingFace.token", automation.ConfigValue("hf_plain"), path=True)
    with pytest.raises(automation.CommandError) as error:
        stack.preview()
    assert "dynamo-gpt-oss:huggingFace.token: the value is not encrypted" in str(error.value)
    assert "hf_plain" not in str(error.value)
    stack.remove_config("dynamo-gpt-oss:huggingFace")


def test_another_engine_frees_the_gpus_before_it_takes_them(project: Path, stack: automation.Stack) -> None:
    before = objects(project, "dynamographdeployments")[0]["metadata"]["uid"]
    set_key(project, "graph", {})
    set_key(project, "target", "vllm-disagg-h100")
    stack.up()
    graph = objects(project, "dynamographdeployments")[0]
    assert graph["spec"]["backendFramework"] == "vllm"
    assert graph["metadata"]["uid"] != before


def test_a_renamed_graph_does_not_wait_for_its_own_gpus(project: Path, stack: automation.Stack) -> None:
    set_key(project, "graph", {"name": "renamed"})
    stack.up()
    assert [graph["metadata"]["name"] for graph in objects(project, "dynamographdeployments")] == ["renamed"]


def test_a_wrong_value_is_one_sentence(project: Path, stack: automation.Stack) -> None:
    set_key(project, "graph", {"decode": {"tensorParallel": 3}})
    with pytest.raises(automation.CommandError) as error:
        stack.preview()
    said = "dynamo-gpt-oss:graph.decode.tensorParallel: 3 is not allowed; choose one of 1, 2, 4 or 8"
    assert said in str(error.value)
    assert "Traceback" not in str(error.value)
    set_key(project, "graph", {})


def test_destroy_leaves_an_empty_cluster(project: Path, stack: automation.Stack) -> None:
    stack.destroy()
    left = cluster.kubectl(
        "get", "namespaces,pods,persistentvolumeclaims,dynamographdeployments",
        "--all-namespaces", "--output=name", state=project / ".embedded",
    )  # fmt: skip
    assert {line.partition("/")[2] for line in left.split()} <= {
        "default", "kube-node-lease", "kube-public", "kube-system",
    }  # fmt: skip
