"""Objects as kubectl and people name them, and how kubectl is called."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

_ATTEMPT = re.compile(r"[EWI]\d{4} ")


class Kubectl(Protocol):
    """Runs kubectl against one cluster; returns its output, raises with kubectl's own words."""

    def __call__(self, *arguments: str, stdin: str = "") -> str: ...


def own_words(errors: str) -> str:
    """What kubectl says on its standard error, without the client's own log of its attempts."""
    return "\n".join(line for line in errors.strip().splitlines() if not _ATTEMPT.match(line))


def label(obj: Mapping[str, Any]) -> str:
    """An object as people name it: `job/model-download`."""
    return f"{obj['kind'].lower()}/{obj['metadata']['name']}"


def as_list(objects: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Objects as the one that kubectl takes."""
    return {"apiVersion": "v1", "kind": "List", "items": list(objects)}


def items(printed: str) -> list[dict[str, Any]]:
    """The objects that kubectl prints as JSON: a List, one alone, or nothing."""
    found: dict[str, Any] = json.loads(printed) if printed.strip() else {"items": []}
    listed: list[dict[str, Any]] = found.get("items", [found])
    return listed


def address(obj: Mapping[str, Any]) -> list[str]:
    """Arguments that name the object to kubectl, its API group included."""
    group, _, _ = str(obj["apiVersion"]).rpartition("/")
    kind = f"{obj['kind']}.{group}" if group and group != "apps" else str(obj["kind"])
    namespace = obj["metadata"].get("namespace")
    return [kind, obj["metadata"]["name"], *([f"--namespace={namespace}"] if namespace else [])]
