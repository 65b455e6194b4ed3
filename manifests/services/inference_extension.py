"""Gateway API Inference Extension: a graph's InferencePool and its Endpoint Picker (EPP). Pure.

Sources: Dynamo's reference of Gateway API routing (generated objects, environment), its operator (what it adds to the
component) and the picker's own code (what it reads of a request).
"""

from typing import Any

from facts.weights import MODEL_ID
from manifests.names import VOCABULARY_PATH
from targets.images import ENDPOINT_PICKER_REPOSITORY
from targets.plan import GraphPlan

POOL_GROUP = "inference.networking.k8s.io"
POOL_VERSION = "v1"
PICKER = "Epp"
"""Name of the component, as in Dynamo's examples."""
SIDECAR = "sidecar-frontend"
"""Name of the container beside each worker, as in Dynamo's examples."""
ROUTED_PATHS = ("/v1/chat/completions",)
"""What the picker can route: it reads every body as a chat request, and refuses one that is not."""


_SCRATCH = "hf-cache"
"""The operator's name of the empty folder that it mounts in the picker's home."""


def scratch_volume() -> dict[str, Any]:
    """The operator's own, repeated: a component's list of volumes takes the place of the operator's."""
    return {"name": _SCRATCH, "emptyDir": {}}


def scratch_mount() -> dict[str, Any]:
    """As `scratch_volume`. Nothing else is lost: the picker's configuration is mounted for earlier pickers alone."""
    return {"name": _SCRATCH, "mountPath": "/home/nonroot/.cache"}


def pool_name(graph: str) -> str:
    """The InferencePool that the operator makes for a graph with an endpoint picker."""
    return f"{graph}-pool"


def picker_image(plan: GraphPlan) -> str:
    """The endpoint picker's own image, whatever image the graph's other pods run."""
    return f"{ENDPOINT_PICKER_REPOSITORY}:{plan.version}"


def picker_environment(plan: GraphPlan) -> dict[str, str]:
    """What the picker believes about the workers: the same as the graph's own frontend does.

    Where no block size is set for the engines, the picker takes it from what a worker registers; a guess that differs
    would look up other blocks than the worker has.
    """
    environment = {
        "DYN_MODEL_NAME": MODEL_ID,
        # Without events it predicts what a worker has cached from what it sent there.
        "DYN_USE_KV_EVENTS": str(plan.frontend.router_mode == "kv").lower(),
        "TIKTOKEN_ENCODINGS_BASE": VOCABULARY_PATH,
    }
    if plan.target.serving.kv_block_size is not None:
        environment["DYN_KV_CACHE_BLOCK_SIZE"] = str(plan.target.serving.kv_block_size)
    if not plan.reuses_kv_blocks:
        # A prompt's blocks are gone when its answer is: prefer the least loaded worker, never a former one.
        environment |= {"DYN_ROUTER_ASSUME_KV_REUSE": "false", "DYN_ROUTER_KV_OVERLAP_SCORE_CREDIT": "0"}
    return environment
