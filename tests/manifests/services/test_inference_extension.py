"""A graph behind a Gateway's endpoint picker: one, which believes what the workers do, and a frontend to a worker."""

from itertools import pairwise
from typing import Any

import pytest

from facts.releases import Version
from manifests.graph.deployment import graph_deployment
from manifests.graph.topology import topology
from manifests.services.inference_extension import PICKER
from targets.catalogue import TARGETS as PUBLISHED
from targets.plan import GraphPlan
from tests import plans

NO_REUSE = ("trtllm-agg-gb200", "trtllm-disagg-8k")
"""Targets whose engine files switch KV block reuse off."""
RELEASE = "1.6.1"
TARGETS = [name for name, target in PUBLISHED.items() if target.releases.run(Version.parse(RELEASE))]
INGRESS = {"host": "llm.example.com", "gateway": "envoy/public", "existingSecret": "keys"}


def plan(target: str, *, picker: bool = True, **graph: Any) -> GraphPlan:
    ingress = {**INGRESS, "inferenceExtension": picker}
    return plans.apart(target, graph={"dynamoVersion": RELEASE, **graph}, ingress=ingress)


def components(graph: GraphPlan) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in graph_deployment(graph, "dynamo")["spec"]["components"]}


def containers(component: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in component["podTemplate"]["spec"]["containers"]}


def environment(container: dict[str, Any]) -> dict[str, str]:
    return {entry["name"]: entry["value"] for entry in container["env"]}


def after(flag: str, args: list[str]) -> list[str]:
    return [value for word, value in pairwise(args) if word == flag]


def workers(graph: GraphPlan) -> list[dict[str, dict[str, Any]]]:
    return [
        containers(each)
        for each in components(graph).values()
        if each["type"] in ("worker", "prefill", "decode")
    ]


@pytest.mark.parametrize("target", TARGETS)
def test_one_picker_and_a_frontend_beside_every_worker_are_added(target: str) -> None:
    graph = plan(target)
    before, now = components(plan(target, picker=False)), components(graph)
    assert [name for name in now if name not in before] == [PICKER]
    assert now["Frontend"] == before["Frontend"]
    assert (now[PICKER]["type"], now[PICKER]["replicas"]) == ("epp", 1)
    assert "eppConfig" not in now[PICKER]
    for name in before.keys() - {"Frontend"}:
        sidecar = containers(now[name])[now[name].pop("frontendSidecar")]
        assert (sidecar["image"], sidecar["command"][2]) == (graph.image.reference, "dynamo.frontend")
        assert after("--router-mode", sidecar["args"]) == ["direct"]
        now[name]["podTemplate"]["spec"]["containers"].remove(sidecar)
        assert now[name] == before[name]


@pytest.mark.parametrize("target", TARGETS)
def test_added_containers_run_as_unprivileged_and_offline_as_the_others(target: str) -> None:
    graph = plan(target)
    picker = components(graph)[PICKER]
    assert picker["podTemplate"]["spec"]["securityContext"]["runAsNonRoot"] is True
    for container in (containers(picker)["main"], *(each["sidecar-frontend"] for each in workers(graph))):
        security = container["securityContext"]
        assert security["capabilities"] == {"drop": ["ALL"]}
        assert security["allowPrivilegeEscalation"] is False
        assert security.get("runAsUser", 1000) == 1000
        cache = {"name": "model-cache", "mountPath": "/opt/models", "readOnly": True}
        assert container["volumeMounts"][0] == cache
        assert environment(container)["HF_HUB_OFFLINE"] == "1"
        assert "limits" not in container.get("resources", {})
    for each in workers(graph):
        as_root = graph.grants != "none"
        assert ("runAsUser" in each["sidecar-frontend"]["securityContext"]) is as_root, "the pod says root"
        assert environment(each["sidecar-frontend"])["NVIDIA_VISIBLE_DEVICES"] == "void"


def test_the_picker_keeps_the_folder_that_the_operator_gives_it_in_its_home() -> None:
    """Our lists of volumes and mounts take the place of the operator's, in every release that was read."""
    pod = components(plan("vllm-disagg-h100"))[PICKER]["podTemplate"]["spec"]
    assert {"name": "hf-cache", "emptyDir": {}} in pod["volumes"]
    mounts = pod["containers"][0]["volumeMounts"]
    assert {"name": "hf-cache", "mountPath": "/home/nonroot/.cache"} in mounts
    assert {each["name"] for each in mounts} == {each["name"] for each in pod["volumes"]}


