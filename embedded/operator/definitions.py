"""What the stand-in serves: its CustomResourceDefinitions, and the device class of ComputeDomains."""

import asyncio

from embedded import crds
from embedded.operator.api import Api, ApiError, cluster_object, path_of
from embedded.operator.components import Object
from embedded.operator.drivers import CHANNEL_CLASS, CHANNEL_DRIVER
from embedded.operator.platform import Platform

GROUP, PLURAL = "nvidia.com", "dynamographdeployments"


async def install(api: Api, version: crds.Version, platform: Platform) -> None:
    """Installs or updates the definitions and waits until they are served.

    A definition in another version is replaced while it has no graphs. Raises ApiError where it has.
    """
    document = await api.request("GET", "/openapi/v3/api/v1")
    pod_spec = crds.structural(document["components"]["schemas"], "io.k8s.api.core.v1.PodSpec")
    graphs = crds.dynamo_graph_deployment(version, pod_spec, platform.version)
    parts = crds.dynamo_component_deployment(version, pod_spec, platform.version)
    for definition in (graphs, parts):
        await _make_way(api, definition, version)
    for definition in (graphs, parts, crds.scaling_adapter()):
        await _serve(api, definition)
    await install_compute_domains(api)


async def install_compute_domains(api: Api) -> None:
    """Installs what NVIDIA's DRA driver brings: the ComputeDomain's definition and the class of its channels."""
    await _serve(api, crds.compute_domain())
    selector = (
        f"device.driver == '{CHANNEL_DRIVER}' && device.attributes['{CHANNEL_DRIVER}'].type == 'channel' && "
        f"device.attributes['{CHANNEL_DRIVER}'].id == 0"
    )
    await api.apply(
        cluster_object("DeviceClass", CHANNEL_CLASS, {"selectors": [{"cel": {"expression": selector}}]})
    )


async def _serve(api: Api, definition: Object) -> None:
    await api.apply(definition)
    while not await _served(api, definition):
        await asyncio.sleep(0.05)


async def _make_way(api: Api, definition: Object, version: str) -> None:
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


async def _served(api: Api, definition: Object) -> bool:
    """Whether discovery lists the resource: what is established a moment before it would not be watched."""
    spec = definition["spec"]
    listed = await api.request("GET", f"/apis/{spec['group']}/{spec['versions'][0]['name']}")
    names = [resource["name"] for resource in listed["resources"]] if listed else ()
    return spec["names"]["plural"] in names
