"""The weights on the disks of a worker's node: an init container copies them there from the shared cache. Pure.

The copy is the pod's own, or one for all pods of the node, which `node_copy` makes before they come.
"""

import json
from collections.abc import Iterable
from typing import Any

from facts.weights import Weights
from manifests import objects, pod_scripts
from manifests.command import variables
from manifests.names import CACHE_CLAIM, CACHE_PATH, VOCABULARY_PATH
from targets.plan import GraphPlan

VOLUME = "local-models"
_SHARED_PATH = "/opt/shared-models"
SCRIPT = "copy_weights.py"


def config_map_name(graph: str) -> str:
    """The ConfigMap that holds the script of a graph's init containers."""
    return f"{graph}-copy-weights"


def script_config_map(plan: GraphPlan, namespace: str) -> dict[str, Any]:
    """The script, so that the init container installs nothing."""
    return pod_scripts.config_map(config_map_name(plan.name), namespace, SCRIPT)


def volumes(plan: GraphPlan) -> list[dict[str, Any]]:
    """The pod's own volume on its node, which goes with the pod, or the node's folder; and the script."""
    own = {"emptyDir": {"sizeLimit": size(plan)}}
    return [
        {"name": VOLUME, **(own if plan.cache.node_folder is None else of_node(plan.cache.node_folder))},
        pod_scripts.volume(config_map_name(plan.name), "copy-weights"),
    ]


def shared(plan: GraphPlan) -> dict[str, Any]:
    """The shared cache as a pod's volume."""
    claim = {"claimName": plan.cache.claim or CACHE_CLAIM, "readOnly": True}
    return {"name": CACHE_CLAIM, "persistentVolumeClaim": claim}


def of_node(folder: str) -> dict[str, Any]:
    """A folder of the node as the source of a volume."""
    return {"hostPath": {"path": folder, "type": "DirectoryOrCreate"}}


def mount() -> dict[str, Any]:
    """The copy in the engine's container, where the shared cache is otherwise."""
    return {"name": VOLUME, "mountPath": CACHE_PATH, "readOnly": True}


def mounts() -> list[dict[str, Any]]:
    """Both caches and the script in the container that copies."""
    return [
        {"name": CACHE_CLAIM, "mountPath": _SHARED_PATH, "readOnly": True},
        {"name": VOLUME, "mountPath": CACHE_PATH},
        pod_scripts.mount("copy-weights"),
    ]


def environment(models: Iterable[Weights]) -> dict[str, str]:
    """What the script reads."""
    copied = [{"model": each.model, "revision": each.revision} for each in models]
    return {
        "HF_HOME": CACHE_PATH,
        "MODELS": json.dumps(copied, sort_keys=True),
        "SHARED": _SHARED_PATH,
        "VOCABULARY_PATH": VOCABULARY_PATH,
    }


def init_container(plan: GraphPlan) -> dict[str, Any]:
    """What copies the weights before the engine starts.

    It asks for the disk that the whole pod uses: the scheduler counts the largest init container. No limit stands
    beside the request: it would be the whole pod's, and evict an engine for the files that it compiles.
    """
    node = plan.cache.node_folder is not None
    # The node's own copy is asked for by who keeps it.
    own = {"resources": {"requests": {"ephemeral-storage": size(plan)}}} if not node else {}
    env = environment(plan.copied_weights) | ({"OF_NODE": "1"} if node else {})
    return objects.container(
        "copy-weights",
        plan.image.reference,
        ["python3", f"{pod_scripts.PATH}/{SCRIPT}"],
        # The image asks for every GPU where the container runtime listens to that.
        env=variables({**env, "NVIDIA_VISIBLE_DEVICES": "void"}),
        volumeMounts=mounts(),
        **own,
        # So that the pod's status says why a copy failed.
        terminationMessagePolicy="FallbackToLogsOnError",
    )


def size(plan: GraphPlan) -> str:
    """Room for the copy."""
    return f"{plan.copy_gib}Gi"
