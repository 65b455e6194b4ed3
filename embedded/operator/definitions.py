"""What the stand-in serves and refuses: its CustomResourceDefinitions, closed, and the rules of Dynamo's webhook.

They are in definitions.yaml, compute_domains.yaml and admission.yaml. Rules are a policy of the API server's own.
"""

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from embedded.operator.api import Api, ApiError, path_of
from embedded.operator.components import Object, digest_of
from embedded.operator.platform import SIMULATED, GraphVersion, Platform
from facts.releases import Version

GROUP, PLURAL = "nvidia.com", "dynamographdeployments"
PRINCIPAL = "system:serviceaccount:dynamo-system:dynamo-platform-dynamo-operator-controller-manager"
"""Who may change the replicas of a component that has an adapter: the operator's service account."""
IN_FORCE = "these rules are in force"
"""What `probe` is refused with."""
_FOLDER = Path(__file__).parent
_CONDITIONS = ("x-since", "x-grove")
"""The first release that has a part of a file, and whether it takes Grove."""

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
    found = definitions(version, platform, document["components"]["schemas"])
    await _make_way(api, found[0], version)
    await _serve(api, found)
    await install_compute_domains(api)
    await _enforce(api, version, platform)


async def install_compute_domains(api: Api) -> None:
    """Installs what NVIDIA's DRA driver brings: the ComputeDomain's definition and the class of its channels."""
    await _serve(api, _documents("compute_domains.yaml"))


def definitions(version: GraphVersion, platform: Platform, schemas: Mapping[str, Any]) -> list[Object]:
    """The definitions of graphs, in one API version, and of their scaling adapters.

    One version because the API server cannot convert between the two, and server-side apply fails on an object that
    has fields of both. schemas: `components.schemas` of that API server's `/openapi/v3/api/v1`.
    """
    graphs, adapters = _documents("definitions.yaml")
    graphs["spec"]["versions"] = [one for one in graphs["spec"]["versions"] if one["name"] == version]
    return [_fill(graphs, platform, schemas), adapters]


def policy(platform: Platform) -> list[Object]:
    """The ValidatingAdmissionPolicy of the platform and its binding."""
    rules, binding = (_fill(one, platform, {}) for one in _documents("admission.yaml"))
    validations = rules["spec"]["validations"]
    probe = f"probe-{digest_of(validations)}"
    for rule in validations:
        rule["expression"] = rule["expression"].replace("PRINCIPAL", PRINCIPAL).replace("PROBE", probe)
    return [rules, binding]


def probe(version: GraphVersion, rules: Object) -> Object:
    """The graph that just these rules refuse."""
    name = rules["spec"]["validations"][-1]["expression"].split("'")[1]
    spec: Object = {"services": {}} if version == "v1alpha1" else {"components": []}
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": name},
        "spec": spec,
    }


def _documents(file: str) -> list[Object]:
    found = list(yaml.safe_load_all((_FOLDER / file).read_text()))
    for one in found:
        one["metadata"]["labels"] = SIMULATED
    return found


def _fill(node: Any, platform: Platform, schemas: Mapping[str, Any]) -> Any:
    """Without what is not of the platform, and with the API server's schema for each `$ref`.

    x-optional: the property of that schema that need not be there.
    """
    if isinstance(node, list):
        return [_fill(one, platform, schemas) for one in node if _is_of(platform, one)]
    if not isinstance(node, dict):
        return node
    filled = {
        key: _fill(value, platform, schemas)
        for key, value in node.items()
        if key not in _CONDITIONS and _is_of(platform, value)
    }
    if "$ref" not in filled:
        return filled
    schema = structural_schema(schemas, filled["$ref"])
    if "x-optional" not in filled:
        return schema
    return {
        **schema,
        "required": [key for key in schema["required"] if key != filled["x-optional"]],
        "properties": schema["properties"] | filled.get("properties", {}),
    }


def _is_of(platform: Platform, node: Any) -> bool:
    conditions = node if isinstance(node, dict) else {}
    since = Version.parse(f"{conditions.get('x-since', '0.0')}.0")
    return platform.version >= since and (platform.grove or "x-grove" not in conditions)


def structural_schema(schemas: Mapping[str, Any], name: str) -> Object:
    """The schema `name` of an API server's OpenAPI v3 document as a closed structural schema without references.

    Raises KeyError for a name that it does not hold.
    """
    return _REPLACED.get(name.rpartition(".")[2]) or _resolve(schemas, schemas[name])


def _resolve(schemas: Mapping[str, Any], node: Mapping[str, Any]) -> Object:
    for part in (node, *node.get("allOf", ())):
        if "$ref" in part:
            return structural_schema(schemas, part["$ref"].rpartition("/")[2])
    resolved: Object = {key: node[key] for key in _KEPT if key in node}
    if "properties" in node:
        resolved["properties"] = {
            key: _with_default(_resolve(schemas, value), value, key in node.get("required", ()))
            for key, value in node["properties"].items()
        }
    for key in {"items", "additionalProperties"} & node.keys():
        resolved[key] = _resolve(schemas, node[key])
    return resolved


def _with_default(schema: Object, node: Mapping[str, Any], required: bool) -> Object:
    """The property with its default, unless that is Go's zero value: the document has one for every required field,
    which would then never be missed, and {} for every struct, which would add fields that nobody wrote.
    """
    default = node.get("default")
    return schema if default in (None, {}) or (required and not default) else schema | {"default": default}


async def _serve(api: Api, desired: Iterable[Object]) -> None:
    for one in desired:
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
        found = [one["metadata"] for one in graphs["items"]]
        names = ", ".join(f"{metadata['namespace']}/{metadata['name']}" for metadata in found)
        raise ApiError(f"cannot serve {GROUP}/{version}: {names} exist in {stored[0]}; delete them first")
    await api.request("DELETE", path_of(definition))
    while await api.request("GET", path_of(definition)):
        await asyncio.sleep(0.05)


async def _enforce(api: Api, version: GraphVersion, platform: Platform) -> None:
    """The API server takes up rules some time after it has stored them; a graph that they refuse tells when."""
    rules, binding = policy(platform)
    for one in (rules, binding):
        await api.apply(one)
    refused = probe(version, rules)
    collection = f"/apis/{GROUP}/{version}/namespaces/default/{PLURAL}?dryRun=All"
    while True:
        try:
            await api.request("POST", collection, refused)
        except ApiError as error:
            if IN_FORCE in str(error):
                return
            raise
        await asyncio.sleep(0.05)
