"""What the stand-in serves: its CustomResourceDefinitions (definitions.yaml, compute_domains.yaml), closed."""

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from embedded.operator import admission
from embedded.operator.api import Api, ApiError, path_of
from embedded.operator.components import Object
from embedded.operator.platform import SIMULATED, GraphVersion, Platform
from facts.releases import Version

GROUP, PLURAL = "nvidia.com", "dynamographdeployments"
_FOLDER = Path(__file__).parent

_TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
_INT_OR_STRING = {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
_REPLACED: Mapping[str, Object] = {
    "Quantity": _INT_OR_STRING
    | {"pattern": r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$"},
    "IntOrString": _INT_OR_STRING,
    "ObjectMeta": {"type": "object", "properties": {"annotations": _TEXTS, "labels": _TEXTS}},
}
_KEPT = ("type", "format", "required", "enum", "x-kubernetes-list-type", "x-kubernetes-list-map-keys",
         "x-kubernetes-map-type")  # fmt: skip


async def install(api: Api, version: GraphVersion, platform: Platform) -> None:
    """Installs or updates definitions and rules, and waits until they are in force.

    A definition in another version is replaced while it has no graphs. Raises ApiError where it has.
    """
    document = await api.request("GET", "/openapi/v3/api/v1")
    found = definitions(version, platform.version, document["components"]["schemas"])
    await _make_way(api, found[0], version)
    await _serve(api, found)
    await install_compute_domains(api)
    await _enforce(api, version, platform)


async def install_compute_domains(api: Api) -> None:
    """Installs what NVIDIA's DRA driver brings: the ComputeDomain's definition and the class of its channels."""
    await _serve(api, _documents("compute_domains.yaml"))


def definitions(version: GraphVersion, release: Version, schemas: Mapping[str, Any]) -> list[Object]:
    """The definitions of graphs, in one API version, and of their scaling adapters, of an operator's release.

    One version because the API server cannot convert between the two, and server-side apply fails on an object that
    has fields of both. schemas: `components.schemas` of that API server's `/openapi/v3/api/v1`.
    """
    graphs, adapters = _documents("definitions.yaml")
    graphs["spec"]["versions"] = [one for one in graphs["spec"]["versions"] if one["name"] == version]
    return [_filled(graphs, release, schemas), adapters]


def _documents(file: str) -> list[Object]:
    found = list(yaml.safe_load_all((_FOLDER / file).read_text()))
    for one in found:
        one["metadata"]["labels"] = SIMULATED
    return found


def _filled(node: Any, release: Version, schemas: Mapping[str, Any]) -> Any:
    """Without what is `x-since` a later release, and with the API server's schema for each `$ref`.

    x-optional: the property of that schema that need not be there.
    """
    if isinstance(node, list):
        return [_filled(one, release, schemas) for one in node]
    if not isinstance(node, dict):
        return node
    filled = {
        key: _filled(value, release, schemas)
        for key, value in node.items()
        if key != "x-since" and not (isinstance(value, dict) and _is_later(value, release))
    }
    if "$ref" not in filled:
        return filled
    schema = structural(schemas, filled["$ref"])
    if "x-optional" not in filled:
        return schema
    return {
        **schema,
        "required": [key for key in schema["required"] if key != filled["x-optional"]],
        "properties": schema["properties"] | filled.get("properties", {}),
    }


def _is_later(node: Object, release: Version) -> bool:
    return release < Version.parse(f"{node.get('x-since', '0.0')}.0")


def structural(schemas: Mapping[str, Any], name: str) -> Object:
    """The schema `name` of an API server's OpenAPI v3 document as a closed structural schema without references.

    Raises KeyError for a name that it does not hold.
    """
    return _REPLACED.get(name.rpartition(".")[2]) or _resolved(schemas, schemas[name])


def _resolved(schemas: Mapping[str, Any], node: Mapping[str, Any]) -> Object:
    for part in (node, *node.get("allOf", ())):
        if "$ref" in part:
            return structural(schemas, part["$ref"].rpartition("/")[2])
    resolved: Object = {key: node[key] for key in _KEPT if key in node}
    if "properties" in node:
        resolved["properties"] = {
            key: _with_default(_resolved(schemas, value), value, key in node.get("required", ()))
            for key, value in node["properties"].items()
        }
    for key in {"items", "additionalProperties"} & node.keys():
        resolved[key] = _resolved(schemas, node[key])
    return resolved


def _with_default(schema: Object, node: Mapping[str, Any], required: bool) -> Object:
    """The property with its default, unless that is Go's zero value: the document has one for every required field,
    which would then never be missed, and {} for every struct, which would add fields that nobody wrote.
    """
    default = node.get("default")
    return schema if default in (None, {}) or (required and not default) else schema | {"default": default}


async def _serve(api: Api, wanted: Iterable[Object]) -> None:
    for one in wanted:
        await api.apply(one)
        while one["kind"] == "CustomResourceDefinition" and not await _is_served(api, one):
            await asyncio.sleep(0.05)


async def _is_served(api: Api, definition: Object) -> bool:
    """Whether discovery lists the resource: what is established a moment before it would not be watched."""
    spec = definition["spec"]
    listed = await api.request("GET", f"/apis/{spec['group']}/{spec['versions'][0]['name']}")
    names = [resource["name"] for resource in listed["resources"]] if listed else ()
    return spec["names"]["plural"] in names


async def _make_way(api: Api, definition: Object, version: GraphVersion) -> None:
    live = await api.request("GET", path_of(definition))
    stored = live["status"].get("storedVersions", [version]) if live else [version]
    if stored == [version]:
        return
    graphs = await api.request("GET", f"/apis/{GROUP}/{stored[0]}/{PLURAL}")
    if graphs and graphs["items"]:
        names = ", ".join(
            f"{one['metadata']['namespace']}/{one['metadata']['name']}" for one in graphs["items"]
        )
        raise ApiError(f"cannot serve {GROUP}/{version}: {names} exist in {stored[0]}; delete them first")
    await api.request("DELETE", path_of(definition))
    while await api.request("GET", path_of(definition)):
        await asyncio.sleep(0.05)


async def _enforce(api: Api, version: GraphVersion, platform: Platform) -> None:
    """The API server takes up rules some time after it has stored them; a graph that they refuse tells when."""
    policy, binding = admission.policy(platform)
    for one in (policy, binding):
        await api.apply(one)
    probe = admission.probe(version, policy)
    collection = f"/apis/{GROUP}/{version}/namespaces/default/{PLURAL}?dryRun=All"
    while True:
        try:
            await api.request("POST", collection, probe)
        except ApiError as error:
            if admission.IN_FORCE in str(error):
                return
            raise
        await asyncio.sleep(0.05)
