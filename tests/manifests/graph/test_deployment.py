"""What every graph has, whatever its target, release and knobs."""

import json
from typing import Any

import pytest

from facts.releases import LATEST_PATCH, Version
from manifests.graph.compute_domain import compute_domain
from manifests.graph.deployment import graph_deployment
from manifests.graph.topology import topology
from manifests.graph.workers import engine_files
from tests.manifests.graphs import components
from tests.plans import apart, every

AGENTIC_B200 = ("vllm-agg-agentic-b200", "vllm-disagg-agentic-b200")
LOADING_SECONDS = 30 * 60
"""The longest published load."""


LOCAL_COPY = {"localCopy": True}
PLANS = every()


@pytest.mark.parametrize("name", PLANS)
def test_every_container_has_three_probes_and_time_to_load(name: str) -> None:
    for component, (_, _, main) in components(graph_deployment(PLANS[name], "dynamo")).items():
        startup, liveness = main["startupProbe"], main["livenessProbe"]
        allowed = startup["periodSeconds"] * startup["failureThreshold"]
        if component == "Frontend":
            assert main["readinessProbe"]["exec"]["command"][0] == "python3"
        else:
            assert allowed >= 2 * LOADING_SECONDS
            assert liveness["periodSeconds"] * liveness["failureThreshold"] >= 70, "a JIT stall is no death"
            assert main["readinessProbe"]["httpGet"] == {"path": "/health", "port": 9090}


@pytest.mark.parametrize("name", PLANS)
def test_no_pod_has_more_than_it_needs_a_token_or_a_writable_cache(name: str) -> None:
    if PLANS[name].uses_efa:
        pytest.skip("workers over EFA are privileged")
    for component, (service, pod, main) in components(graph_deployment(PLANS[name], "dynamo")).items():
        assert not {"hostNetwork", "hostIPC", "hostPID"} & pod.keys()
        security = main["securityContext"]
        assert security["allowPrivilegeEscalation"] is False
        worker = component != "Frontend"
        of_one_node = worker and PLANS[name].on_one_node and bool(PLANS[name].gpus)
        as_root = worker and PLANS[name].target.name in AGENTIC_B200 and PLANS[name].version < Version(1, 4)
        assert pod["securityContext"]["runAsNonRoot"] is not of_one_node
        assert security["capabilities"]["drop"] == ["ALL"]
        assert security["capabilities"].get("add", []) == [
            *(["IPC_LOCK", "SYS_PTRACE"] if of_one_node else []),
            *(["DAC_OVERRIDE"] if of_one_node or as_root else []),
        ]
        own_user = (0, False) if as_root else (None, None)
        assert (security.get("runAsUser"), security.get("runAsNonRoot")) == own_user
        assert "envFromSecret" not in service
        assert not {"HF_TOKEN", "ETCD_ENDPOINTS", "NATS_SERVER", "DYN_NAMESPACE"} & {
            e["name"] for e in main["env"]
        }
        assert {"name": "HF_HUB_OFFLINE", "value": "1"} in main["env"]
        assert all(mount["readOnly"] for mount in main["volumeMounts"])


@pytest.mark.parametrize("name", PLANS)
def test_graphs_are_kept_apart_by_the_operator_alone(name: str) -> None:
    """No graph names a Dynamo namespace: the operator's own, `<namespace>-<graph>`, holds no earlier registration."""
    for service, _, _ in components(graph_deployment(PLANS[name], "dynamo")).values():
        assert not {"dynamoNamespace", "globalDynamoNamespace"} & service.keys()


def test_prefill_and_decode_never_share_a_side_channel_port() -> None:
    parts = components(graph_deployment(apart("vllm-disagg-h100"), "dynamo"))
    ports = [
        entry["value"]
        for _, _, main in parts.values()
        for entry in main["env"]
        if entry["name"] == "VLLM_NIXL_SIDE_CHANNEL_PORT"
    ]
    assert sorted(ports) == ["5600", "5700"]


