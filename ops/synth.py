"""`synth`: every resource that a stack would register, written as files; needs no Pulumi CLI, cloud or credentials."""

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from ops.evaluate import Evaluation, Resource, Secret
from ops.fingerprint import placeholder
from ops.options import Format


def is_manifest(resource: Resource) -> bool:
    """Whether the resource is a Kubernetes object that the stack makes."""
    return not resource.read and {"apiVersion", "kind", "metadata"} <= resource.inputs.keys()


def manifests(evaluation: Evaluation) -> list[Resource]:
    """The Kubernetes objects, in dependency order."""
    return [resource for resource in evaluation.resources if is_manifest(resource)]


def mask(value: Any) -> Any:
    """The value with every secret replaced by a placeholder."""
    if isinstance(value, Secret):
        return placeholder(value.value)
    if isinstance(value, Mapping):
        return {key: mask(item) for key, item in value.items()}
    return [mask(item) for item in value] if isinstance(value, list) else value


def describe(evaluation: Evaluation) -> dict[str, Any]:
    """The content of resources.json."""
    return {
        "stack": evaluation.stack,
        "outputs": mask(evaluation.outputs),
        "resources": [_describe_resource(resource) for resource in evaluation.resources],
    }


def render(evaluation: Evaluation, form: Format) -> str:
    """All of it as one text, YAML or JSON."""
    if form is Format.JSON:
        return json.dumps(describe(evaluation), indent=2, sort_keys=True) + "\n"
    return "---\n".join(_yaml(resource) for resource in manifests(evaluation))


def write_tree(evaluation: Evaluation, folder: Path) -> Iterator[Path]:
    """Write resources.json and manifests/; yields each path. Replaces what an earlier synth wrote there."""
    objects = folder / "manifests"
    shutil.rmtree(objects, ignore_errors=True)
    objects.mkdir(parents=True)
    path = folder / "resources.json"
    path.write_text(render(evaluation, Format.JSON))
    yield path
    for position, resource in enumerate(manifests(evaluation), start=1):
        name = f"{position:02d}-{resource.inputs['kind'].lower()}-{resource.inputs['metadata']['name']}.yaml"
        path = objects / name
        path.write_text(_yaml(resource))
        yield path


def _describe_resource(resource: Resource) -> dict[str, Any]:
    written: dict[str, Any] = {
        "urn": resource.urn,
        "type": resource.type,
        "name": resource.name,
        "parent": resource.parent,
        "dependencies": list(resource.dependencies),
        "propertyDependencies": {key: list(urns) for key, urns in resource.property_dependencies.items()},
        "inputs": mask(resource.inputs),
        "options": dict(resource.options),
    }
    if resource.aliases:
        written["aliases"] = list(resource.aliases)
    if resource.provider:
        written["provider"] = resource.provider
    if resource.read:
        written["read"] = True
    if resource.protect:
        written["protect"] = True
    if resource.replace_on_changes:
        written["replaceOnChanges"] = list(resource.replace_on_changes)
    return written


class _Dumper(yaml.SafeDumper):
    """Quotes the words that kubectl's YAML 1.1 reads as booleans and PyYAML does not."""


_Dumper.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^[yYnN]$"), list("yYnN"))


def _yaml(resource: Resource) -> str:
    return yaml.dump(mask(resource.inputs), Dumper=_Dumper, sort_keys=True, allow_unicode=True, width=1000)
