"""Security contexts: every pod of ours runs unprivileged. Pure."""

from typing import Any

USER = 1000
"""The user `dynamo` of NVIDIA's runtime images; also the owner that EFS access points are made with."""


def pod_security() -> dict[str, Any]:
    """PodSecurityContext. Group 0 owns the images' writable folders; fsGroup lets the user write to volumes."""
    return {
        "runAsNonRoot": True,
        "runAsUser": USER,
        "runAsGroup": 0,
        "fsGroup": USER,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def container_security(*, lock_memory: bool = False) -> dict[str, Any]:
    """SecurityContext. lock_memory: EFA registers memory, which needs IPC_LOCK."""
    capabilities: dict[str, Any] = {"drop": ["ALL"]}
    if lock_memory:
        capabilities["add"] = ["IPC_LOCK"]
    return {"allowPrivilegeEscalation": False, "capabilities": capabilities}
