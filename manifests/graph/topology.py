"""What of a graph the operator lets nobody change. Pure."""

from collections.abc import Mapping
from typing import Any

from manifests.names import LABEL_PREFIX

TOPOLOGY_ANNOTATION = f"{LABEL_PREFIX}/topology"
"""On the DynamoGraphDeployment: when its value changes, the graph has to be deleted and made anew."""


def topology(deployment: Mapping[str, Any]) -> str:
    """Engine, components and multi-node components of a graph, for example `trtllm: Frontend, TrtllmWorker×2`.

    The operator's webhook refuses to change any of them on an existing graph.
    """
    spec = deployment["spec"]
    components = spec.get("services") or {each["name"]: each for each in spec["components"]}
    parts = [
        f"{name}×nodes" if "multinode" in component else name
        for name, component in sorted(components.items())
    ]
    return f"{spec.get('backendFramework', 'mocker')}: {', '.join(parts)}"
