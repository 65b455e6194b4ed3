"""Security contexts: every pod of ours runs unprivileged, but workers whose transport or image needs more. Pure."""

from collections.abc import Mapping
from typing import Any

USER = 1000
"""The user `dynamo` of NVIDIA's runtime images; also the owner that EFS access points are made with."""
_WRITES_ALL = "DAC_OVERRIDE"
"""For root to write what user 1000 owns: the images' home and its caches, which their group may not write.

Upstream's manifests keep it, since they drop nothing.
"""


def pod_security() -> dict[str, Any]:
    """PodSecurityContext. Group 0 owns the images' writable folders; fsGroup lets the user write to volumes."""
    return {
        "runAsNonRoot": True,
        "runAsUser": USER,
        "runAsGroup": 0,
        "fsGroup": USER,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def container_security() -> dict[str, Any]:
    """SecurityContext of a container that needs nothing."""
    return {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def security_beside(grants: str) -> dict[str, Any]:
    """SecurityContext of a container beside workers: where those are root it stays the user."""
    return container_security() | ({} if grants == "none" else {"runAsNonRoot": True, "runAsUser": USER})


def worker_pod_security(grants: str) -> dict[str, Any]:
    """PodSecurityContext of workers. grants: none, capabilities or privileged; both others are root.

    A capability that is added for another user than root is never effective (nvidia-container-toolkit#2037).
    """
    if grants == "none":
        return pod_security()
    return {**pod_security(), "runAsNonRoot": False, "runAsUser": 0}


def worker_security(grants: str, *, network: bool) -> dict[str, Any]:
    """SecurityContext of a worker's container. network: whether it registers memory with a network device.

    privileged: what Dynamo's guide to EFA calls required to register GPU memory with the network device. capabilities:
    what upstream's own EFA tests and colocated recipes (dynamo PR#12070) run with, and for a network what its guide to
    InfiniBand adds (SYS_RESOURCE).
    """
    if grants == "privileged":
        return {"privileged": True}
    if grants == "capabilities":
        added = ["IPC_LOCK", "SYS_PTRACE", *(["SYS_RESOURCE"] if network else []), _WRITES_ALL]
        return {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"], "add": added}}
    return container_security()


def as_root(context: Mapping[str, Any]) -> dict[str, Any]:
    """A container's SecurityContext as root that may write what another user owns, where an image needs that."""
    as_user = {**context, "runAsNonRoot": False, "runAsUser": 0}
    if context.get("privileged"):
        return as_user
    capabilities = context["capabilities"]
    added = dict.fromkeys((*capabilities.get("add", []), _WRITES_ALL))
    return as_user | {"capabilities": {**capabilities, "add": [*added]}}
