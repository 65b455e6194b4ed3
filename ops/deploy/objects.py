"""Many objects in one call of kubectl, which takes longer to start than to answer."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from manifests.kubectl import Kubectl, address, items

BUILT_IN = frozenset(
    ("ConfigMap", "CronJob.batch", "DaemonSet", "Job.batch", "Namespace", "PersistentVolumeClaim",
     "PodDisruptionBudget.policy", "Role.rbac.authorization.k8s.io", "RoleBinding.rbac.authorization.k8s.io", "Secret",
     "ServiceAccount")
)  # fmt: skip
"""Kinds of Kubernetes' own that stacks make: one that an `up` made before it broke off may be in no stack file now."""
_SERVED = BUILT_IN | {"ComputeDomain.resource.nvidia.com", "DynamoGraphDeployment.nvidia.com"}


def unserved(kubectl: Kubectl, kinds: Collection[str]) -> set[str]:
    """Which of these the cluster does not know: kubectl refuses to look for such a kind."""
    further = set(kinds) - _SERVED
    if not further:
        return set()
    rows = [line.split() for line in kubectl("api-resources", "--no-headers").splitlines()]
    return further - {".".join(filter(None, (row[-1], row[-3].rpartition("/")[0]))) for row in rows}


def read(kubectl: Kubectl, objects: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
    """Each object as it is on the cluster, in whichever version that serves; None for one that is not there."""
    unknown = unserved(kubectl, {address(obj)[0] for obj in objects})
    asked = addresses(obj for obj in objects if address(obj)[0] not in unknown)
    how = ("--ignore-not-found", "--output=json")
    found = [obj for named in asked for obj in items(kubectl("get", *named, *how))]
    by_address = {tuple(address(obj)): obj for obj in found}
    return [by_address.get(tuple(address(obj))) for obj in objects]


def addresses(objects: Iterable[Mapping[str, Any]]) -> list[list[str]]:
    """Arguments that name the objects to kubectl, a list for each namespace."""
    lists: dict[tuple[str, ...], list[str]] = {}
    for obj in objects:
        kind, name, *namespace = address(obj)
        lists.setdefault(tuple(namespace), []).append(f"{kind}/{name}")
    of_cluster = lists.pop((), [])
    if not lists:
        return [of_cluster] if of_cluster else []
    first, *rest = ([*named, *namespace] for namespace, named in lists.items())
    return [of_cluster + first, *rest]
