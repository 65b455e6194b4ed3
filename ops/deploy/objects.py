"""Many objects in one call of kubectl, which takes longer to start than to answer."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from manifests.kubectl import Kubectl, address, items


def read(kubectl: Kubectl, objects: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
    """Each object as it is on the cluster, in whichever version that serves; None for one that is not there."""
    how = ("--ignore-not-found", "--output=json")
    found = [obj for named in addresses(objects) for obj in items(kubectl("get", *named, *how))]
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
