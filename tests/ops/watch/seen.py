"""Snapshots of tests: two that a real control plane gave (nodes simulated), and objects as Kubernetes writes them."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ops.stack.stack import Stack
from ops.watch.snapshot import Snapshot, snapshot
from tests.ops.stacks import stack

DATA = Path(__file__).parent / "data"
AT = datetime(2026, 11, 22, 17, 24, tzinfo=UTC)
EXISTING: dict[str, Any] = {
    "target": "trtllm-disagg-b200",
    "cluster": {"kind": "existing", "namespace": "ns"},
    "platform": {"install": False},
}


def existing(**more: Any) -> Stack:
    """The published B200 system on a cluster that is there."""
    return stack({**EXISTING, **more})


def recorded(name: str) -> Snapshot:
    """`full_pool`: a second graph finds no GPU. `no_class`: a claim names a storage class that is not there."""
    data = json.loads((DATA / f"{name}.json").read_text())
    return snapshot(data["objects"], "ns", AT, holders=data["holders"])


def seen(*objects: dict[str, Any], logs: Mapping[str, tuple[str, ...]] | None = None) -> Snapshot:
    """These objects."""
    return snapshot(objects, "ns", AT, logs=logs)


def pod(name: str = "g-decode-0", *, node: str | None = "n1", **status: Any) -> dict[str, Any]:
    """A decode worker of graph `gpt-oss-disagg` with four GPUs, as far as its status says."""
    labels = {
        "nvidia.com/dynamo-graph-deployment-name": "gpt-oss-disagg",
        "nvidia.com/dynamo-component": "TrtllmDecodeWorker",
        "nvidia.com/dynamo-component-type": "worker",
    }
    container = {"name": "main", "image": "nvcr.io/x:1", "resources": {"limits": {"nvidia.com/gpu": "4"}}}
    return {
        "kind": "Pod",
        "metadata": {
            "name": name, "namespace": "ns", "labels": labels, "creationTimestamp": "2026-11-22T17:20:00Z"
        },
        "spec": {"containers": [container], **({"nodeName": node} if node else {})},
        "status": {"phase": "Pending", **status},
    }  # fmt: skip


def waiting(reason: str, message: str = "", **more: Any) -> dict[str, Any]:
    """Status of a container that waits for that reason, as kubelet writes it."""
    return {"name": "main", "state": {"waiting": {"reason": reason, "message": message}}, **more}


def event(
    kind: str, name: str, reason: str, message: str, at: str = "2026-11-22T17:21:00Z"
) -> dict[str, Any]:
    """A warning, or a kubelet's note about an image."""
    return {
        "kind": "Event",
        "metadata": {"name": "e"},
        "type": "Normal" if reason in ("Pulling", "Pulled") else "Warning",
        "reason": reason,
        "message": message,
        "involvedObject": {"kind": kind, "name": name},
        "lastTimestamp": at,
    }
