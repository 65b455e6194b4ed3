"""Whole stacks on an embedded cluster of their own: what a user sees of up, up again, change, refusal and down."""

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from embedded import cluster
from embedded.paths import PROJECT
from ops.deploy import deploy
from ops.deploy.status import status
from ops.pulumi.stack_file import StackFile
from ops.stack.on_embedded import on_embedded, plan_of
from ops.stack.stack import Stack, find
from targets.errors import UserError
from tests.ops.stacks import of_file
from tests.waiting import PATIENCE

pytestmark = pytest.mark.xdist_group("deploy")
PREFIX = "dynamo-gpt-oss"


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    state = tmp_path_factory.mktemp("deploy") / "state"
    yield state
    cluster.stop(print, state)


@pytest.fixture(scope="module", autouse=True)
def no_pulumi() -> Iterator[None]:
    """These tests are of the way without a CLI, whatever this machine has."""
    patch = pytest.MonkeyPatch()
    patch.setattr("ops.pulumi.automation.available", lambda: False)
    yield
    patch.undo()


def dev(**sections: Any) -> Stack:
    """The stack `dev` with some sections of its config replaced."""
    file = StackFile.load(PROJECT, "dev")
    config = dict(file.config) | {f"{PREFIX}:{key}": json.dumps(value) for key, value in sections.items()}
    file = replace(file, config=config)
    return of_file(file, embedded=True)


def with_a_second_pool(name: str) -> Stack:
    """The stack on the embedded cluster, with a graph `copy` on a pool of its own, of the same type of nodes."""
    file = StackFile.load(PROJECT, name)
    further = {"pools": [{"name": "copy", "active": True}], "graphs": [{"name": "copy", "pool": "copy"}]}
    config = dict(file.config) | {f"{PREFIX}:{key}": json.dumps(value) for key, value in further.items()}
    file = on_embedded(replace(file, config=config))
    return of_file(file, embedded=True, own_nodes=True)


def objects(state: Path, kind: str, *options: str) -> list[dict[str, Any]]:
    listed = cluster.kubectl("get", kind, "--all-namespaces", "--output=json", *options, state=state)
    items: list[dict[str, Any]] = json.loads(listed)["items"]
    return items


def up(stack: Stack, state: Path) -> tuple[dict[str, Any], list[str]]:
    said: list[str] = []
    outputs = dict(deploy.up(stack, said.append, state=state))
    return outputs, said


def test_first_up_places_the_workers_on_the_b200_node(state: Path) -> None:
    outputs, _ = up(dev(), state)
    workers = {
        pod["metadata"]["labels"]["nvidia.com/dynamo-component"]: pod
        for pod in objects(state, "pods", "--selector=nvidia.com/dynamo-graph-deployment-name")
    }
    nodes = {name: pod["spec"]["nodeName"] for name, pod in workers.items()}
    gpus = [
        container["resources"]["limits"]["nvidia.com/gpu"]
        for container in workers["TrtllmWorkers"]["spec"]["containers"]
        if "limits" in container["resources"]
    ]
    assert nodes == {"TrtllmWorkers": "b200-0", "Frontend": "cpu-0"}
    assert gpus == ["8"]
    assert outputs["gpus"] == {"B200": 8}
    assert outputs["graph"] == "gpt-oss-disagg"


def test_the_download_ends_before_the_graph_begins(state: Path) -> None:
    job = objects(state, "jobs")[0]
    graph = objects(state, "dynamographdeployments")[0]
    assert job["status"]["completionTime"] <= graph["metadata"]["creationTimestamp"]


def test_status_says_that_it_is_ready_where_it_answers_and_how_each_part_is(state: Path) -> None:
    found = status(dev(), state=state)
    lines = [" ".join(line.split()) for line in found.lines()]
    assert lines[0].startswith("dev on the embedded cluster: ready, for ")
    assert lines[1].startswith("endpoint of gpt-oss-disagg: http://127.0.0.1:")
    assert "weights Complete" in lines
    assert "spent 0 USD: the nodes are simulated" in lines
    assert found.data()["ready"] is True


def test_second_up_changes_nothing_and_says_so(state: Path) -> None:
    before = {obj["metadata"]["uid"]: obj["metadata"]["generation"] for obj in objects(state, "jobs")}
    _, said = up(dev(), state)
    assert said[-1] == "dev: 0 changes (0 created, 0 changed, 0 removed, 7 unchanged)"
    assert {o["metadata"]["uid"]: o["metadata"]["generation"] for o in objects(state, "jobs")} == before


