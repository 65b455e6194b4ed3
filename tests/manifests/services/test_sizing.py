"""The question to Dynamo's profiler: what it asks, what it never does, and that another question is another object."""

from dataclasses import replace
from typing import Any

import pytest

from facts.engines import Engine
from facts.hardware import INSTANCE_TYPES, Gpu
from facts.releases import Version
from manifests.names import CACHE_CLAIM, MODEL_PATH
from manifests.services.sizing import sizing_request
from stacks.rules.sizing import known_since
from targets.catalogue import TARGETS
from targets.plan import GraphPlan
from targets.sizing import GPU_SKU, Sizing
from tests.plans import resolved

QUESTION = Sizing(ttft=2.0, itl=0.03, isl=8192, osl=1024, concurrency=256)
PLATFORM = Version(1, 6, 1)
ON_EVERY_GPU = [
    resolved(target, instance, 2)
    for target in TARGETS.values()
    for instance in INSTANCE_TYPES.values()
    if instance.gpu in target.gpu_models and instance.gpus >= 4
]
B200 = next(plan for plan in ON_EVERY_GPU if plan.target.name == "trtllm-disagg-b200")
SUFFIX_OF_THE_PROPOSED_GRAPH = "-dgd"
LONGEST_COMPONENT = "TRTLLMWorker"
"""Of the graphs that the profiler proposes, in the reference of the request."""


def request(question: Sizing = QUESTION, plan: GraphPlan = B200, platform: Version = PLATFORM) -> Any:
    return sizing_request(question, plan, "dynamo", platform)


def pod(plan: GraphPlan = B200) -> Any:
    return request(plan=plan)["spec"]["overrides"]["profilingJob"]["template"]["spec"]


def test_there_is_a_plan_for_every_gpu() -> None:
    assert {plan.pool.instance.gpu for plan in ON_EVERY_GPU} == set(Gpu)


@pytest.mark.parametrize(
    "plan", ON_EVERY_GPU, ids=lambda plan: f"{plan.target.name}-{plan.pool.instance.name}"
)
def test_nothing_is_deployed_or_measured_on_gpus(plan: GraphPlan) -> None:
    """What the operator deployed by itself would stay when the request goes, on nodes that are paid for."""
    spec = request(plan=plan)["spec"]
    assert (spec["autoApply"], spec["searchStrategy"]) == (False, "rapid")
    assert "features" not in spec
    assert "dgd" not in spec["overrides"]
    assert "nvidia.com/gpu" not in str(pod(plan)["containers"])


def test_it_asks_about_the_pool_whether_its_nodes_are_there_or_not() -> None:
    spec = request()["spec"]
    assert (spec["model"], spec["backend"]) == ("openai/gpt-oss-120b", "trtllm")
    assert spec["hardware"] == {
        "gpuSku": "b200_sxm",
        "vramMb": 183359,
        "totalGpus": 16,
        "numGpusPerNode": 8,
        "interconnect": "nvlink",
        "rdma": False,
    }


def test_kv_cache_over_efa_is_rdma() -> None:
    plan = resolved(B200.target, pool=B200.pool, transport="efa")
    assert request(plan=plan)["spec"]["hardware"]["rdma"] is True


def test_seconds_become_milliseconds() -> None:
    question = replace(QUESTION, ttft=0.35, itl=0.0125)
    assert request(question)["spec"]["sla"] == {"ttft": 350, "itl": 12.5}


@pytest.mark.parametrize(
    ("load", "said"),
    [
        ({"concurrency": 256}, {"concurrency": 256}),
        ({"concurrency": None, "request_rate": 2.5}, {"requestRate": 2.5}),
        ({"concurrency": None}, {}),
    ],
)
def test_a_load_is_said_in_one_way_or_not_at_all(load: Any, said: Any) -> None:
    workload = request(replace(QUESTION, **load))["spec"]["workload"]
    assert workload == {"isl": 8192, "osl": 1024, **said}


def test_it_reads_the_pinned_revision_from_the_cache() -> None:
    cache = request()["spec"]["modelCache"]
    assert cache["pvcName"] == CACHE_CLAIM
    assert f"{cache['pvcMountPath']}/{cache['pvcModelPath']}" == MODEL_PATH


def test_another_question_is_another_request() -> None:
    others = [
        request(replace(QUESTION, concurrency=512)),
        request(replace(QUESTION, itl=0.02)),
        request(platform=Version(1, 4, 2)),
        request(plan=ON_EVERY_GPU[0]),
    ]
    names = {each["metadata"]["name"] for each in (request(), *others)}
    assert len(names) == 1 + len(others)
    assert request() == request()


def test_its_name_leaves_room_for_the_graph_that_is_named_after_it() -> None:
    """The profiler refuses names of graph and component that are longer than 45 characters together."""
    proposed = request()["metadata"]["name"] + SUFFIX_OF_THE_PROPOSED_GRAPH
    assert len(proposed + LONGEST_COMPONENT) <= 45


def test_the_profiler_gets_no_token_and_no_rights() -> None:
    """The operator's variable of this name takes the token from a Secret; ours replaces it."""
    (profiler,) = pod()["containers"]
    assert profiler["name"] == "profiler"
    assert profiler["env"] == [{"name": "HUGGING_FACE_HUB_TOKEN", "value": ""}]
    assert profiler["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert "imagePullSecrets" not in pod()


def test_its_image_is_pulled_with_the_graphs_secret() -> None:
    plan = resolved(B200.target, pool=B200.pool, image={"pullSecret": "ngc"})
    assert pod(plan)["imagePullSecrets"] == [{"name": "ngc"}]


def test_a_pod_that_never_starts_ends_the_request() -> None:
    assert request()["spec"]["overrides"]["profilingJob"]["activeDeadlineSeconds"] == 1800


def test_what_it_proposes_may_run_on_the_gpu_nodes() -> None:
    """The profiler hands the Job's tolerations on; the Job itself is kept off GPU nodes where there are others."""
    assert pod()["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    (preferred,) = pod()["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert preferred["preference"]["matchExpressions"][0]["operator"] == "DoesNotExist"


@pytest.mark.parametrize("engine", [Engine.VLLM, Engine.SGLANG, Engine.TRTLLM])
@pytest.mark.parametrize("gpu", Gpu)
def test_only_trtllm_on_single_nodes_is_known_before_1_6(engine: Engine, gpu: Gpu) -> None:
    assert gpu in GPU_SKU
    early = engine is Engine.TRTLLM and gpu in {Gpu.H100, Gpu.H200, Gpu.B200}
    assert known_since(engine, gpu) == (Version(1, 4) if early else Version(1, 6))