@pytest.mark.parametrize(
    ("transport", "near", "spread"),
    [("node", "kubernetes.io/hostname", False), ("efa", "topology.kubernetes.io/zone", True)],
)
def test_workers_are_placed_as_their_transport_needs(transport: str, near: str, spread: bool) -> None:
    graph = apart(
        "vllm-disagg-h100", pool={"nodes": 2}, graph={"transport": transport, "dynamoVersion": "1.4.2"}
    )
    for name, (_, pod, main) in components(graph_deployment(graph, "dynamo")).items():
        if name != "Frontend":
            (term,) = pod["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
            assert term["topologyKey"] == near
            if name == "VllmDecodeWorker" and spread:
                rules = pod["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
                assert [rule["labelSelector"]["matchLabels"]["dynamo-gpt-oss/role"] for rule in rules] == [
                    "prefill"
                ]
            # 32 interfaces for 8 GPUs: four to each, sixteen to a worker of four.
            assert main["resources"]["limits"].get("vpc.amazonaws.com/efa") == ("16" if spread else None)


def test_graphs_that_fill_a_node_each_keep_off_the_others() -> None:
    """Prefill of two graphs on one node would leave both waiting for room for their decode."""
    parts = components(graph_deployment(apart("vllm-disagg-h100"), "dynamo"))
    for worker in ("VllmPrefillWorker", "VllmDecodeWorker"):
        _, pod, _ = parts[worker]
        (term,) = pod["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        assert term["topologyKey"] == "kubernetes.io/hostname"
        assert term["labelSelector"]["matchExpressions"] == [
            {"key": "dynamo-gpt-oss/workers", "operator": "Exists"},
            {"key": "dynamo-gpt-oss/workers", "operator": "NotIn", "values": ["gpt-oss-disagg"]},
        ]
    half = {"tensorParallel": 2}
    small = apart("vllm-disagg-h100", graph={"prefill": half, "decode": half})
    _, pod, _ = components(graph_deployment(small, "dynamo"))["VllmDecodeWorker"]
    assert "podAntiAffinity" not in pod["affinity"], "two of these share a node"


def test_a_changed_engine_file_restarts_the_workers_of_its_role_alone() -> None:
    def digests(**decode: Any) -> dict[str, str]:
        parts = components(graph_deployment(apart("trtllm-disagg-8k", graph={"decode": decode}), "dynamo"))
        return {
            name: component["podTemplate"]["metadata"]["annotations"]["dynamo-gpt-oss/engine-files"]
            for name, (component, _, _) in parts.items()
            if name != "Frontend"
        }

    before, after = digests(), digests(maxBatchSize=640)
    assert before["TrtllmPrefillWorker"] == after["TrtllmPrefillWorker"]
    assert before["TrtllmDecodeWorker"] != after["TrtllmDecodeWorker"]


def test_knobs_reach_the_engine_where_the_target_puts_its_settings() -> None:
    said = {"maxBatchSize": 64, "freeGpuMemoryFraction": 0.7, "maxNumTokens": 8192, "env": {"X": "1"}}
    said["extraArgs"] = ["--max-beam-width", "1"]
    by_argument = apart("trtllm-disagg-b200", graph={"decode": {**said, "chunkedPrefill": True}})
    _, _, main = components(graph_deployment(by_argument, "dynamo"))["TrtllmDecodeWorker"]
    text = " ".join(main["args"])
    assert "--max-num-tokens 8192 --max-batch-size 64 --free-gpu-memory-fraction 0.7" in text
    assert text.endswith("--max-beam-width 1")
    assert {"name": "X", "value": "1"} in main["env"]
    assert "enable_chunked_prefill: true" in engine_files(by_argument)["decode.yaml"]

    by_file = apart("trtllm-disagg-8k", graph={"decode": said})
    _, _, main = components(graph_deployment(by_file, "dynamo"))["TrtllmDecodeWorker"]
    assert "--max-batch-size" not in main["args"]
    assert "max_batch_size: 64\n" in engine_files(by_file)["decode.yaml"]
    assert "free_gpu_memory_fraction: 0.7\n" in engine_files(by_file)["decode.yaml"]


def test_a_draft_model_is_its_pinned_folder_or_what_the_cache_calls_main() -> None:
    commit = "a" * 40
    for knobs, path in (
        ({}, "nvidia/gpt-oss-120b-Eagle3-v3"),
        (
            {"draftRevision": commit},
            f"/opt/models/hub/models--nvidia--gpt-oss-120b-Eagle3-v3/snapshots/{commit}",
        ),
    ):
        graph = apart("vllm-agg-agentic-b200", graph=knobs)
        _, _, main = components(graph_deployment(graph, "dynamo"))["VllmWorker"]
        assert f'"model":"{path}"' in main["args"][main["args"].index("--speculative-config") + 1]
        assert [weights.model for weights in graph.cache.weights] == [
            "openai/gpt-oss-120b",
            "nvidia/gpt-oss-120b-Eagle3-v3",
        ]


def test_an_image_is_a_tag_a_digest_or_the_release_s_own() -> None:
    digest = "sha256:" + "0" * 64
    for image, written in (
        ({}, "nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:1.4.2"),
        ({"tag": "1.4.2-cuda13"}, "nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:1.4.2-cuda13"),
        ({"repository": "r/x", "tag": "1.4.2"}, "r/x:1.4.2"),
        ({"repository": "r/x", "digest": digest, "runtimeVersion": "1.4.2"}, f"r/x@{digest}"),
    ):
        manifest = graph_deployment(apart("trtllm-disagg-b200", graph={"image": image}), "dynamo")
        assert {main["image"] for _, _, main in components(manifest).values()} == {written}


@pytest.mark.parametrize(("platform", "said"), [("1.2.1", None), ("1.3.1", None), ("1.4.2", "1.2.1")])
def test_the_release_of_an_image_is_said_to_operators_that_know_the_field(
    platform: str, said: str | None
) -> None:
    image = {"tag": "mine", "runtimeVersion": "1.2.1"}
    values = {"graph": {"image": image, "dynamoVersion": "1.2.1"}, "platform": {"version": platform}}
    manifest = graph_deployment(apart("trtllm-disagg-b200", **values), "dynamo")
    assert {component.get("runtimeVersionOverride") for component, _, _ in components(manifest).values()} == {
        said
    }


@pytest.mark.parametrize(
    ("target", "transport", "connector"),
    [
        ("vllm-disagg-h100", "tcp", {"kv_buffer_device": "cpu"}),
        ("vllm-disagg-h100", "node", {}),
        ("vllm-disagg-h100", "efa", {"kv_connector_extra_config": {"backends": ["LIBFABRIC"]}}),
        # The recipe keeps the hybrid cache manager: its buffers stay on the GPU.
        ("vllm-disagg-agentic-b200", "tcp", {}),
    ],
)
def test_vllm_s_connector_fits_the_transport(target: str, transport: str, connector: dict[str, Any]) -> None:
    graph = apart(target, pool={"nodes": 2}, graph={"transport": transport, "dynamoVersion": "1.4.2"})
    parts = components(graph_deployment(graph, "dynamo"))
    for name, role in (("VllmPrefillWorker", "kv_producer"), ("VllmDecodeWorker", "kv_consumer")):
        args = parts[name][2]["args"]
        said = json.loads(args[args.index("--kv-transfer-config") + 1])
        assert said == {"kv_connector": "NixlConnector", "kv_role": role, **connector}


@pytest.mark.parametrize("version", LATEST_PATCH.values())
def test_sglang_hands_kv_cache_over_on_every_address_of_the_pod(version: str) -> None:
    parts = components(
        graph_deployment(apart("sglang-disagg-h100", graph={"dynamoVersion": version}), "dynamo")
    )
    for name in ("SglangPrefillWorker", "SglangDecodeWorker"):
        args = parts[name][2]["args"]
        assert args[args.index("--host") + 1] == "0.0.0.0", "SGLang's own is 127.0.0.1"
        assert args[args.index("--disaggregation-bootstrap-port") + 1] == "12345"


@pytest.mark.parametrize(("transport", "backend"), [("node", "UCX"), ("efa", "NIXL")])
def test_tensorrt_llm_s_transceiver_fits_the_transport(transport: str, backend: str) -> None:
    graph = apart(
        "trtllm-disagg-b200", pool={"nodes": 2}, graph={"transport": transport, "dynamoVersion": "1.4.2"}
    )
    assert all(f"backend: {backend}\n" in text for text in engine_files(graph).values())


def test_every_graph_on_gb200_has_a_compute_domain_that_follows_its_pods() -> None:
    pool = {"instanceType": "p6e-gb200.36xlarge", "nodes": 2}
    spread = apart("trtllm-disagg-8k", pool=pool, graph={"dynamoVersion": "1.3.1", "transport": "efa"})
    domain = compute_domain(spread, "dynamo")
    template = domain["spec"]["channel"]["resourceClaimTemplate"]["name"]
    assert domain["spec"]["numNodes"] == 0
    for name, (_, pod, main) in components(graph_deployment(spread, "dynamo")).items():
        claims = [claim["resourceClaimTemplateName"] for claim in pod.get("resourceClaims", ())]
        assert claims == ([] if name == "Frontend" else [template])
        assert ("claims" in main.get("resources", {})) is (name != "Frontend")
    assert compute_domain(apart("trtllm-agg-gb200"), "dynamo")["spec"]["numNodes"] == 1
    assert not apart("trtllm-disagg-8k").needs_compute_domain


@pytest.mark.parametrize("version", ["0.4.1", "1.2.1", "1.6.1"])
def test_a_local_copy_stands_where_the_shared_cache_stood(version: str) -> None:
    knobs, target = {"graph": {"dynamoVersion": version}}, "trtllm-disagg-b200"
    target += "-0.4" if version == "0.4.1" else ""
    plain = graph_deployment(apart(target, **knobs), "dynamo")
    copied = graph_deployment(apart(target, cache=LOCAL_COPY, **knobs), "dynamo")
    assert topology(copied) == topology(plain), "an update of the pods, not another graph"
    before, after = components(plain), components(copied)
    assert after["Frontend"] == before["Frontend"]
    for name in ("TrtllmPrefillWorker", "TrtllmDecodeWorker"):
        (_, pod, main), (_, _, as_before) = after[name], before[name]
        assert {**main, "volumeMounts": 0} == {**as_before, "volumeMounts": 0}
        places = [[mount["mountPath"] for mount in each["volumeMounts"]] for each in (main, as_before)]
        assert places[0] == places[1]
        (copy,) = pod["initContainers"]
        assert copy["image"] == main["image"]
        assert copy["name"] != "runtime", "the operator takes that one for the engine"
        assert copy["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        (source, target, script) = copy["volumeMounts"]
        assert volumes[source["name"]]["persistentVolumeClaim"]["readOnly"]
        assert source["readOnly"]
        assert {**target, "readOnly": True} == main["volumeMounts"][0]
        assert volumes[script["name"]]["configMap"]["name"] == "gpt-oss-disagg-copy-weights"
        size = volumes[target["name"]]["emptyDir"]["sizeLimit"]
        assert copy["resources"] == {"requests": {"ephemeral-storage": size}}


def test_a_copy_holds_every_model_that_the_engine_loads_and_has_room_for_it() -> None:
    found = {}
    for target in ("trtllm-disagg-b200", "vllm-agg-agentic-b200"):
        parts = components(graph_deployment(apart(target, cache=LOCAL_COPY), "dynamo"))
        (_, pod, _) = next(part for name, part in parts.items() if name != "Frontend")
        (copy,) = pod["initContainers"]
        (models,) = (json.loads(entry["value"]) for entry in copy["env"] if entry["name"] == "MODELS")
        found[target] = [each["model"] for each in models], copy["resources"]["requests"]["ephemeral-storage"]
    assert found == {
        "trtllm-disagg-b200": (["openai/gpt-oss-120b"], "67Gi"),
        "vllm-agg-agentic-b200": (["openai/gpt-oss-120b", "nvidia/gpt-oss-120b-Eagle3-v3"], "70Gi"),
    }
