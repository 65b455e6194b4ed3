"""What GPU nodes keep for their worker pods: DaemonSets that make, keep and clear it. Pure.

One copy of the weights, and what engines compile. The pods come with the node and need a small image alone, so they
copy while the node pulls the graphs' images; on ARM64 they need the graph's, and copy after that. A worker's own init
container runs the same program: one of all copies, the others wait for it, or find it whole.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from facts.hardware import Arch
from facts.weights import Weights
from manifests import objects, pod_scripts
from manifests.benchmark.job import AIPERF_IMAGE, AIPERF_PYTHON
from manifests.cache import bucket, compiled, local_copy
from manifests.command import variables
from manifests.graph.placement import pool_affinity, worker_nodes
from manifests.names import CACHE_CLAIM, CACHE_PATH
from manifests.security import USER, container_security
from targets.plan import GraphPlan

NAME = "model-copy"
_ROOT = "/var/lib/kubelet/dynamo-gpt-oss"
"""Where the kubelet keeps its pods, and so on the disks that an `emptyDir` would be on: local NVMe on EKS."""
_KEEPS = "keep_copy.py"
_CLEARING_SECONDS = 120
_RBAC = "rbac.authorization.k8s.io"
_GIVE = (
    "import os, sys\n"
    f"for folder in sys.argv[1:]: os.stat(folder).st_uid == {USER} or "
    f"(os.chmod(folder, 0o775), os.chown(folder, {USER}, 0))"
)
"""Once: after it root, which has one capability here, may not change the mode any more."""


@dataclass(frozen=True)
class _Python:
    """What a pool's pods run: an image and the Python in it. image: may be an Output. env: that the image needs."""

    image: Any
    executable: str
    env: Mapping[str, str]


def folder(namespace: str) -> str:
    """The nodes' folder with the copy for a namespace's graphs."""
    return f"{_ROOT}/{namespace}"


def compiled_folder(namespace: str) -> str:
    """The nodes' folder with what its graphs' engines compile; no namespace has a dot in its name."""
    return f"{_ROOT}/{namespace}.compiled"


def manifests(
    plans: Sequence[GraphPlan],
    namespace: str,
    keys: Mapping[str, Sequence[str]],
    made: Mapping[str, Any] | None = None,
) -> list[objects.Object]:
    """Account, rights, scripts, and a DaemonSet for each pool whose nodes keep something, the first graph's first.

    keys: by graph, under which its workers' compiled kernels are kept. made: images that the stack builds or copies, by
    graph; may be Outputs.
    """
    keeping = [plan for plan in plans if _is_copied(plan) or compiled.is_kept(plan)]
    pools = list(dict.fromkeys(plan.pool.name for plan in keeping))
    if not pools:
        return []
    sets = [
        _daemon_set(
            f"{NAME}-{pool}" if position else NAME,
            [plan for plan in keeping if plan.pool.name == pool],
            namespace,
            keys,
            made or {},
        )
        for position, pool in enumerate(pools)
    ]
    scripts = {script: pod_scripts.text(script) for script in (local_copy.SCRIPT, _KEEPS)}
    role = {"apiGroup": _RBAC, "kind": "Role", "name": NAME}
    account = {"kind": "ServiceAccount", "name": NAME, "namespace": namespace}
    rules = [
        {
            "apiGroups": ["apps"],
            "resources": ["daemonsets"],
            "resourceNames": [each["metadata"]["name"] for each in sets],
            "verbs": ["get"],
        },
        # Which of what is kept its node's pods still name.
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
    ]
    return [
        objects.service_account(NAME, namespace),
        objects.manifest(f"{_RBAC}/v1", "Role", NAME, namespace, rules=rules),
        objects.manifest(f"{_RBAC}/v1", "RoleBinding", NAME, namespace, roleRef=role, subjects=[account]),
        objects.config_map(NAME, namespace, scripts),
        *sets,
    ]


def _is_copied(plan: GraphPlan) -> bool:
    return bool(plan.copied_weights) and plan.cache.node_folder is not None


