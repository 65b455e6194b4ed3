"""How the programs of `scripts/` come into pods: from ConfigMaps, so that images need nothing installed. Pure."""

from importlib.resources import files
from typing import Any

from graphs.names import MANAGED_BY

PATH = "/opt/dynamo-gpt-oss"
"""Where pods mount the ConfigMap with their script."""


def text(script: str) -> str:
    """A script, by its path in `scripts/`."""
    return files("graphs.scripts").joinpath(script).read_text()


def config_map(name: str, namespace: str, script: str) -> dict[str, Any]:
    """The ConfigMap that holds a script alone."""
    return _config_map(name, namespace, {script: text(script)})


def package_config_map(name: str, namespace: str, package: str) -> dict[str, Any]:
    """The ConfigMap that holds the modules of a package of `scripts/`, to be mounted as a folder of its name."""
    modules = [each.name for each in files("graphs.scripts").joinpath(package).iterdir()]
    scripts = sorted(module for module in modules if module.endswith(".py"))
    return _config_map(name, namespace, {script: text(f"{package}/{script}") for script in scripts})


def _config_map(name: str, namespace: str, data: dict[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, "labels": dict(MANAGED_BY)},
        "data": data,
    }
