"""Side by side: every published value is in the rendered graph, or is listed as a difference with its reason."""

from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from docs.generate.differences import DIFFERENCES
from manifests.graph.deployment import graph_deployment
from manifests.graph.workers import engine_files
from stacks.load import parse
from targets.catalogue import TARGETS
from targets.plan import GraphPlan
from tests.manifests.published import SOURCES, Published

ALWAYS_SAID = {"componentType", "replicas", "image", "node affinity nvidia.com/gpu.present", "runAsUser"}
"""Fields of every graph; they differ from a source only where the source says something else."""


def rendered(published: Published) -> dict[str, dict[str, str | None]]:
    """Items of each role of the graph, its workers as pods of their own, spelt as in `published`."""
    values = {
        "target": published.target,
        "cluster": {"kind": "existing"},
        "platform": {"install": False},
        "graph": {"dynamoVersion": published.version, "transport": "node"},
    }
    plan = parse(values, set()).main
    manifest = graph_deployment(plan, "dynamo")
    return {
        role: items(plan, role, component, pod, main)
        for role, component, pod, main in components(manifest["spec"])
    }


def components(spec: Mapping[str, Any]) -> list[tuple[str, Any, Any, Any]]:
    """(role, component, pod, main container) of either API version."""
    found = []
    for component in [*spec.get("services", {}).values(), *spec.get("components", ())]:
        if "extraPodSpec" in component:
            pod = component["extraPodSpec"]
            role, main = component.get("subComponentType", component["componentType"]), pod["mainContainer"]
        else:
            pod = component["podTemplate"]["spec"]
            role, main = component["type"], pod["containers"][0]
        found.append((role, component, pod, main))
    return found


def items(plan: GraphPlan, role: str, component: Any, pod: Any, main: Any) -> dict[str, str | None]:
    found: dict[str, str | None] = flags(main["args"])
    found |= {entry["name"]: entry["value"] for entry in main["env"]}
    resources = component.get("resources") or main.get("resources") or {}
    requests = {
        key: value for key, value in resources.get("requests", {}).items() if key in ("cpu", "memory")
    }
    limits = resources.get("limits", {})
    if gpus := limits.get("gpu") or limits.get("nvidia.com/gpu"):
        found["gpus"] = gpus
    if requests:
        found["requests"] = " ".join(f"{key}={value}" for key, value in sorted(requests.items()))
    if memory := component.get("sharedMemory", {}).get("size") or component.get("sharedMemorySize"):
        found["shared memory"] = memory
    for claim in pod.get("resourceClaims", ()):
        found["claim"] = f"{claim['name']} {claim['resourceClaimTemplateName']}"
    found["image"] = main["image"]
    found["replicas"] = str(component["replicas"])
    found["componentType"] = component.get("componentType") or component["type"]
    found["runAsUser"] = str(pod["securityContext"]["runAsUser"])
    if "add" in main["securityContext"]["capabilities"]:
        found["capabilities"] = " ".join(main["securityContext"]["capabilities"]["add"])
    return found | placement(pod) | files(plan, role)


def flags(args: list[str]) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for position, word in enumerate(args):
        if word.startswith("--"):
            after = args[position + 1] if position + 1 < len(args) else "--"
            assert word not in found, f"{word} is said twice"
            found[word] = None if after.startswith("--") else after
    return found


def placement(pod: Any) -> dict[str, str | None]:
    affinity, found = pod["affinity"], {}
    required = affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    for expression in required["nodeSelectorTerms"][0]["matchExpressions"]:
        if expression["key"] == "nvidia.com/gpu.present":
            found["node affinity nvidia.com/gpu.present"] = ",".join(expression["values"])
    for term in affinity.get("podAntiAffinity", {}).get(
        "preferredDuringSchedulingIgnoredDuringExecution", ()
    ):
        labels = term["podAffinityTerm"]["labelSelector"]["matchLabels"]
        found["frontend anti-affinity"] = labels["nvidia.com/dynamo-graph-deployment-name"]
    return dict(found)


def files(plan: GraphPlan, role: str) -> dict[str, str | None]:
    name = f"{'config' if role == 'worker' else role}.yaml"
    content = engine_files(plan).get(name)
    return {f"file: {key}": value for key, value in flat(yaml.safe_load(content or "{}"), "").items()}


def flat(value: Any, prefix: str) -> dict[str, str | None]:
    if not isinstance(value, Mapping):
        return {prefix.removesuffix("."): str(value)}
    return {k: v for key, inner in value.items() for k, v in flat(inner, f"{prefix}{key}.").items()}


def differing(published: Published) -> set[str]:
    """Items that source and graph do not have in common with one value."""
    found: set[str] = set()
    graph = rendered(published)
    assert graph.keys() == published.roles.keys()
    for role, said in published.roles.items():
        ours = graph[role]
        for item in said.keys() | (ours.keys() - ALWAYS_SAID):
            if item not in said or item not in ours or said[item] != ours[item]:
                remote_code = role == "frontend" and item == "--trust-remote-code"
                found.add(f"frontend {item}" if remote_code else item)
    return found


@pytest.mark.parametrize("published", SOURCES, ids=lambda source: f"{source.target}-{source.version}")
def test_every_published_value_is_there_or_listed_as_a_difference(published: Published) -> None:
    listed = {item for each in DIFFERENCES if published.target in each.targets for item in each.items}
    assert differing(published) - listed == set()


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda each: each.items[0])
def test_every_listed_difference_is_one(difference: Any) -> None:
    """For each target that it names some item differs, and each item differs for some target."""
    found = {
        target: {item for source in SOURCES if source.target == target for item in differing(source)}
        for target in difference.targets
    }
    assert all(set(difference.items) & items for items in found.values()), found
    assert set(difference.items) <= {item for items in found.values() for item in items}


def test_every_target_has_its_source() -> None:
    assert {source.target for source in SOURCES} == TARGETS.keys()
