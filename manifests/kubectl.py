"""Objects as kubectl and people name them, and how kubectl is called."""

from collections.abc import Mapping
from typing import Any, Protocol


class Kubectl(Protocol):
    """Runs kubectl against one cluster; returns its output, raises with kubectl's own words."""

    def __call__(self, *arguments: str, stdin: str = "") -> str: ...


def label(obj: Mapping[str, Any]) -> str:
    """An object as people name it: `job/model-download`."""
    return f"{obj['kind'].lower()}/{obj['metadata']['name']}"


def address(obj: Mapping[str, Any]) -> list[str]:
    """Arguments that name the object to kubectl, its API group included."""
    group, _, _ = str(obj["apiVersion"]).rpartition("/")
    kind = f"{obj['kind']}.{group}" if group and group != "apps" else str(obj["kind"])
    namespace = obj["metadata"].get("namespace")
    return [kind, obj["metadata"]["name"], *([f"--namespace={namespace}"] if namespace else [])]
