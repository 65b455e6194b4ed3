"""DaemonSets that pull the graphs' images as soon as a GPU node joins. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from manifests import objects
from manifests.gpu_nodes import GPU_TAINT
from targets.plan import GraphPlan

NAME = "image-pull"
INSTANCE_TYPE_LABEL = "node.kubernetes.io/instance-type"
"""On a node from the moment it joins, unlike what GPU Feature Discovery finds out later."""


def daemon_sets(
    plans: Sequence[GraphPlan], namespace: str, made: Mapping[str, Any] | None = None
) -> list[objects.Object]:
    """One for each type of GPU node, with the images of the graphs that run there; the first graph's comes first.

    made: images that the stack builds or copies, by graph; may be Outputs.
    """
    types = dict.fromkeys(plan.pool.instance.name for plan in plans if plan.pool.instance.gpus)
    return [
        _daemon_set(
            f"{NAME}-{instance_type.replace('.', '-')}" if position else NAME,
            instance_type,
            [plan for plan in plans if plan.pool.instance.name == instance_type],
            namespace,
            made or {},
        )
        for position, instance_type in enumerate(types)
    ]


def _daemon_set(
    name: str, instance_type: str, plans: Sequence[GraphPlan], namespace: str, made: Mapping[str, Any]
) -> dict[str, Any]:
    """One sleeping container for each image on every node of the type.

    While it sleeps the kubelet takes no image away. It asks for no GPU, and is given none where the container runtime
    would give them to whoever has the images' own environment.
    """
    wanted = {
        each.name if each.name in made else each.image.reference: made.get(each.name, each.image.reference)
        for each in plans
    }
    images = [wanted[key] for key in sorted(wanted)]
    pull_secrets = sorted({each.image.pull_secret for each in plans if each.image.pull_secret})
    pod = objects.pod(
        pull_secrets,
        nodeSelector={INSTANCE_TYPE_LABEL: instance_type},
        tolerations=[GPU_TAINT.toleration],
        automountServiceAccountToken=False,
        # `sleep` as the first process hears no SIGTERM.
        terminationGracePeriodSeconds=1,
        containers=[_container(f"image-{position}", image) for position, image in enumerate(images)],
    )
    return objects.daemon_set(name, namespace, pod)


def _container(name: str, image: Any) -> dict[str, Any]:
    return objects.container(
        name,
        image,
        ["sleep", "infinity"],
        env=[{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}],
        resources={"requests": {"cpu": "1m", "memory": "8Mi"}, "limits": {"memory": "64Mi"}},
    )
