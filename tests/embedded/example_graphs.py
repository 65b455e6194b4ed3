"""`gpt-oss-disagg` with the fields that rendered graphs have, in both API versions, and small changes to it."""

import copy
from typing import Any

Graph = dict[str, Any]

IMAGE = "nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:1.3.1"
GPU_TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
_ENV = [{"name": "TRTLLM_ENABLE_PDL", "value": "1"}, {"name": "HF_HOME", "value": "/opt/models"}]
_CACHE = {"name": "model-cache", "persistentVolumeClaim": {"claimName": "model-cache"}}
_MOUNTS = [
    {"name": "model-cache", "mountPath": "/opt/models"},
    {"name": "llm-config", "mountPath": "/opt/dynamo/configs", "readOnly": True},
]
_FRONTEND = ["python3 -m dynamo.frontend --router-mode round-robin --http-port 8000"]


def _worker_spec(role: str, gpu_model: str) -> dict[str, Any]:
    """Pod spec and main container of a worker, as both versions have them."""
    term = {"key": "nvidia.com/gpu.product", "operator": "In", "values": [gpu_model]}
    required = {"nodeSelectorTerms": [{"matchExpressions": [term]}]}
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}},
        "tolerations": [GPU_TOLERATION],
        "volumes": [_CACHE, {"name": "llm-config", "configMap": {"name": "llm-config"}}],
        "mainContainer": {
            "image": IMAGE,
            "command": ["/bin/sh", "-c"],
            "args": [f"python3 -m dynamo.trtllm --disaggregation-mode {role}"],
            "env": _ENV,
            "volumeMounts": _MOUNTS,
            "workingDir": "/workspace/examples/backends/trtllm",
        },
    }


def _alpha_worker(role: str, gpus: int, gpu_model: str) -> dict[str, Any]:
    return {
        "componentType": "worker",
        "subComponentType": role,
        "replicas": 1,
        "sharedMemory": {"size": "80Gi"},
        "resources": {"limits": {"gpu": str(gpus)}, "requests": {"gpu": str(gpus), "cpu": "8"}},
        "extraPodSpec": _worker_spec(role, gpu_model),
    }


def alpha(name: str = "gpt-oss-disagg", decode_gpus: int = 4, gpu_model: str = "NVIDIA-B200") -> Graph:
    """v1alpha1: frontend, prefill on 4 GPUs, decode on `decode_gpus`."""
    return {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "backendFramework": "trtllm",
            "services": {
                "Frontend": {
                    "componentType": "frontend",
                    "replicas": 1,
                    "extraPodSpec": {
                        "mainContainer": {"image": IMAGE, "command": ["/bin/sh", "-c"], "args": _FRONTEND}
                    },
                },
                "TrtllmPrefillWorker": _alpha_worker("prefill", 4, gpu_model),
                "TrtllmDecodeWorker": _alpha_worker("decode", decode_gpus, gpu_model),
            },
        },
    }


def _beta_worker(name: str, role: str, gpus: int, gpu_model: str) -> dict[str, Any]:
    spec = _worker_spec(role, gpu_model)
    main = spec.pop("mainContainer") | {
        "name": "main",
        "resources": {"limits": {"nvidia.com/gpu": gpus}, "requests": {"nvidia.com/gpu": gpus, "cpu": "8"}},
    }
    spec["containers"] = [main]
    return {
        "name": name,
        "type": role,
        "replicas": 1,
        "sharedMemorySize": "80Gi",
        "podTemplate": {"spec": spec},
    }


def beta(name: str = "gpt-oss-disagg", decode_gpus: int = 4, gpu_model: str = "NVIDIA-B200") -> Graph:
    """v1beta1: the same graph."""
    frontend = {"name": "main", "image": IMAGE, "command": ["/bin/sh", "-c"], "args": _FRONTEND}
    return {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "backendFramework": "trtllm",
            "components": [
                {
                    "name": "Frontend",
                    "type": "frontend",
                    "replicas": 1,
                    "podTemplate": {"spec": {"containers": [frontend]}},
                },
                _beta_worker("TrtllmPrefillWorker", "prefill", 4, gpu_model),
                _beta_worker("TrtllmDecodeWorker", "decode", decode_gpus, gpu_model),
            ],
        },
    }


def stored(graph: Graph) -> Graph:
    """The graph as the API server hands it out."""
    return {**graph, "metadata": {**graph["metadata"], "uid": "11111111-2222", "generation": 3}}


def changed(graph: Graph, path: str, value: Any = None) -> Graph:
    """A copy with one value set, or removed for None; path: like a JSON pointer, `~1` for a slash."""
    result = copy.deepcopy(graph)
    *parents, last = [int(key) if key.isdigit() else key.replace("~1", "/") for key in path.split("/")]
    node: Any = result
    for key in parents:
        node = node[key] if isinstance(key, int) else node.setdefault(key, {})
    if value is None:
        del node[last]
    else:
        node[last] = value
    return result
