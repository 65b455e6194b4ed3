"""A cluster of tests: objects that change with the time, which passes only when somebody sleeps."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from manifests.kubectl import label

Object = dict[str, Any]


def obj(kind: str, name: str, namespace: str | None = "ns", **more: Any) -> Object:
    """An object. more: its other fields; `annotations`, `labels` and `finalizers` go into its metadata."""
    versions = {"DynamoGraphDeployment": "nvidia.com/v1alpha1", "Job": "batch/v1"}
    metadata: Object = {"name": name, "generation": 1}
    for key in ("annotations", "labels", "finalizers"):
        if key in more:
            metadata[key] = more.pop(key)
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": versions.get(kind, "v1"), "kind": kind, "metadata": metadata, **more}


class Cluster:
    """kubectl, clock and sleep in one. there: says by the seconds that have passed which objects are on the cluster."""

    def __init__(self, there: Callable[[float], Sequence[Mapping[str, Any]]]) -> None:
        self._there = there
        self.seconds = 0.0
        self.asked: list[tuple[str, ...]] = []
        self.deleted: list[str] = []

    def clock(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        self.asked.append(arguments)
        verb, *rest = arguments
        named = [_label(one) for one in rest if "/" in one and not one.startswith("--")]
        if verb == "delete":
            self.deleted += named
            return ""
        there = self._there(self.seconds)
        found = [each for each in there if label(each) in named or f"{each['kind'].lower()}s" == rest[0]]
        return json.dumps({"items": found})


def _label(named: str) -> str:
    """`Kind.group/name` as people name it."""
    kind, _, name = named.partition("/")
    return f"{kind.partition('.')[0].lower()}/{name}"