@pytest.mark.parametrize(
    ("target", "router_mode"),
    [
        (name, mode)
        for name in TARGETS
        for mode in ("kv", "round-robin")
        if mode != "kv" or name not in NO_REUSE
    ],
)
def test_the_picker_believes_what_the_workers_do(target: str, router_mode: str) -> None:
    graph = plan(target, frontend={"routerMode": router_mode})
    believes = environment(containers(components(graph)[PICKER])["main"])
    assert believes["DYN_MODEL_NAME"] == "openai/gpt-oss-120b"
    engines = [each["main"]["args"] for each in workers(graph)]
    sizes = {size for args in engines for size in after("--block-size", args)}
    assert sizes == {believes[key] for key in ("DYN_KV_CACHE_BLOCK_SIZE",) if key in believes}
    publish = any({"--kv-events-config", "--publish-kv-events"} & {*args} for args in engines)
    if graph.target.engine != "mocker":  # it publishes without being asked
        assert believes["DYN_USE_KV_EVENTS"] == str(publish).lower()
    assert (believes.get("DYN_ROUTER_KV_OVERLAP_SCORE_CREDIT") == "0") is (target in NO_REUSE)


@pytest.mark.parametrize("target", NO_REUSE)
def test_a_target_without_block_reuse_is_routed_by_load_alone(target: str) -> None:
    believes = environment(containers(components(plan(target))[PICKER])["main"])
    assert believes["DYN_USE_KV_EVENTS"] == "false"
    assert believes["DYN_ROUTER_ASSUME_KV_REUSE"] == "false"
    assert believes["DYN_ROUTER_KV_OVERLAP_SCORE_CREDIT"] == "0"


def test_a_sidecar_never_waits_for_the_model_that_waits_for_its_pod() -> None:
    """The operator merges these probes into HTTP ones of its own: another kind would make the pod invalid."""
    for each in workers(plan("vllm-disagg-h100")):
        sidecar = each["sidecar-frontend"]
        probes = {name: sidecar[f"{name}Probe"] for name in ("startup", "readiness", "liveness")}
        assert {name: probe["httpGet"]["path"] for name, probe in probes.items()} == {
            "startup": "/live",
            "readiness": "/health",
            "liveness": "/live",
        }
        assert {probe["httpGet"]["port"] for probe in probes.values()} == {8000}
        assert not any("exec" in probe for probe in probes.values())


def test_the_picker_waits_longer_than_any_worker_loads() -> None:
    def allowed(container: dict[str, Any]) -> int:
        probe = container["startupProbe"]
        return int(probe["periodSeconds"] * probe["failureThreshold"])

    graph = plan("vllm-disagg-h100")
    picker = containers(components(graph)[PICKER])["main"]
    assert picker["startupProbe"]["grpc"] == {"port": 9003, "service": "inference-extension"}
    assert all(allowed(picker) > allowed(each["main"]) for each in workers(graph))


def test_a_sidecar_takes_the_frontend_s_knobs_but_chooses_no_worker() -> None:
    knobs = {"routerMode": "kv", "extraArgs": ["--router-temperature", "0.5"], "env": {"X": "1"}}
    for each in workers(plan("vllm-disagg-h100", frontend=knobs)):
        sidecar = each["sidecar-frontend"]
        assert after("--router-mode", sidecar["args"])[-1] == "direct"
        assert after("--router-temperature", sidecar["args"]) == ["0.5"]
        assert environment(sidecar)["X"] == "1"


def test_the_picker_s_image_is_never_the_user_s() -> None:
    image = {
        "repository": "r/x",
        "digest": "sha256:" + "0" * 64,
        "runtimeVersion": "1.6.1",
        "pullSecret": "s",
    }
    now = components(plan("vllm-disagg-h100", image=image))
    picker = now.pop(PICKER)
    assert containers(picker)["main"]["image"] == "nvcr.io/nvidia/ai-dynamo/dynamo-frontend:1.6.1"
    assert "runtimeVersionOverride" not in picker
    assert picker["podTemplate"]["spec"]["imagePullSecrets"] == [{"name": "s"}]
    for each in now.values():
        assert {container["image"] for container in containers(each).values()} == {f"r/x@{image['digest']}"}
        assert each["runtimeVersionOverride"] == "1.6.1"


def test_a_graph_that_gets_a_picker_is_made_anew() -> None:
    shapes = [topology(graph_deployment(plan("vllm-disagg-h100", picker=p), "dynamo")) for p in (False, True)]
    assert shapes == [
        "vllm: Frontend, VllmDecodeWorker, VllmPrefillWorker",
        "vllm: Epp, Frontend, VllmDecodeWorker, VllmPrefillWorker",
    ]
