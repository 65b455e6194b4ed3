"""Where engines keep what they compile, in pods of every engine and transport."""

from dataclasses import replace
from typing import Any

import pytest

from facts.engines import Role
from facts.weights import CacheUse
from manifests.cache import compiled, node_copy
from manifests.graph.deployment import graph_deployment
from manifests.graph.workers import compiled_key, worker_command
from targets.plan import GraphPlan
from tests.plans import resolved

FOLDER = "/var/lib/kubelet/dynamo-gpt-oss/dynamo.compiled"
B200, H100, CPU = "p6-b200.48xlarge", "p5.48xlarge", "m7i.4xlarge"
TRTLLM, VLLM, SGLANG = "trtllm-disagg-b200", "vllm-disagg-h100", "sglang-disagg-h100"
AGENTIC = "vllm-agg-agentic-b200"


def keeping(target: str = TRTLLM, instance: str = B200, **knobs: Any) -> GraphPlan:
    use = CacheUse(compiled_folder=node_copy.compiled_folder("dynamo"))
    return resolved(target, instance, 1, weights=use, **knobs)


def keys(plan: GraphPlan) -> list[str]:
    return [compiled_key(plan, planned) for planned in plan.workers]


def worker_pods(plan: GraphPlan) -> list[Any]:
    """Pods with the node's folder, each with its container `main` first."""
    graph = graph_deployment(plan, "dynamo")["spec"]
    pods = [
        {**each["extraPodSpec"], "containers": [each["extraPodSpec"]["mainContainer"]]}
        for each in graph.get("services", {}).values()
    ] or [each["podTemplate"]["spec"] for each in graph["components"]]
    return [
        pod for pod in pods if any(volume["name"] == compiled.VOLUME for volume in pod.get("volumes", []))
    ]


def variables(plan: GraphPlan) -> list[dict[str, str]]:
    return [dict(worker_command(plan, planned).env) for planned in plan.workers]


@pytest.mark.parametrize(
    ("target", "instance", "own"),
    [
        (TRTLLM, B200, {"TLLM_AUTOTUNER_CACHE_PATH": "autotuner.json"}),
        (VLLM, H100, {"VLLM_CACHE_ROOT": "vllm"}),
        (SGLANG, H100, {"SGLANG_CACHE_DIR": "sglang", "TVM_FFI_CACHE_DIR": "tvm-ffi"}),
        (AGENTIC, B200, {"VLLM_CACHE_ROOT": "vllm"}),
    ],
)
def test_an_engine_and_its_libraries_are_told_where(target: str, instance: str, own: dict[str, str]) -> None:
    plan = keeping(target, instance)
    places = own | {
        "TRITON_CACHE_DIR": "triton", "TORCHINDUCTOR_CACHE_DIR": "inductor", "FLASHINFER_WORKSPACE_BASE": "flashinfer"
    }  # fmt: skip
    for env, digest in zip(variables(plan), keys(plan), strict=True):
        assert (
            places.items()
            == {name: env[name].removeprefix(f"/opt/compiled/{digest}/") for name in places}.items()
        )


def test_a_release_is_told_what_its_engine_reads_alone() -> None:
    old = keeping(dynamoVersion="0.4.1")
    assert all("TLLM_AUTOTUNER_CACHE_PATH" not in env for env in variables(old))
    assert all("TRITON_CACHE_DIR" in env for env in variables(old))


@pytest.mark.parametrize(
    ("knobs", "kept"),
    [
        ({"replicas": 1}, True),
        ({"replicas": 2}, False),
        ({"maxReplicas": 2}, False),
        ({"replicas": 2, "tensorParallel": 1}, True),
        ({"replicas": 2, "tensorParallel": 8}, True),
    ],
    ids=["one worker", "two of four ranks", "up to two", "two of one rank", "two that fill a node each"],
)
def test_a_file_that_ranks_write_one_after_another_is_one_engines(knobs: dict[str, Any], kept: bool) -> None:
    """What one engine has begun would end another that reads it, and `prepare` would delete it under the first."""
    plan = keeping(decode=knobs)
    (decode,) = (each for each in plan.workers if each.role is Role.DECODE)
    env = dict(worker_command(plan, decode).env)
    assert ("TLLM_AUTOTUNER_CACHE_PATH" in env) is kept
    assert "TRITON_CACHE_DIR" in env


