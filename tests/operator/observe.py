"""What an operator makes of a few graphs, in the form in which data/<release>/ keeps it."""

from pathlib import Path
from typing import Any

import yaml

from manifests.cache.model_cache import claim
from tests.embedded.example_graphs import Graph, alpha, beta, changed
from tests.operator import normal
from tests.operator.release import Object
from tests.operator.running import Operator

GRAPHS = "dynamographdeployments.nvidia.com"
_COMPONENT = "nvidia.com/dynamo-component"
_ORIGIN = "nvidia.com/dynamo-operator-origin-version"
_SECONDS = 120
_AGGREGATED = "spec/services/TrtllmPrefillWorker"
FOLDER = Path(__file__).parent / "data"


def examples() -> dict[str, Graph]:
    """Graphs that between them have every kind of component that targets have, by the name of the kept file."""
    scaled = changed(beta(), "spec/components/2/scalingAdapter", {})
    planner = {
        "name": "Planner",
        "type": "planner",
        "replicas": 1,
        "podTemplate": {
            "spec": {"containers": [{"name": "main", "image": "nvcr.io/x/dynamo-planner:1.3.1"}]}
        },
    }
    planned = changed(scaled, "spec/components", [*scaled["spec"]["components"], planner])
    aggregated = changed(alpha(), "spec/services/TrtllmDecodeWorker")
    return {
        "v1alpha1": alpha(),
        "v1beta1": beta(),
        "aggregated": changed(aggregated, f"{_AGGREGATED}/subComponentType"),
        "planner": planned,
    }


def file(line: str, example: str) -> Path:
    """Where it is kept what an operator of that release line made of the example."""
    return FOLDER / line / f"{example}.yaml"


def kept(line: str, example: str) -> Object:
    """What an operator of that release line made of the example."""
    found: Object = yaml.safe_load(file(line, example).read_text())
    return found


def lines() -> list[str]:
    """Release lines of which something is kept, oldest first."""
    return sorted(path.name for path in FOLDER.iterdir() if path.is_dir())


def prepare(operator: Operator, namespace: str) -> None:
    """A namespace with the claim that graphs mount."""
    operator.apply(
        [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
            claim(namespace, size="300Gi", storage_class=None),
        ]
    )


def wait_until_ready(operator: Operator, namespace: str) -> None:
    """Waits until every graph of a namespace is Ready as it is now. Raises ClusterError if one is not in time."""
    # kubectl holds the condition to the generation that the status was written for.
    how = ("--all", "--for=condition=Ready", f"--timeout={_SECONDS}s", f"--namespace={namespace}")
    operator.kubectl("wait", GRAPHS, *how)


def observe(operator: Operator, namespace: str, graph: Graph) -> Object:
    """Applies the graph, waits until it is Ready, and says what there is then."""
    name = graph["metadata"]["name"]
    operator.apply([changed(graph, "metadata/namespace", namespace)])
    wait_until_ready(operator, namespace)
    return made(operator, namespace, name)


def made(operator: Operator, namespace: str, name: str) -> Object:
    """Everything of a graph in its namespace, normalised."""

    def of(kind: str) -> list[Object]:
        found: list[Object] = operator.get(kind, f"--namespace={namespace}")
        return sorted(found, key=lambda one: str(one["metadata"]["name"]))

    graph = operator.get(GRAPHS, name, f"--namespace={namespace}")
    parts = of("dynamocomponentdeployments.nvidia.com")
    pods, services, deployments = of("pods"), of("services"), of("deployments")
    names = [(namespace, "NAMESPACE")]
    names += [(one, "HASH") for one in normal.hashes([graph, *parts, *pods, *deployments])]
    names += [(graph["metadata"]["annotations"].get(_ORIGIN, "UNKNOWN"), "VERSION")]
    for one in pods:
        random = one["metadata"]["name"].removeprefix(one["metadata"].get("generateName", ""))
        names += [(random, "RANDOM")]
        if template := one["metadata"].get("labels", {}).get("pod-template-hash"):
            names += [(template, "TEMPLATE")]
    content: dict[str, Any] = {
        "graph": _own(graph, "labels", "annotations", "finalizers"),
        "status": normal.status(graph),
        # Without annotations: they hold the operator's own notes.
        "components": {one["metadata"]["name"]: _own(one, "labels", "finalizers") for one in parts},
        "deployments": {
            one["metadata"]["name"]: {
                "replicas": one["spec"]["replicas"],
                "strategy": one["spec"].get("strategy", {}),
                "selector": one["spec"]["selector"].get("matchLabels", {}),
            }
            for one in deployments
        },
        "pods": {
            one["metadata"]["labels"].get(_COMPONENT, "?"): {
                "name": one["metadata"]["name"],
                **normal.pod(one),
            }
            for one in pods
        },
        "services": {one["metadata"]["name"]: normal.service(one) for one in services},
        "adapters": {
            one["metadata"]["name"]: {"spec": one["spec"], "status": _adapter_status(one)}
            for one in of("dynamographdeploymentscalingadapters.nvidia.com")
        },
        "beside": {
            kind: [one["metadata"]["name"] for one in of(kind) if one["metadata"]["name"] != "default"]
            for kind in ("serviceaccounts", "roles", "rolebindings", "configmaps", "secrets")
        },
    }
    found: Object = normal.replaced({key: value for key, value in content.items() if value}, names)
    return found


def _own(one: Object, *keys: str) -> Object:
    """What an object's metadata says under those keys."""
    return {key: one["metadata"][key] for key in keys if one["metadata"].get(key)}


def _adapter_status(one: Object) -> Object:
    return {key: value for key, value in one.get("status", {}).items() if key in ("replicas", "selector")}
