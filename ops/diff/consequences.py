"""What follows for a resource from changes of those it depends on, as the engine would find out in a preview. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from ops.diff.changes import Action, FieldChange, ResourceChange
from ops.diff.replacements import forcing, within
from ops.evaluate import UNKNOWN
from stacks.pools import MAIN_NODES
from targets.node_updates import needs_new_nodes, refusal, silence
from targets.timeline import Setting

NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
_NO_NEW_VERSION = ("tags", "description", "defaultVersion", "updateDefaultVersion", "options")
"""Inputs of a launch template that belong to the template, not to one of its versions."""
_GPU = "nvidia.com/gpu.present"
_ASSUMED = "by the timeline's assumptions"


def follow_outputs(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    now: Mapping[str, str],
    changes: Mapping[str, ResourceChange],
) -> Iterator[FieldChange]:
    """Inputs that are other resources' outputs and so change with them, though both synths show them as unknown.

    now: today's URN by the one in the base. changes: of all that comes before, by URN.
    """
    force = forcing(after["type"])
    for name, urns in after["propertyDependencies"].items():
        path = next((field for field in force if within(field, name)), name)
        anew = [urn for urn in urns if _is_replaced(changes.get(urn))]
        was = {now.get(urn, urn) for urn in before["propertyDependencies"].get(name, ())}
        if not (_unknown(after["inputs"].get(name)) or path in force):
            continue
        if anew:
            yield FieldChange(path=path, before=UNKNOWN, after=f"{UNKNOWN} of {_names(anew)}, made anew")
        elif was != set(urns) and _unknown(before["inputs"].get(name)):
            yield FieldChange(
                path=path, before=f"{UNKNOWN} of {_names(was)}", after=f"{UNKNOWN} of {_names(urns)}"
            )
        elif any(_new_version(changes.get(urn)) for urn in urns) and after["type"] == NODE_GROUP:
            yield FieldChange(
                path=f"{name}.version", before=UNKNOWN, after=f"{UNKNOWN} of {_names(urns)}, the next"
            )
    provider = changes.get(after.get("provider", ""))
    if provider is not None and provider.action is Action.REPLACE:
        yield FieldChange(path="provider", before=UNKNOWN, after=f"{UNKNOWN}, of another cluster")


def node_group_costs(
    before: Mapping[str, Any], change: ResourceChange, settings: Mapping[str, Setting]
) -> tuple[str, str]:
    """What the change of a node group costs in time, and why `up` would refuse it; empty where nothing.

    settings: what decides a rollout, by the name of its GPU nodes' group.
    """
    inputs, paths = before["inputs"], [field.path for field in change.fields]
    running = int(inputs["scalingConfig"]["desiredSize"])
    replaced = change.action is Action.REPLACE
    if not running or not (replaced or needs_new_nodes(paths)):
        return "", ""
    gpus = _GPU in inputs.get("labels", {})
    nodes = f"{running} {'GPU' if gpus else 'CPU'} node{'s' if running > 1 else ''}"
    if not gpus:
        return f"replaces {nodes}, new ones first: graphs answer throughout", ""
    what = f"makes {nodes} anew" if replaced else f"restarts {nodes}"
    minutes = silence(running, settings[change.name], at_once=replaced)
    cost = f"{what}, ~{minutes:.0f} min without its graphs ({_ASSUMED})"
    guarded = "before_update" in before.get("options", {}).get("hooks", {}) and not replaced
    pool = change.name.removeprefix(MAIN_NODES).removeprefix("-")
    if not guarded:
        return cost, ""
    return cost, f"dynamo-gpt-oss:{refusal(f'pools[{pool}]' if pool else 'pool', running)}"


def replaces_provider(kind: str, field: FieldChange) -> bool:
    """Whether the objects of a Kubernetes provider are another cluster's from then on."""
    return kind == "pulumi:providers:kubernetes" and field.path == "kubeconfig" and _unknown(field.before)


def _is_replaced(change: ResourceChange | None) -> bool:
    return change is not None and change.action is Action.REPLACE


def _new_version(change: ResourceChange | None) -> bool:
    return (
        change is not None
        and change.type == _TEMPLATE
        and change.action is Action.UPDATE
        and any(field.path.partition(".")[0] not in _NO_NEW_VERSION for field in change.fields)
    )


def _unknown(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_unknown, value.values()))
    if isinstance(value, list):
        return any(map(_unknown, value))
    return isinstance(value, str) and value.startswith(UNKNOWN)


def _names(urns: Any) -> str:
    return ", ".join(sorted(urn.rpartition("::")[2] for urn in urns)) or "nothing"
