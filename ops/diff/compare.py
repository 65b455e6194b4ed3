"""What differs between two synths of a stack, resource by resource and field by field. Pure.

A synth is the content of resources.json.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import yaml

from ops.diff.changes import MISSING, SECRET, Action, FieldChange, ResourceChange
from ops.diff.consequences import NODE_GROUP, follow_outputs, node_group_costs, replaces_provider
from ops.diff.downtime import downtime
from ops.diff.matching import match_resources
from ops.diff.replacements import forcing, within
from stacks.pools import MAIN_NODES
from targets.timeline import Setting

_FLAG = "--"
_TAGS = "defaultTags"


def resource_changes(
    base: Mapping[str, Any] | None, head: Mapping[str, Any] | None, settings: Mapping[str, Setting]
) -> list[ResourceChange]:
    """Changes from base to head, in the order of the head's resources, deletions last. None: there is no such stack.

    settings: what decides the head's rollout, by the component that makes a pool's nodes; what is in base alone has
    none.

    The head's resources come after what they depend on, as a synth has them.
    """
    before = match_resources(base, head)
    now = {was["urn"]: urn for urn, was in before.items()}
    found: dict[str, ResourceChange] = {}
    for resource in (head or {}).get("resources", ()):
        urn = resource["urn"]
        if urn not in before:
            found[urn] = _whole(resource, Action.CREATE)
        elif change := _change(before[urn], resource, now, found, settings):
            found[urn] = change
    gone = [resource for resource in (base or {}).get("resources", ()) if resource["urn"] not in now]
    return [*found.values(), *(_whole(resource, Action.DELETE) for resource in gone)]


def field_changes(before: Any, after: Any, path: str = "") -> Iterator[FieldChange]:
    """Every leaf that differs. Lists are matched by name, by flag, or else by position."""
    if _same(before, after):
        return
    before, after = _as_mappings(before, path), _as_mappings(after, path)
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted(before.keys() | after.keys()):
            inner = f"{path}{key}" if key.startswith("[") else f"{path}.{key}".removeprefix(".")
            yield from field_changes(before.get(key, MISSING), after.get(key, MISSING), inner)
    else:
        yield FieldChange(path=path, before=before, after=after)


def _whole(resource: Mapping[str, Any], action: Action) -> ResourceChange:
    return ResourceChange(
        component=_component(resource), type=resource["type"], name=resource["name"], action=action
    )


def _change(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    now: Mapping[str, str],
    found: Mapping[str, ResourceChange],
    settings: Mapping[str, Setting],
) -> ResourceChange | None:
    """now: today's URN by the one in the base. found: changes of what comes before, by URN."""
    changes = _fields(before, after, now, found)
    if not changes:
        return None
    force = forcing(after["type"], after.get("replaceOnChanges", ()))
    replacing = tuple(change.path for change in changes if _replaces(after, change, force))
    options = all(change.path.startswith("options.") for change in changes)
    change = ResourceChange(
        component=_component(after),
        type=after["type"],
        name=after["name"],
        action=Action.REPLACE if replacing else Action.HANDLE if options else Action.UPDATE,
        fields=changes,
        replaced_for=replacing,
    )
    if after["type"] == NODE_GROUP:
        cost, refused = node_group_costs(before, change, settings)
        return replace(change, downtime=cost, refused=refused)
    if _graph(after):
        # A restart pays for loading alone, which the stack's cache decides for every pool alike.
        setting = settings[MAIN_NODES]
        cost = downtime(before["inputs"], after["inputs"], setting, replaced=bool(replacing))
        return replace(change, downtime=cost)
    if any(each.path.startswith(_TAGS) for each in changes):
        return replace(change, downtime="tags of all AWS resources change, in place")
    return change


def _fields(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    now: Mapping[str, str],
    found: Mapping[str, ResourceChange],
) -> tuple[FieldChange, ...]:
    """What changes of a resource and is not to be ignored: inputs, those that follow other resources, and options."""
    changes = list(field_changes(before["inputs"], after["inputs"]))
    direct = {change.path.partition(".")[0].partition("[")[0] for change in changes}
    if "propertyDependencies" in before and "propertyDependencies" in after:
        changes += [
            each
            for each in follow_outputs(before, after, now, found)
            if each.path.partition(".")[0] not in direct or each.path in forcing(after["type"])
        ]
    ignored = after.get("options", {}).get("ignoreChanges", ())
    changes = [each for each in changes if not any(within(each.path, path) for path in ignored)]
    # Earlier revisions write no options, which does not mean that there were none.
    if "options" in before and "options" in after:
        changes += field_changes(_options(before), _options(after), "options")
    return tuple(changes)


def _options(resource: Mapping[str, Any]) -> dict[str, Any]:
    flags = {key: resource[key] for key in ("protect", "replaceOnChanges") if key in resource}
    return {
        key: ", ".join(value) if isinstance(value, list) else value
        for key, value in {**resource["options"], **flags}.items()
    }


def _graph(resource: Mapping[str, Any]) -> bool:
    return str(resource["type"]).endswith(":DynamoGraphDeployment")


def _component(resource: Mapping[str, Any]) -> str:
    """The nearest component's name, or the resource's own where it has none above it."""
    *_, parent_type, parent_name = resource["parent"].split("::") if resource["parent"] else ("", "")
    return resource["name"] if parent_type in ("", "pulumi:pulumi:Stack") else parent_name


def _replaces(resource: Mapping[str, Any], field: FieldChange, force: Sequence[str]) -> bool:
    """Whether the change of the field surely replaces the resource."""
    return (
        field.path == "provider"
        or replaces_provider(resource["type"], field)
        or any(within(field.path, each) for each in force)
    )


def _same(before: Any, after: Any) -> bool:
    if before == after:
        return True
    # A revision that writes no fingerprints cannot be compared by them.
    return "[secret]" in (before, after) and all(
        isinstance(side, str) and SECRET.fullmatch(side) for side in (before, after)
    )


def _as_mappings(value: Any, path: str) -> Any:
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