def test_a_job_whose_pods_become_others_is_made_anew(state: Path) -> None:
    (before,) = objects(state, "jobs")
    _, said = up(dev(cache={"image": "python:3.12-slim"}), state)
    (after,) = objects(state, "jobs")
    assert "change job/model-download" in said
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert after["spec"]["template"]["spec"]["containers"][0]["image"] == "python:3.12-slim"
    up(dev(), state)


def test_a_changed_knob_changes_the_engine_file_and_the_graph_alone(state: Path) -> None:
    _, said = up(dev(graph={"prefill": {"chunkedPrefill": False}}), state)
    changed = [line for line in said if line.startswith(("create", "change", "remove"))]
    assert changed == [
        "change configmap/gpt-oss-disagg-llm-config",
        "change dynamographdeployment/gpt-oss-disagg",
    ]


def test_a_rotated_token_reaches_its_secret_and_nothing_else(state: Path) -> None:
    def with_token(token: str) -> Stack:
        plain = dev()
        config = dict(plain.file.config) | {f"{PREFIX}:huggingFace": json.dumps({"token": token})}
        file = replace(plain.file, config=config, secret_keys=frozenset({f"{PREFIX}:huggingFace"}))
        return replace(plain, file=file, plan=plan_of(file))

    def uids() -> set[str]:
        return {obj["metadata"]["uid"] for kind in ("jobs", "pods") for obj in objects(state, kind)}

    def token() -> str:
        (secret,) = [obj for obj in objects(state, "secrets") if obj["metadata"]["name"] == "hf-token-secret"]
        return base64.b64decode(secret["data"]["HF_TOKEN"]).decode()

    up(with_token("hf_first"), state)
    before = uids()
    _, said = up(with_token("hf_first"), state)
    assert not [line for line in said if line.startswith(("create", "change", "remove"))], "nothing changed"
    _, said = up(with_token("hf_second"), state)
    assert token() == "hf_second"
    assert uids() == before, "nothing is downloaded again and no pod restarts"
    assert [line for line in said if line.startswith(("create", "change", "remove"))] == [
        "change secret/hf-token-secret"
    ]
    up(dev(), state)


def test_a_local_copy_is_an_update_of_the_worker_pods(state: Path) -> None:
    before = objects(state, "dynamographdeployments")[0]["metadata"]["uid"]
    up(dev(cache={"localCopy": True}), state)
    assert objects(state, "dynamographdeployments")[0]["metadata"]["uid"] == before
    node = cluster.kubectl("describe", "node", "b200-0", state=state)
    assert "ephemeral-storage      67Gi" in node, "the scheduler counts the copy"
    _, said = up(dev(), state)
    assert "remove configmap/gpt-oss-disagg-copy-weights" in said
    assert objects(state, "dynamographdeployments")[0]["metadata"]["uid"] == before


def test_what_an_autoscaler_decided_survives_the_next_up(state: Path) -> None:
    decode = {"tensorParallel": 2, "expertParallel": 2, "maxReplicas": 2}
    scaled = dev(autoscaling={"kind": "external"}, graph={"decode": decode})
    up(scaled, state)
    (adapter,) = objects(state, "dgdsa")
    name, namespace = adapter["metadata"]["name"], adapter["metadata"]["namespace"]
    cluster.kubectl("scale", f"dgdsa/{name}", "--replicas=2", f"--namespace={namespace}", state=state)
    cluster.kubectl(
        "wait",
        "--for=jsonpath={.status.replicas}=2",
        f"dgdsa/{name}",
        f"--namespace={namespace}",
        f"--timeout={PATIENCE}s",
        state=state,
    )
    _, said = up(scaled, state)
    assert said[-1].startswith("dev: 0 changes")
    assert len(objects(state, "pods", "--selector=nvidia.com/dynamo-component=TrtllmDecodeWorker")) == 2


