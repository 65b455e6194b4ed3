"""What workers are given for each transport: rights, devices, environment, placement, memory."""

from typing import Any

import pytest

from manifests.graph.deployment import graph_deployment
from manifests.graph.workers import engine_files
from targets.plan import GraphPlan
from tests.plans import resolved

H100, B200, GB200 = "p5.48xlarge", "p6-b200.48xlarge", "p6e-gb200.36xlarge"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
CAPABILITIES = {"drop": ["ALL"], "add": ["IPC_LOCK", "SYS_PTRACE", "SYS_RESOURCE", "DAC_OVERRIDE"]}
NODE = ["IPC_LOCK", "SYS_PTRACE", "DAC_OVERRIDE"]
"""The last for root to write what the image's user owns."""


def plan(target: str, instance: str, nodes: int = 2, *, efa: bool = True, **knobs: Any) -> GraphPlan:
    return resolved(target, instance, nodes, efa=efa, **{"dynamoVersion": "1.4.2", **knobs})


def workers(graph: GraphPlan) -> dict[str, dict[str, Any]]:
    """PodSpecs of the workers by role."""
    components = graph_deployment(graph, "dynamo")["spec"]["components"]
    return {
        each["type"]: each["podTemplate"]["spec"]
        for each in components
        if each["type"] in ("worker", "prefill", "decode")
    }


def env(pod: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["value"] for each in pod["containers"][0]["env"]}


@pytest.mark.parametrize(
    ("given", "user", "security"),
    [
        ({}, 0, {"privileged": True}),
        ({"grants": "capabilities"}, 0, {"allowPrivilegeEscalation": False, "capabilities": CAPABILITIES}),
    ],
)
def test_workers_over_efa_are_root(given: dict[str, Any], user: int, security: dict[str, Any]) -> None:
    graph = plan("vllm-disagg-h100", H100, transport="efa", kvTransfer=given)
    for pod in workers(graph).values():
        assert pod["securityContext"]["runAsUser"] == user
        assert pod["securityContext"]["runAsNonRoot"] is False
        assert pod["containers"][0]["securityContext"] == security
    frontend = graph_deployment(graph, "dynamo")["spec"]["components"][0]["podTemplate"]["spec"]
    assert frontend["securityContext"]["runAsUser"] == 1000


def test_over_efa_decode_keeps_off_the_nodes_of_prefill_of_its_own_graph() -> None:
    graph = plan("vllm-disagg-h100", H100, transport="efa")
    template = graph_deployment(graph, "dynamo")["spec"]["components"][1]["podTemplate"]
    assert template["metadata"]["labels"] == {
        "dynamo-gpt-oss/role": "prefill",
        "dynamo-gpt-oss/workers": "gpt-oss-disagg",
    }
    (rule,) = workers(graph)["decode"]["affinity"]["podAntiAffinity"][REQUIRED]
    assert rule["labelSelector"] == {"matchLabels": template["metadata"]["labels"]}
    assert rule["topologyKey"] == "kubernetes.io/hostname"
    assert "podAntiAffinity" not in workers(graph)["prefill"]["affinity"], "the scheduler holds it both ways"


def test_over_efa_the_guides_environment_is_there() -> None:
    for pod in workers(plan("trtllm-disagg-b200", B200, transport="efa")).values():
        assert {
            "FI_PROVIDER": "efa",
            "FI_EFA_USE_DEVICE_RDMA": "1",
            "FI_EFA_ENABLE_SHM_TRANSFER": "0",
            "LD_LIBRARY_PATH": "/opt/amazon/efa/lib:/usr/local/lib:/usr/lib",
        }.items() <= env(pod).items()


@pytest.mark.parametrize(
    ("said", "backend"), [(None, "LIBFABRIC"), ("ucx", "UCX"), ("libfabric", "LIBFABRIC")]
)
def test_every_engine_hears_of_nixl_s_backend_over_efa(said: str | None, backend: str) -> None:
    knobs: dict[str, Any] = {"transport": "efa", "kvTransfer": {"backend": said} if said else {}}
    trtllm = plan("trtllm-disagg-b200", B200, **knobs)
    assert env(workers(trtllm)["decode"])["TRTLLM_NIXL_KVCACHE_BACKEND"] == backend
    assert all("backend: NIXL\n" in text for text in engine_files(trtllm).values())
    sglang = workers(plan("sglang-disagg-h100", H100, **knobs))["decode"]
    assert env(sglang)["SGLANG_DISAGGREGATION_NIXL_BACKEND"] == backend
    vllm = workers(plan("vllm-disagg-h100", H100, **knobs))["decode"]
    assert f'"backends":["{backend}"]' in " ".join(vllm["containers"][0]["args"])


