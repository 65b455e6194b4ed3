"""Look at a stack's namespace: one call of kubectl, more only where something waits."""

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from manifests.kubectl import Kubectl
from manifests.names import DOWNLOAD_JOB
from ops.watch.pods import Stage, gpus_of
from ops.watch.snapshot import Snapshot, snapshot
from targets.errors import UserError

_NAMESPACED = "jobs,persistentvolumeclaims,pods,events"
_GRAPHS, _OF_CLUSTER = "dynamographdeployments.nvidia.com", "nodes,storageclasses.storage.k8s.io"
_CHOICES = (
    f"{_NAMESPACED},{_GRAPHS},{_OF_CLUSTER}",
    f"{_NAMESPACED},{_OF_CLUSTER}",  # before the platform is there
    f"{_NAMESPACED},{_GRAPHS}",  # for who may see a namespace alone
    _NAMESPACED,
)
_TAIL = 40
"""Lines of a log that are enough for all checks, and for the last word of a download."""


Observe = Callable[[Iterable[Mapping[str, Any]]], None]
"""Takes what a look found, as kubectl lists it."""


class Look:
    """Takes snapshots of one namespace. logs: whether its pods have any, which simulated ones have not."""

    def __init__(
        self, kubectl: Kubectl, namespace: str, *, logs: bool, observe: Observe = lambda _: None
    ) -> None:
        self._kubectl, self._namespace, self._logs = kubectl, namespace, logs
        self._observe = observe

    def __call__(self) -> Snapshot:
        """What is there now. Raises the error of kubectl where not even the namespace can be looked at."""
        objects = self._objects()
        self._observe(objects)
        at = datetime.now(UTC)
        found = snapshot(objects, self._namespace, at)
        waits = any(pod.stage is Stage.PENDING and pod.gpus for pod in found.pods)
        logs = self._read_logs(found) if self._logs else None
        if not waits and not logs:
            return found
        return snapshot(
            objects, self._namespace, at, holders=self._holders() if waits else (), logs=logs or None
        )

    def _objects(self) -> list[Mapping[str, Any]]:
        for kinds in _CHOICES[:-1]:
            try:
                return self._get(kinds)
            except UserError:
                continue  # a kind that is not there yet, or that the caller may not list
        return self._get(_CHOICES[-1])

    def _holders(self) -> Iterable[Mapping[str, Any]]:
        """Pods of all namespaces that ask for GPUs; none where the caller may not list them."""
        try:
            listed = json.loads(self._kubectl("get", "pods", "--all-namespaces", "--output=json"))["items"]
        except UserError:
            return ()
        return [each for each in listed if gpus_of(each)]

    def _read_logs(self, found: Snapshot) -> dict[str, tuple[str, ...]]:
        """Of the Jobs that tell their progress, while they run and after."""
        telling = [job.name for job in found.jobs if job.name == DOWNLOAD_JOB or job.name.endswith("-verify")]
        logs = {}
        for name in telling:
            pods = [pod for pod in found.pods if pod.of == name and pod.node]
            if not pods:
                continue
            where = (f"--namespace={self._namespace}", f"--tail={_TAIL}")
            try:
                text = self._kubectl("logs", f"pod/{pods[-1].name}", *where)
            except UserError:
                continue  # its container has not begun, or its node is gone
            logs[name] = tuple(text.splitlines())
        return logs

    def _get(self, kinds: str) -> list[Mapping[str, Any]]:
        where = (f"--namespace={self._namespace}", "--output=json")
        found: list[Mapping[str, Any]] = json.loads(self._kubectl("get", kinds, *where))["items"]
        return found
