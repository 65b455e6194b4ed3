"""The weights on the disks of a worker's node: an init container copies them there from the shared cache. Pure."""

import json
from typing import Any

from manifests import objects, pod_scripts
from manifests.command import variables
from manifests.names import CACHE_CLAIM, CACHE_PATH, VOCABULARY_PATH
from targets.plan import GraphPlan

_VOLUME = "local-models"
_SHARED_PATH = "/opt/shared-models"
_SCRIPT = "copy_weights.py"


def config_map_name(graph: str) -> str:
    """The ConfigMap that holds the script of a graph's init containers."""
    return f"{graph}-copy-weights"


def script_config_map(plan: GraphPlan, namespace: str) -> dict[str, Any]:
    """The script, so that the init container installs nothing."""
    return pod_scripts.config_map(config_map_name(plan.name), namespace, _SCRIPT)


def volumes(plan: GraphPlan) -> list[dict[str, Any]]:
    """The pod's own volume on its node, which goes with the pod, and the script."""
    return [
        {"name": _VOLUME, "emptyDir": {"sizeLimit": _size(plan)}},
        pod_scripts.volume(config_map_name(plan.name), "copy-weights"),
    ]


def mount() -> dict[str, Any]:
    """The copy in the engine's container, where the shared cache is otherwise."""
    return {"name": _VOLUME, "mountPath": CACHE_PATH, "readOnly": True}


def init_container(plan: GraphPlan) -> dict[str, Any]:
    """What copies the weights before the engine starts.

    It asks for the disk that the whole pod uses: the scheduler counts the largest init container. No limit stands
    beside the request: it would be the whole pod's, and evict an engine for the files that it compiles.
    """
    models = [{"model": each.model, "revision": each.revision} for each in plan.copied_weights]
    env = {
        "HF_HOME": CACHE_PATH,
        "MODELS": json.dumps(models, sort_keys=True),
        # The image asks for every GPU where the container runtime listens to that.
        "NVIDIA_VISIBLE_DEVICES": "void",
        "SHARED": _SHARED_PATH,
        "VOCABULARY_PATH": VOCABULARY_PATH,
    }
    return objects.container(
        "copy-weights",
        plan.image.reference,
        ["python3", f"{pod_scripts.PATH}/{_SCRIPT}"],
        env=variables(env),
        volumeMounts=[
            {"name": CACHE_CLAIM, "mountPath": _SHARED_PATH, "readOnly": True},
            {"name": _VOLUME, "mountPath": CACHE_PATH},
            pod_scripts.mount("copy-weights"),
        ],
        resources={"requests": {"ephemeral-storage": _size(plan)}},
        # So that the pod's status says why a copy failed.
        terminationMessagePolicy="FallbackToLogsOnError",
    )


def _size(plan: GraphPlan) -> str:
    return f"{plan.copy_gib}Gi"
