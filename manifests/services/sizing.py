"""A DynamoGraphDeploymentRequest: asks Dynamo's profiler which graph would hold the latencies on the pool. Pure."""

import hashlib
import json
from typing import Any

from facts.hardware import GPU_MEMORY_MIB
from facts.releases import Version
from facts.weights import MODEL_ID
from manifests import objects
from manifests.gpu_nodes import GPU_TAINT
from manifests.graph.placement import cpu_affinity
from manifests.names import CACHE_CLAIM, CACHE_PATH, MODEL_PATH
from manifests.security import container_security
from targets.images import PLANNER_REPOSITORY
from targets.plan import GraphPlan
from targets.sizing import GPU_SKU, Sizing

DEADLINE_SECONDS = 30 * 60
"""For a computation of a minute and the pull of its image. Without a deadline a pod that cannot start never fails."""


def sizing_request(sizing: Sizing, plan: GraphPlan, namespace: str, platform: Version) -> dict[str, Any]:
    """The request, in v1beta1. platform: the operator's version, whose profiler answers.

    autoApply is off: with it the operator would deploy the answer as a graph that no stack knows and that stays, on
    paid GPUs, when the request is deleted. `thorough` would do so while it measures.
    """
    spec = {
        "model": MODEL_ID,
        "backend": plan.target.engine.value,
        "image": f"{PLANNER_REPOSITORY}:{platform}",
        "searchStrategy": "rapid",
        "autoApply": False,
        "sla": {"ttft": _milliseconds(sizing.ttft), "itl": _milliseconds(sizing.itl)},
        "workload": _workload(sizing),
        "hardware": _hardware(plan),
        "modelCache": {
            "pvcName": plan.cache.claim or CACHE_CLAIM,
            "pvcMountPath": CACHE_PATH,
            "pvcModelPath": MODEL_PATH.removeprefix(f"{CACHE_PATH}/"),
        },
        "overrides": {"profilingJob": _profiling_job(plan)},
    }
    # A request cannot be changed once profiling began, and a successor of its name could be given the results of the
    # old one's Job. The name is short since the graph that is proposed is named after it, within Grove's limit.
    digest = hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:8]
    kind = "DynamoGraphDeploymentRequest"
    return objects.manifest("nvidia.com/v1beta1", kind, f"sizing-{digest}", namespace, spec=spec)


def _workload(sizing: Sizing) -> dict[str, Any]:
    load = {"concurrency": sizing.concurrency, "requestRate": sizing.request_rate}
    return {
        "isl": sizing.isl,
        "osl": sizing.osl,
        **{key: value for key, value in load.items() if value is not None},
    }


def _hardware(plan: GraphPlan) -> dict[str, Any]:
    """The pool, all six fields: for any that is missing the operator looks at GPU nodes, which may not be there yet."""
    instance = plan.pool.instance
    assert instance.gpu is not None, "sizing_problems names targets without GPUs"
    return {
        "gpuSku": GPU_SKU[instance.gpu],
        "vramMb": GPU_MEMORY_MIB[instance.gpu],
        "totalGpus": plan.pool.gpus,
        "numGpusPerNode": instance.gpus,
        "interconnect": "nvlink",
        "rdma": plan.uses_efa,
    }


def _profiling_job(plan: GraphPlan) -> dict[str, Any]:
    """What is merged into the operator's Job, which runs on CPUs."""
    profiler = {
        "name": "profiler",
        # The operator takes it from a Secret that must be there, and shows it in the environment. The weights are in
        # the cache, so none is needed.
        "env": [{"name": "HUGGING_FACE_HUB_TOKEN", "value": ""}],
        # 0.5 GiB were seen; without a request it would be the first to go when a node runs short.
        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "4Gi"}},
        "securityContext": container_security(),
    }
    pod = objects.pod(
        [plan.image.pull_secret],
        security={"seccompProfile": {"type": "RuntimeDefault"}},
        containers=[profiler],
        affinity=cpu_affinity(plan),
        # The profiler gives them to the graph that it proposes.
        tolerations=[GPU_TAINT.toleration],
    )
    return {"activeDeadlineSeconds": DEADLINE_SECONDS, "template": {"spec": pod}}


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 3)