def test_what_leaves_the_config_leaves_its_object(state: Path) -> None:
    def environment() -> str:
        graph = objects(state, "dynamographdeployments")[0]
        pods = {each["name"]: each["podTemplate"]["spec"] for each in graph["spec"]["components"]}
        return " ".join(pods["TrtllmWorkers"]["containers"][0]["args"])

    # A graph that is there for the first time with the variable, and then without.
    up(dev(graph={"name": "fresh", "decode": {"env": {"GONE": "1"}}}), state)
    assert "GONE=1" in environment()
    _, said = up(dev(graph={"name": "fresh"}), state)
    assert "change dynamographdeployment/fresh" in said
    assert "GONE=1" not in environment()
    up(dev(), state)


def test_gpu_nodes_of_another_stack_appear_once_its_weights_are_there(state: Path) -> None:
    b200 = with_a_second_pool("disagg-b200")
    up(b200, state)
    job = next(obj for obj in objects(state, "jobs") if obj["metadata"]["namespace"] == "disagg-b200")
    own = objects(state, "nodes", "--selector=dynamo-gpt-oss/stack=disagg-b200,nvidia.com/gpu.present=true")
    assert [node["metadata"]["name"] for node in own] == ["disagg-b200-0", "disagg-b200-copy-0"]
    for node in own:
        assert node["metadata"]["creationTimestamp"] >= job["status"]["completionTime"]
    workers = objects(state, "pods", "--selector=dynamo-gpt-oss/workers=copy")
    assert [pod["spec"]["nodeName"] for pod in workers] == ["disagg-b200-copy-0"]
    deploy.down(b200, lambda _: None, state=state)
    assert not objects(state, "nodes", "--selector=dynamo-gpt-oss/stack=disagg-b200")


def test_graphs_that_fill_a_node_each_find_one(state: Path) -> None:
    b200 = find("disagg-b200", embedded=True)
    config = {
        f"{PREFIX}:pool": '{"nodes": 2}',
        f"{PREFIX}:graph": '{"transport": "node"}',
        f"{PREFIX}:graphs": '[{"name": "second", "transport": "node"}]',
    }
    file = replace(b200.file, config=dict(b200.file.config) | config)
    both = replace(b200, file=file, plan=plan_of(file))
    up(both, state)
    nodes = {
        graph: {
            pod["spec"]["nodeName"]
            for pod in objects(state, "pods", f"--selector=dynamo-gpt-oss/workers={graph}")
            if pod["metadata"]["namespace"] == "disagg-b200"
        }
        for graph in ("gpt-oss-disagg", "second")
    }
    assert all(len(found) == 1 for found in nodes.values())
    assert nodes["gpt-oss-disagg"] != nodes["second"]
    deploy.down(both, lambda _: None, state=state)


def test_what_leaves_the_config_leaves_the_cluster(state: Path) -> None:
    _, said = up(dev(graph={"name": "other"}), state)
    assert "remove dynamographdeployment/gpt-oss-disagg" in said
    assert "remove configmap/gpt-oss-disagg-llm-config" in said
    assert [obj["metadata"]["name"] for obj in objects(state, "dynamographdeployments")] == ["other"]


def test_another_engine_under_the_same_name_replaces_the_graph(state: Path) -> None:
    file = dev(graph={"name": "other"}).file
    file = replace(file, config={**file.config, f"{PREFIX}:target": "trtllm-disagg-8k"})
    same_shape = of_file(file, embedded=True)
    before = objects(state, "dynamographdeployments")[0]["metadata"]["uid"]
    up(same_shape, state)
    assert objects(state, "dynamographdeployments")[0]["metadata"]["uid"] == before
    config = {**file.config, f"{PREFIX}:target": "vllm-disagg-h100"}
    other_engine = replace(same_shape, file=replace(file, config=config))
    up(other_engine, state)
    graph = objects(state, "dynamographdeployments")[0]
    assert graph["metadata"]["uid"] != before
    assert graph["spec"]["backendFramework"] == "vllm"


def test_a_graph_that_the_pool_has_no_room_for_is_refused_with_numbers(state: Path) -> None:
    """It would wait for GPUs that its own namespace holds not one of."""
    up(dev(), state)
    beside = {"kind": "existing", "kubeconfig": ".embedded/kubeconfig", "namespace": "team-b"}
    before = {obj["metadata"]["name"] for obj in objects(state, "namespaces")}
    holder = objects(state, "dynamographdeployments")[0]["metadata"]["name"]
    with pytest.raises(UserError) as error:
        up(dev(cluster=beside), state)
    assert str(error.value) == (
        f"GPUs of pool: the stack wants 8, 0 of 8 on 1 nodes are free, taken by {holder} in dynamo (8); free some, "
        "name other nodes in pool.nodeSelector, or make the graph smaller (replicas, tensorParallel)"
    )
    assert {obj["metadata"]["name"] for obj in objects(state, "namespaces")} == before


