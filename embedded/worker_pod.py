"""Pods whose container runs several workers (pods/run_workers.py), as one pod a worker. Pure."""

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

_SCRIPT = "run_workers.py"


def members(pod: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The pod itself, or for each worker in it a pod with that worker's name and command line."""
    containers = pod["spec"]["containers"]
    main = next((each for each in containers if each["name"] == "main"), containers[0])
    if not any(word.endswith(f"/{_SCRIPT}") for word in main.get("command", ())):
        yield pod
        return
    for line in main["args"]:
        name, _, words = line.partition(": ")
        container = {**main, "command": [], "args": shlex.split(words)}
        metadata = pod["metadata"]
        yield {
            **pod,
            "metadata": {
                **metadata,
                "name": f"{metadata['name']}-{name}",
                "uid": f"{metadata['uid']}/{name}",
            },
            "spec": {**pod["spec"], "containers": [container]},
        }
