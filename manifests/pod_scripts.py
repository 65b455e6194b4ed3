"""How the programs of `scripts/` come into pods: from ConfigMaps, so that images need nothing installed. Pure."""

from importlib.resources import files
from typing import Any

from manifests import objects

PATH = "/opt/dynamo-gpt-oss"
"""Where pods mount the ConfigMap with their script."""


def text(script: str) -> str:
    """A script, by its path in `scripts/`."""
    return files("pods").joinpath(script).read_text()


def config_map(name: str, namespace: str, script: str) -> dict[str, Any]:
    """The ConfigMap that holds a script alone."""
    return objects.config_map(name, namespace, {script: text(script)})


def package_config_map(name: str, namespace: str, package: str) -> dict[str, Any]:
    """The ConfigMap that holds the modules of a package of `scripts/`, to be mounted as a folder of its name."""
    modules = [each.name for each in files("pods").joinpath(package).iterdir()]
    scripts = sorted(module for module in modules if module.endswith(".py"))
    return objects.config_map(name, namespace, {script: text(f"{package}/{script}") for script in scripts})


def volume(config_map: str, name: str = "script") -> dict[str, Any]:
    """The ConfigMap of a script as a pod's volume."""
    return {"name": name, "configMap": {"name": config_map}}


def mount(name: str = "script", package: str | None = None) -> dict[str, Any]:
    """That volume in a container. package: what its modules are imported from, None for a script alone."""
    return {"name": name, "mountPath": f"{PATH}/{package}" if package else PATH, "readOnly": True}