def test_a_decode_worker_of_several_nodes_takes_tensorrt_llm_s_own_plugins() -> None:
    knobs: dict[str, Any] = {"transport": "efa", "decode": {"tensorParallel": 8, "nodes": 2}}
    made = workers(plan("trtllm-disagg-b200", B200, 3, **knobs))
    assert env(made["decode"])["NIXL_PLUGIN_DIR"].endswith("tensorrt_llm/libs/nixl/plugins")
    assert "NIXL_PLUGIN_DIR" not in env(made["prefill"])


def test_infiniband_asks_for_a_device_a_gpu_by_the_cluster_s_own_name_for_it() -> None:
    knobs: dict[str, Any] = {"transport": "rdma", "kvTransfer": {"rdmaResource": "nvidia.com/mlnxnics"}}
    for pod in workers(plan("vllm-disagg-h100", H100, efa=False, **knobs)).values():
        main = pod["containers"][0]
        assert main["resources"]["limits"] == {"nvidia.com/gpu": "4", "nvidia.com/mlnxnics": "4"}
        assert main["securityContext"]["capabilities"] == CAPABILITIES
        assert env(pod)["UCX_IB_ADDR_TYPE"] == "eth"
        assert main["image"].endswith("vllm-runtime:1.4.2")
        assert "kv_buffer_device" not in " ".join(main["args"])


def test_pods_of_one_node_get_what_upstream_s_recipe_of_that_form_grants_and_only_the_workers() -> None:
    """Dynamo PR#12070: root, SYS_PTRACE and IPC_LOCK, and buffers on the GPU."""
    graph = plan("vllm-disagg-h100", H100, 1, transport="node")
    for pod in workers(graph).values():
        main = pod["containers"][0]
        assert pod["securityContext"]["runAsUser"] == 0
        assert main["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": NODE}
        assert main["securityContext"]["allowPrivilegeEscalation"] is False
        assert not {"hostIPC", "hostPID", "hostNetwork"} & pod.keys()
        assert '"kv_buffer_device":"cpu"' not in " ".join(main["args"])
    frontend = graph_deployment(graph, "dynamo")["spec"]["components"][0]["podTemplate"]["spec"]
    assert frontend["securityContext"]["runAsUser"] == 1000
    least = plan("vllm-disagg-h100", H100, 1, transport="node", kvTransfer={"grants": "none"})
    for pod in workers(least).values():
        assert pod["securityContext"]["runAsUser"] == 1000
        assert pod["containers"][0]["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_tcp_is_given_nothing() -> None:
    for pod in workers(plan("trtllm-disagg-b200", B200, efa=False, transport="tcp")).values():
        assert pod["securityContext"]["runAsUser"] == 1000
        assert pod["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "4"}
        assert env(pod)["UCX_TLS"].startswith("tcp,")


def test_an_nvlink_domain_is_one_clique_with_fabric_handles() -> None:
    for pod in workers(plan("trtllm-disagg-8k", GB200, transport="nvlink")).values():
        (rule,) = pod["affinity"]["podAffinity"][REQUIRED]
        assert rule["topologyKey"] == "nvidia.com/gpu.clique"
        assert env(pod)["UCX_CUDA_IPC_ENABLE_MNNVL"] == "y"
        assert pod["containers"][0]["resources"]["claims"] == [{"name": "compute-domain-channel"}]


@pytest.mark.parametrize("target", ["trtllm-disagg-8k", "trtllm-agg-gb200"])
def test_every_worker_on_gb200_has_the_nccl_settings_that_it_requires(target: str) -> None:
    for pod in workers(plan(target, GB200)).values():
        names = ("NCCL_MNNVL_ENABLE", "NCCL_CUMEM_ENABLE", "NCCL_NVLS_ENABLE", "NVIDIA_GDRCOPY")
        assert [env(pod)[name] for name in names] == ["1"] * 4


def test_workers_that_share_a_node_do_not_see_each_others_gpus() -> None:
    for pod in workers(plan("vllm-disagg-agentic-h200", "p5en.48xlarge", 2, transport="efa")).values():
        assert pod["containers"][0]["securityContext"]["capabilities"]["add"][0] == "IPC_LOCK"
        assert "privileged" not in pod["containers"][0]["securityContext"]


@pytest.mark.parametrize("transport", ["rdma", "tcp"])
def test_nixl_counts_bytes_only_where_it_moves_them(transport: str) -> None:
    ucx = workers(plan("trtllm-disagg-b200", "p6-b200.48xlarge", 2, efa=False, transport=transport))
    assert all("NIXL_TELEMETRY_ENABLE" not in env(pod) for pod in ucx.values())


def test_nixl_counts_bytes_where_a_pod_has_one_agent_alone() -> None:
    over_efa = workers(plan("trtllm-disagg-8k", GB200, 2, transport="efa"))
    counted = {name: "NIXL_TELEMETRY_ENABLE" in env(pod) for name, pod in over_efa.items()}
    assert sorted(counted.values()) == [False, True], "decode has four ranks, which want one port"
