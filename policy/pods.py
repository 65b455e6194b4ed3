"""What rules read off the pods in a Kubernetes object. Pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from policy.resource import Resource, decoded, texts

_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, kw_only=True)
class Container:
    """A container of a pod. path: where it stands in its resource."""

    path: str
    pod: Mapping[str, Any]
    spec: Mapping[str, Any]

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"{self.path.removeprefix('.')} ({self.spec.get('name', 'main')})"

    def has_efa(self) -> bool:
        """Whether it has a network device of AWS's (EFA)."""
        resources = self.spec.get("resources") or {}
        return any("vpc.amazonaws.com/efa" in (resources.get(key) or {}) for key in ("limits", "requests"))


def pods(value: Any, path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every pod specification in a manifest, of whatever kind, with where it stands."""
    if isinstance(value, Mapping):
        if isinstance(value.get("containers"), list) or isinstance(value.get("mainContainer"), Mapping):
            yield path, value
        for key, item in value.items():
            yield from pods(item, f"{path}.{key}")
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from pods(item, f"{path}[{position}]")


def containers(resource: Resource) -> Iterator[Container]:
    """Every container of every pod in a Kubernetes object."""
    if not resource.type.startswith("kubernetes:"):
        return
    for path, pod in pods(resource.inputs):
        for key in ("initContainers", "containers"):
            for position, spec in enumerate(pod.get(key) or ()):
                yield Container(path=f"{path}.{key}[{position}]", pod=pod, spec=spec)
        if isinstance(pod.get("mainContainer"), Mapping):
            yield Container(path=f"{path}.mainContainer", pod=pod, spec=pod["mainContainer"])


def moving_models(container: Container) -> Iterator[str]:
    """Models that are named without the commit of their weights."""
    for variable in container.spec.get("env") or ():
        if variable.get("name") == "MODELS":
            for model in decoded(variable.get("value")) or ():
                if not _COMMIT.fullmatch(str(model.get("revision"))):
                    yield (
                        f"model {model.get('model')}: revision {model.get('revision')!r} is no commit; a draft model's "
                        "is graph.draftRevision"
                    )
    for _, text in texts({key: container.spec.get(key) for key in ("command", "args")}):
        for revision in re.findall(r"/snapshots/([^/\s'\"]+)", text):
            if not _COMMIT.fullmatch(revision):
                yield f"{container.name}: model snapshot {revision!r} is no commit"


def privileges(container: Container) -> Iterator[str]:
    """What a container may that it need not."""
    own, of_pod = container.spec.get("securityContext") or {}, container.pod.get("securityContext") or {}
    capabilities = own.get("capabilities") or {}
    both: Mapping[str, Any] = {**of_pod, **own}
    if own.get("privileged"):
        yield "privileged"
    elif own.get("allowPrivilegeEscalation") is not False:
        yield "may gain privileges (allowPrivilegeEscalation is not false)"
    if both.get("runAsNonRoot") is not True or both.get("runAsUser") == 0:
        yield "may be root (runAsNonRoot is not true)"
    if added := capabilities.get("add"):
        yield f"adds capabilities {', '.join(added)}"
    if "ALL" not in (capabilities.get("drop") or ()) and not own.get("privileged"):
        yield "keeps capabilities (drop has no ALL)"
