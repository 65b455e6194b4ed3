"""What tests read off rendered graphs."""

from typing import Any


def components(manifest: dict[str, Any]) -> dict[str, tuple[Any, Any, Any]]:
    """Component, pod and container `main` by name, in either API version."""
    spec = manifest["spec"]
    found = {
        name: (service, service["extraPodSpec"], service["extraPodSpec"]["mainContainer"])
        for name, service in spec.get("services", {}).items()
    }
    for component in spec.get("components", ()):
        pod = component["podTemplate"]["spec"]
        found[component["name"]] = (component, pod, pod["containers"][0])
    return found