def _daemon_set(
    name: str,
    plans: Sequence[GraphPlan],
    namespace: str,
    keys: Mapping[str, Sequence[str]],
    made: Mapping[str, Any],
) -> objects.Object:
    """plans: the graphs of one pool."""
    python = _python(plans[0], made)
    copied = [each for each in plans if _is_copied(each)]
    kept = [each for each in plans if compiled.is_kept(each)]
    first, folders = plans[0], dict[str, str]()
    env = {"DAEMON_SET": f"/apis/apps/v1/namespaces/{namespace}/daemonsets/{name}", "NAMESPACE": namespace}
    volumes, copiers, size = [pod_scripts.volume(NAME, "copy-weights")], list[dict[str, Any]](), None
    if copied:
        largest = max(copied, key=lambda plan: plan.copy_gib)
        weights, size = _weights(copied), local_copy.size(largest)
        folders[_volume(largest)] = CACHE_PATH
        env |= {"HF_HOME": CACHE_PATH, "MODELS": local_copy.environment(weights)["MODELS"]}
        copiers, volumes = _copiers(largest, weights, python), [*_volumes(largest), *volumes]
    if kept:
        folders[compiled.VOLUME] = compiled.PATH
        used = sorted({digest for plan in kept for digest in keys[plan.name]})
        env |= {"COMPILED": compiled.PATH, "KEYS": json.dumps(used)}
        volumes.append({"name": compiled.VOLUME, **local_copy.of_node(str(kept[0].cache.compiled_folder))})
    pod = objects.pod(
        sorted({plan.image.pull_secret for plan in plans if plan.image.pull_secret}),
        serviceAccountName=NAME,
        affinity=pool_affinity(first),
        **worker_nodes(first),
        terminationGracePeriodSeconds=_CLEARING_SECONDS,
        initContainers=[_own_roots(python, folders), *copiers],
        containers=[_keeps(python, env, folders, size, compiled.keepers_security(kept))],
        volumes=volumes,
    )
    return objects.daemon_set(name, namespace, pod)


def _python(plan: GraphPlan, made: Mapping[str, Any]) -> _Python:
    """A small image; on ARM64 the graph's own, since nobody here knows whether the small one is for that.

    Workers of the node wait for the copy for ever if its pod cannot start.
    """
    if plan.pool.instance.arch is Arch.AMD64:
        return _Python(AIPERF_IMAGE, AIPERF_PYTHON, {})
    # The image asks for every GPU where the container runtime listens to that.
    none = {"NVIDIA_VISIBLE_DEVICES": "void"}
    return _Python(made.get(plan.name, plan.image.reference), "python3", none)


def _weights(plans: Sequence[GraphPlan]) -> tuple[Weights, ...]:
    return tuple(dict.fromkeys(each for plan in plans for each in plan.copied_weights))


def _volume(plan: GraphPlan) -> str:
    """Of the copy, in the containers that make it."""
    return CACHE_CLAIM if plan.cache.from_bucket else local_copy.VOLUME


def _volumes(plan: GraphPlan) -> list[dict[str, Any]]:
    """The copy, and what it is made from."""
    folder = str(plan.cache.node_folder)
    if plan.cache.from_bucket:
        return bucket.volumes(None, folder)
    return [local_copy.shared(plan), {"name": local_copy.VOLUME, **local_copy.of_node(folder)}]


def _mounts(folders: Mapping[str, str]) -> list[dict[str, Any]]:
    """folders: path by volume."""
    return [{"name": volume, "mountPath": path} for volume, path in folders.items()]


def _copiers(plan: GraphPlan, weights: Sequence[Weights], python: _Python) -> list[dict[str, Any]]:
    """What makes the copy. plan: the one with the most weights."""
    resources = {"requests": {"cpu": "1", "memory": "256Mi", "ephemeral-storage": local_copy.size(plan)}}
    if plan.cache.from_bucket:
        return bucket.fetch_containers(
            python.image,
            weights,
            plan.copy_gib,
            of_node=True,
            python=python.executable,
            resources=resources,
        )
    copying = objects.container(
        "copy-weights",
        python.image,
        [python.executable, f"{pod_scripts.PATH}/{local_copy.SCRIPT}"],
        env=variables({**local_copy.environment(weights), "OF_NODE": "1", **python.env}),
        volumeMounts=local_copy.mounts(),
        resources=resources,
        # So that the pod's status says why a copy failed.
        terminationMessagePolicy="FallbackToLogsOnError",
    )
    return [copying]


def _keeps(
    python: _Python,
    env: Mapping[str, str],
    folders: Mapping[str, str],
    size: str | None,
    security: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """size: of the copy, for the scheduler, as long as it is there. security: None for one that needs nothing."""
    disk = {} if size is None else {"ephemeral-storage": size}
    node = {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    return objects.container(
        "keep-copy",
        python.image,
        [python.executable, f"{pod_scripts.PATH}/{_KEEPS}"],
        env=[*variables({**env, **python.env}), node],
        volumeMounts=[*_mounts(folders), pod_scripts.mount("copy-weights")],
        resources={"requests": {"cpu": "10m", "memory": "32Mi", **disk}},
        security=security,
    )


def _own_roots(python: _Python, folders: Mapping[str, str]) -> dict[str, Any]:
    """Root with one capability, for one call: the kubelet makes a node's folders as root's."""
    security = container_security() | {"runAsUser": 0, "runAsNonRoot": False}
    security["capabilities"] = {"drop": ["ALL"], "add": ["CHOWN"]}
    return objects.container(
        "own-root",
        python.image,
        [python.executable, "-c", _GIVE, *folders.values()],
        env=variables(python.env) or None,
        volumeMounts=_mounts(folders),
        security=security,
    )
