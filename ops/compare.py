"""What differs between two synths of a stack, resource by resource and field by field. Pure.

A synth is the content of resources.json.
"""

import enum
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from ops.downtime import downtime


class Missing(enum.Enum):
    """Stands for a field that one side does not have."""

    MISSING = enum.auto()


MISSING = Missing.MISSING
_SECRET = re.compile(r"\[secret( [0-9a-f]+)?\]")
_FLAG = "--"
_IMMUTABLE: Mapping[str, tuple[str, ...]] = {
    "kubernetes:batch/v1:Job": ("spec.completions", "spec.selector", "spec.template"),
    "kubernetes:core/v1:PersistentVolumeClaim": (
        "spec.accessModes", "spec.selector", "spec.storageClassName", "spec.volumeMode", "spec.volumeName",
    ),
    "kubernetes:core/v1:PersistentVolume": ("spec.csi", "spec.volumeMode"),
    "kubernetes:storage.k8s.io/v1:StorageClass": (
        "parameters", "provisioner", "reclaimPolicy", "volumeBindingMode",
    ),
    "kubernetes:apps/v1:Deployment": ("spec.selector",),
    "kubernetes:core/v1:Secret": ("type",),
}  # fmt: skip
"""Fields that the API server never changes; pulumi-kubernetes replaces the object."""
_IDENTITY = ("metadata.name", "metadata.namespace")


class Action(enum.StrEnum):
    """What would happen to a resource."""

    CREATE = "create"
    UPDATE = "update"
    REPLACE = "replace"
    DELETE = "delete"


@dataclass(frozen=True, kw_only=True)
class FieldChange:
    """One field; before or after is MISSING where the field is not there. path: `a.b[name].c`."""

    path: str
    before: Any
    after: Any

    @property
    def secret(self) -> bool:
        """Whether both sides are a secret, which changed without being shown."""
        return all(isinstance(side, str) and _SECRET.fullmatch(side) for side in (self.before, self.after))


@dataclass(frozen=True, kw_only=True)
class ResourceChange:
    """One resource. component: name of the component it belongs to. replaced_for: the fields that force it.

    downtime: what a graph's change costs in time without an answer, empty where it costs none.
    """

    component: str
    type: str
    name: str
    action: Action
    fields: tuple[FieldChange, ...] = ()
    replaced_for: tuple[str, ...] = ()
    downtime: str = ""


def resource_changes(base: Mapping[str, Any] | None, head: Mapping[str, Any] | None) -> list[ResourceChange]:
    """Changes from base to head, in the order of the head's resources, deletions last. None: there is no such stack."""
    before, after = _by_urn(base), _by_urn(head)
    found = []
    for urn, resource in after.items():
        if urn not in before:
            found.append(_whole(resource, Action.CREATE))
        elif change := _changed(before[urn], resource):
            found.append(change)
    return found + [_whole(resource, Action.DELETE) for urn, resource in before.items() if urn not in after]


def field_changes(before: Any, after: Any, path: str = "") -> Iterator[FieldChange]:
    """Every leaf that differs. Lists are matched by name, by flag, or else by position."""
    if _same(before, after):
        return
    before, after = _opened(before, path), _opened(after, path)
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted(before.keys() | after.keys()):
            inner = f"{path}{key}" if key.startswith("[") else f"{path}.{key}".removeprefix(".")
            yield from field_changes(before.get(key, MISSING), after.get(key, MISSING), inner)
    else:
        yield FieldChange(path=path, before=before, after=after)


def _by_urn(synth: Mapping[str, Any] | None) -> dict[str, Mapping[str, Any]]:
    return {resource["urn"]: resource for resource in (synth or {}).get("resources", ())}


def _whole(resource: Mapping[str, Any], action: Action) -> ResourceChange:
    return ResourceChange(
        component=_component(resource), type=resource["type"], name=resource["name"], action=action
    )


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> ResourceChange | None:
    changes = tuple(field_changes(before["inputs"], after["inputs"]))
    if not changes:
        return None
    forcing = tuple(change.path for change in changes if _replaces(after, change.path))
    return ResourceChange(
        component=_component(after),
        type=after["type"],
        name=after["name"],
        action=Action.REPLACE if forcing else Action.UPDATE,
        fields=changes,
        replaced_for=forcing,
        downtime=downtime(before["inputs"], after["inputs"], replaced=bool(forcing)) if _graph(after) else "",
    )


def _graph(resource: Mapping[str, Any]) -> bool:
    return str(resource["type"]).endswith(":DynamoGraphDeployment")


def _component(resource: Mapping[str, Any]) -> str:
    """The nearest component's name, or the resource's own where it has none above it."""
    *_, parent_type, parent_name = resource["parent"].split("::") if resource["parent"] else ("", "")
    return resource["name"] if parent_type in ("", "pulumi:pulumi:Stack") else parent_name


def _replaces(resource: Mapping[str, Any], path: str) -> bool:
    """Whether a change of the field surely replaces the resource. A cloud's own rules are unknown here."""
    fixed = _IMMUTABLE.get(resource["type"], ())
    if resource["type"].startswith("kubernetes:"):
        fixed += _IDENTITY
    said = tuple(re.sub(r'\["([^"]+)"\]', r".\1", each) for each in resource.get("replaceOnChanges", ()))
    return any(path == each or path.startswith((f"{each}.", f"{each}[")) for each in fixed + said)


def _same(before: Any, after: Any) -> bool:
    if before == after:
        return True
    # A revision that writes no fingerprints cannot be compared by them.
    return "[secret]" in (before, after) and all(
        isinstance(side, str) and _SECRET.fullmatch(side) for side in (before, after)
    )


def _opened(value: Any, path: str) -> Any:
    """Lists and YAML texts as mappings, so that their parts can be compared."""
    if isinstance(value, str) and path.endswith((".yaml", ".yml")):
        parsed = yaml.safe_load(value)
        return parsed if isinstance(parsed, Mapping) else value
    if not isinstance(value, Sequence) or isinstance(value, str):
        return value
    names = [item.get("name") if isinstance(item, Mapping) else None for item in value]
    if names and None not in names and len(set(names)) == len(names):
        return {
            f"[{item['name']}]": {key: inner for key, inner in item.items() if key != "name"}
            for item in value
        }
    if any(isinstance(item, str) and item.startswith(_FLAG) for item in value):
        return _flags([str(item) for item in value])
    return {f"[{position}]": item for position, item in enumerate(value)}


def _flags(words: list[str]) -> dict[str, Any]:
    """A command line's flags with the words after each; a bare flag is True."""
    found: dict[str, Any] = {}
    flag = ""
    for position, word in enumerate(words):
        if word.startswith(_FLAG):
            flag = f"[{word}]" if f"[{word}]" not in found else f"[{position} {word}]"
            found[flag] = True
        elif not flag:
            found[f"[{position}]"] = word
        else:
            found[flag] = word if found[flag] is True else f"{found[flag]} {word}"
    return found
