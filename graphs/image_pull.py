"""A DaemonSet that pulls the graphs' images as soon as a GPU node joins. Pure."""

from collections.abc import Sequence
from typing import Any

from graphs.names import MANAGED_BY
from graphs.placement import gpu_toleration
from graphs.security import container_security, pod_security
from targets.plan import GraphPlan

NAME = "image-pull"
INSTANCE_TYPE_LABEL = "node.kubernetes.io/instance-type"
"""On a node from the moment it joins, unlike what GPU Feature Discovery finds out later."""


def daemon_set(plans: Sequence[GraphPlan], namespace: str) -> dict[str, Any]:
    """One sleeping container for each image on every node of the pool's type.

    While it sleeps the kubelet takes no image away. It asks for no GPU, and is given none where the container runtime
    would give them to whoever has the images' own environment.
    """
    plan = plans[0]
    images = sorted({each.image for each in plans})
    pull_secrets = sorted({each.image_knobs.pull_secret for each in plans if each.image_knobs.pull_secret})
    pod: dict[str, Any] = {
        "nodeSelector": {INSTANCE_TYPE_LABEL: plan.pool.instance.name},
        "tolerations": [gpu_toleration()],
        "securityContext": pod_security(),
        "automountServiceAccountToken": False,
        # `sleep` as the first process hears no SIGTERM.
        "terminationGracePeriodSeconds": 1,
        "containers": [_container(f"image-{position}", image) for position, image in enumerate(images)],
    }
    if pull_secrets:
        pod["imagePullSecrets"] = [{"name": name} for name in pull_secrets]
    labels = {"app": NAME, **MANAGED_BY}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": NAME, "namespace": namespace, "labels": dict(MANAGED_BY)},
        "spec": {
            "selector": {"matchLabels": {"app": NAME}},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "100%"}},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def _container(name: str, image: str) -> dict[str, Any]:
    return {
        "name": name,
        "image": image,
        "command": ["sleep", "infinity"],
        "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}],
        "resources": {"requests": {"cpu": "1m", "memory": "8Mi"}, "limits": {"memory": "64Mi"}},
        "securityContext": container_security(),
    }