def test_a_storage_class_that_is_not_there_is_refused_before_anything_is_made(state: Path) -> None:
    before = {obj["metadata"]["resourceVersion"] for obj in objects(state, "persistentvolumeclaims")}
    with pytest.raises(UserError) as error:
        up(dev(cache={"kind": "class", "storageClass": "shared-rwx"}), state)
    assert str(error.value) == (
        "storage class: cache.storageClass: shared-rwx is not there; choose among embedded-rwx"
    )
    assert {obj["metadata"]["resourceVersion"] for obj in objects(state, "persistentvolumeclaims")} == before


def test_a_pool_whose_nodes_lack_its_label_ends_the_wait_with_that_label(state: Path) -> None:
    with pytest.raises(UserError) as error:
        up(dev(pools=[{"name": "copy"}], graphs=[{"name": "copy", "pool": "copy"}]), state)
    assert "(pod copy-" in str(error.value)
    assert (
        "the cluster has no node with NVIDIA-B200 and label dynamo-gpt-oss/pool in (copy) (GPUs there: "
    ) in str(error.value)
    assert "; label the pool's nodes, or name another pools[0]; the scheduler says" in str(error.value)


def test_a_missing_token_secret_is_refused_before_anything_changes(state: Path) -> None:
    before = {obj["metadata"]["resourceVersion"] for obj in objects(state, "dynamographdeployments")}
    with pytest.raises(UserError) as error:
        up(dev(huggingFace={"existingSecret": "absent"}), state)
    assert str(error.value).startswith(
        "dynamo-gpt-oss:huggingFace.existingSecret: 'absent' is no Secret in namespace dynamo (there: "
    )
    assert {obj["metadata"]["resourceVersion"] for obj in objects(state, "dynamographdeployments")} == before


def test_a_stuck_finalizer_is_named_and_not_cleared(state: Path) -> None:
    up(dev(), state)
    hold = json.dumps({"metadata": {"finalizers": ["example.com/hold"]}})
    target = ("configmap", "gpt-oss-disagg-llm-config", "--namespace=dynamo", "--type=merge")
    cluster.kubectl("patch", *target, f"--patch={hold}", state=state)
    # The graph takes its time on a busy machine; what is held is named after little.
    gone = ("dgd,pods", "--all", "--namespace=dynamo", f"--timeout={PATIENCE}s")
    cluster.kubectl("delete", *gone, state=state)
    with pytest.raises(UserError) as error:
        deploy.down(dev(), lambda _: None, timeout=10, state=state)
    assert str(error.value) == (
        "configmap/gpt-oss-disagg-llm-config is not gone after 10 s: configmap/gpt-oss-disagg-llm-config "
        "(finalizers example.com/hold) is still there; no finalizer was cleared: see what its controller waits for, "
        "then run down again"
    )
    freed = json.dumps({"metadata": {"finalizers": None}})
    cluster.kubectl("patch", *target, f"--patch={freed}", state=state)


def test_retained_weights_outlive_the_stack_and_are_downloaded_once(state: Path) -> None:
    keeping = dev(cache={"retain": True})
    up(keeping, state)
    claim = objects(state, "persistentvolumeclaims")[0]["metadata"]["uid"]
    said: list[str] = []
    deploy.down(keeping, said.append, state=state)
    assert "keep persistentvolumeclaim/model-cache: cache.retain" in said
    assert said[-1] == "embedded cluster: keeps running for what is left on it"
    assert [obj["metadata"]["uid"] for obj in objects(state, "persistentvolumeclaims")] == [claim]
    assert not objects(state, "dynamographdeployments")
    up(dev(), state)
    assert [obj["metadata"]["uid"] for obj in objects(state, "persistentvolumeclaims")] == [claim]


def test_down_leaves_no_process_and_no_file(state: Path) -> None:
    said: list[str] = []
    deploy.down(dev(), said.append, state=state)
    assert not state.exists()
    assert not cluster.is_running(state)
    deploy.down(dev(), said.append, state=state)
    assert said[-1] == "embedded cluster: was not running"
