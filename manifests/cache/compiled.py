"""What engines compile and tune at start, in a folder of the node that outlives their pods. Pure.

One folder a key: image, GPU and all that is said to the engine. Several pods may have one key. What they write comes
whole by its name: files of torch.compile, Triton and vLLM by renaming, FlashInfer's kernels under its lock.
TensorRT-LLM locks its file, too, but every rank adds its own part, and a file that lacks one ends the engine: so
`pods/compiled_cache.py` looks at it whenever an engine starts, and engines of several ranks that may meet keep none.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from facts.engines import Engine
from facts.releases import Version
from manifests import objects, pod_scripts
from manifests.cache import local_copy
from manifests.command import Command, variables
from manifests.security import container_security, worker_pod_security
from targets.parts import WorkerPlan
from targets.plan import GraphPlan

PATH = "/opt/compiled"
"""Where pods of workers have the node's folder."""
VOLUME = "compiled"
_SCRIPT = "compiled_cache.py"
_SCRIPT_PATH = "/opt/compiled-script"
_SCRIPT_VOLUME = "compiled-script"
_OLDEST = Version(0, 4)
_BY_RANKS = "TLLM_AUTOTUNER_CACHE_PATH"
"""A file to which each rank of an engine adds its part: what one engine has begun another one reads."""
_VARIABLES: Mapping[Engine, tuple[tuple[str, str, Version], ...]] = {
    # vllm/envs.py; torch.compile's and, from 0.23 on, FlashInfer's tuned kernels go below it.
    Engine.VLLM: (("VLLM_CACHE_ROOT", "vllm", _OLDEST),),
    # sglang/srt/compilation/backend.py of 0.5.9, later srt/environ.py; tuned kernels from 0.5.14 on; then TVM's, too.
    Engine.SGLANG: (
        ("SGLANG_CACHE_DIR", "sglang", Version(1, 0)),
        ("TVM_FFI_CACHE_DIR", "tvm-ffi", Version(1, 3)),
    ),
    # tensorrt_llm/_torch/pyexecutor/model_engine.py: a file. 1.0.0rc6 does not read it; sources of later ones were
    # read, but not the wheels of 1.3's release candidates.
    Engine.TRTLLM: ((_BY_RANKS, "autotuner.json", Version(1, 0)),),
}
"""Variables of the engines, their place below the key, and the first Dynamo release whose engine reads each."""
_OF_LIBRARIES = (
    ("TRITON_CACHE_DIR", "triton", _OLDEST),
    ("TORCHINDUCTOR_CACHE_DIR", "inductor", _OLDEST),
    # flashinfer/jit/env.py. Its kernels that are compiled already are a package of its own since then, not in the home.
    ("FLASHINFER_WORKSPACE_BASE", "flashinfer", Version(1, 0)),
)
"""Those of the libraries that all of them use."""


def is_kept(plan: GraphPlan) -> bool:
    """Whether a graph's workers compile anything, and it is to be kept."""
    return plan.cache.compiled_folder is not None and bool(plan.target.gpu_models)


def key(plan: GraphPlan, planned: WorkerPlan, command: Command) -> str:
    """A digest of all that may change what is compiled. command: of a worker at position 0, whose ports all have."""
    said: Mapping[str, Any] = {
        "image": plan.image.reference,
        "build": None if plan.image.build is None else plan.image.build.model_dump(mode="json"),
        "gpu": plan.pool.instance.gpu,
        "user": _is_root(plan),
        "words": [*command.argv, *command.args],
        "env": {**command.env, **planned.worker.env, **planned.env},
        "files": dict(command.files),
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]


def environment(plan: GraphPlan, planned: WorkerPlan, digest: str) -> dict[str, str]:
    """What tells an engine and its libraries where. digest: of `key`."""
    known = (*_OF_LIBRARIES, *_VARIABLES.get(plan.target.engine, ()))
    left = {_BY_RANKS} if _may_meet(plan, planned) else set[str]()
    return {
        name: f"{PATH}/{digest}/{place}"
        for name, place, since in known
        if plan.version >= since and name not in left
    }


def _may_meet(plan: GraphPlan, planned: WorkerPlan) -> bool:
    """Whether a node may have two pods, or processes, of the role, each of several ranks."""
    ranks = planned.worker.gpus // planned.nodes
    several = planned.at_most.worker.replicas * planned.nodes > 1
    return several and ranks > 1 and 2 * ranks <= plan.pool.instance.gpus


def script_config_map(plan: GraphPlan, namespace: str) -> dict[str, Any]:
    """The script of the init container and the hook."""
    return pod_scripts.config_map(_config_map_name(plan), namespace, _SCRIPT)


def _config_map_name(plan: GraphPlan) -> str:
    return f"{plan.name}-compiled-cache"


def volumes(plan: GraphPlan) -> list[dict[str, Any]]:
    """The node's folder and the script."""
    return [
        {"name": VOLUME, **local_copy.of_node(str(plan.cache.compiled_folder))},
        pod_scripts.volume(_config_map_name(plan), _SCRIPT_VOLUME),
    ]


def mounts() -> list[dict[str, Any]]:
    """Both in the engine's container."""
    return [
        {"name": VOLUME, "mountPath": PATH},
        {"name": _SCRIPT_VOLUME, "mountPath": _SCRIPT_PATH, "readOnly": True},
    ]


def init_container(plan: GraphPlan, words: list[str]) -> dict[str, Any]:
    """What makes the folders before the engine starts, as the user that it runs as. words: of `command`."""
    as_root = container_security() | {"runAsUser": 0, "runAsNonRoot": False}
    return objects.container(
        "compiled-cache",
        plan.image.reference,
        words,
        # The image asks for every GPU where the container runtime listens to that.
        env=variables({"NVIDIA_VISIBLE_DEVICES": "void"}),
        volumeMounts=mounts(),
        security=as_root if _is_root(plan) else None,
        # So that the pod's status says why it failed.
        terminationMessagePolicy="FallbackToLogsOnError",
    )


def command(gpus: Mapping[str, int]) -> list[str]:
    """The script's command line. gpus: that a worker has on one node, by key, for every kind of worker of the graph."""
    keys = [f"{digest}={count}" for digest, count in gpus.items()]
    return ["python3", f"{_SCRIPT_PATH}/{_SCRIPT}", PATH, *keys]


def hook(words: list[str]) -> dict[str, Any]:
    """A container's `lifecycle`: init containers do not run again where an engine alone is restarted.

    The engine reads what it tuned once the weights are loaded, which is later. Whatever becomes of it, it starts.
    """
    shell = f"{' '.join(words)} || true"
    return {"lifecycle": {"postStart": {"exec": {"command": ["sh", "-c", shell]}}}}


def keepers_security(plans: list[GraphPlan]) -> dict[str, Any] | None:
    """Of the container that deletes old keys: as root over others' files only where workers are root."""
    if not any(_is_root(plan) for plan in plans):
        return None
    allowed = container_security() | {"runAsUser": 0, "runAsNonRoot": False}
    allowed["capabilities"] = {"drop": ["ALL"], "add": ["DAC_OVERRIDE"]}
    return allowed


def _is_root(plan: GraphPlan) -> bool:
    return plan.runs_as_root or worker_pod_security(plan.grants)["runAsUser"] == 0