@pytest.mark.parametrize("transport", ["pod", "node"])
def test_pods_have_the_folder_and_look_at_it_before_every_start(transport: str) -> None:
    plan = keeping(transport=transport)
    found = worker_pods(plan)
    assert len(found) == (1 if transport == "pod" else 2)
    for pod in found:
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        assert volumes["compiled"]["hostPath"] == {"path": FOLDER, "type": "DirectoryOrCreate"}
        (before,) = pod["initContainers"]
        main = pod["containers"][0]
        (hook,) = main["lifecycle"]["postStart"]["exec"]["command"][2:]
        assert hook == f"{' '.join(before['command'])} || true"
        assert before["image"] == main["image"], (
            "what is installed in the engine's image says whose kernels they are"
        )
        gpus = [planned.worker.gpus for planned in plan.workers]
        assert before["command"][3:] == [f"{k}={n}" for k, n in zip(keys(plan), gpus, strict=True)]
        for container in (before, main):
            mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
            assert mounts["compiled"] == "/opt/compiled"
            assert mounts["compiled-script"] == "/opt/compiled-script"


def test_workers_of_one_pod_share_what_their_role_compiles() -> None:
    plan = keeping("vllm-disagg-agentic-b200", transport="pod")
    (pod,) = worker_pods(plan)
    for planned, digest in zip(plan.workers, keys(plan), strict=True):
        place = f"VLLM_CACHE_ROOT=/opt/compiled/{digest}/vllm"
        assert str(pod["containers"][0]).count(place) == planned.worker.replicas > 1


@pytest.mark.parametrize(
    "other",
    [
        keeping(dynamoVersion="1.6.1"),
        keeping(image={"tag": "mended"}),
        keeping(decode={"maxBatchSize": 64}, prefill={"maxBatchSize": 16}),
        keeping(decode={"env": {"A": "1"}}, prefill={"env": {"A": "1"}}),
        keeping(
            decode={"extraArgs": ["--trust-remote-code"]}, prefill={"extraArgs": ["--trust-remote-code"]}
        ),
        replace(keeping(), pool=replace(keeping().pool, instance=replace(keeping().pool.instance, gpu=None))),
    ],
    ids=["release", "image", "engine file", "environment", "arguments", "GPU"],
)
def test_whatever_is_compiled_for_has_a_key_of_its_own(other: GraphPlan) -> None:
    assert not {*keys(keeping())} & {*keys(other)}


def test_the_key_stays_where_nothing_changes_that_is_compiled_for() -> None:
    assert keys(keeping()) == keys(keeping())
    assert keys(keeping()) == keys(keeping(frontend={"replicas": 2}))
    assert keys(keeping()) == keys(keeping(decode={"replicas": 1}))
    prefill, decode = keys(keeping())
    assert prefill != decode


def test_a_users_own_place_comes_over_ours() -> None:
    plan = keeping(
        decode={"env": {"TRITON_CACHE_DIR": "/mine"}}, prefill={"env": {"TRITON_CACHE_DIR": "/mine"}}
    )
    assert "TRITON_CACHE_DIR=/mine" in str(worker_pods(plan)) or "'value': '/mine'" in str(worker_pods(plan))
    assert "/triton'" not in str(worker_pods(plan))


def test_without_it_nothing_changes() -> None:
    plan = resolved(TRTLLM, B200, 1)
    assert "compiled" not in str(graph_deployment(plan, "dynamo"))
    assert worker_pods(keeping("mocker-disagg-cpu", CPU)) == []


def test_the_node_keeps_it_for_the_pods_with_the_rights_it_takes() -> None:
    plan = keeping()
    own = {plan.name: keys(plan)}
    made: Any = node_copy.manifests([plan], "dynamo", own)[-1]
    pod = made["spec"]["template"]["spec"]
    (give,), (keep,) = pod["initContainers"], pod["containers"]
    assert give["command"][-1] == "/opt/compiled"
    env = {each["name"]: each.get("value") for each in keep["env"]}
    assert env["KEYS"] == str(sorted(own[plan.name])).replace("'", '"')
    assert env["COMPILED"] == "/opt/compiled"
    assert "HF_HOME" not in env
    assert {volume["name"] for volume in pod["volumes"]} == {"compiled", "copy-weights"}


def test_roots_files_are_deleted_by_root_alone() -> None:
    """Workers over EFA are root; what they compile belongs to root."""

    def keeper(plan: GraphPlan) -> Any:
        made: Any = node_copy.manifests([plan], "dynamo", {plan.name: keys(plan)})[-1]
        return made["spec"]["template"]["spec"]["containers"][0]["securityContext"]

    root, user = keeping(transport="node"), keeping(transport="pod", kvTransfer={"grants": "none"})
    assert keeper(root)["capabilities"] == {"drop": ["ALL"], "add": ["DAC_OVERRIDE"]}
    assert "runAsUser" not in keeper(user)
    (before, *_) = worker_pods(root)[0]["initContainers"]
    assert before["securityContext"]["runAsUser"] == 0
