"""How the programs of `scripts/` come into pods: from ConfigMaps, so that images need nothing installed. Pure."""

from importlib.resources import files
from typing import Any

from graphs.names import MANAGED_BY

PATH = "/opt/dynamo-gpt-oss"
"""Where pods mount the ConfigMap with their script."""


def text(script: str) -> str:
    """A script, by its file's name."""
    return files("graphs.scripts").joinpath(script).read_text()


def config_map(name: str, namespace: str, script: str) -> dict[str, Any]:
    """The ConfigMap that holds a script alone."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, "labels": dict(MANAGED_BY)},
        "data": {script: text(script)},
    }
