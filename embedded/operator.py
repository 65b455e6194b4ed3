"""A stand-in for Dynamo's operator on the embedded cluster: `python -m embedded.operator --help`.

Scaffolding for newcomers and tests, never for a real cluster. It serves the definitions in crds.py, refuses what
admission.py refuses, makes of each graph what reconcile.py says, and stands in for NVIDIA's ComputeDomain driver
and for the storage provisioner of the embedded cluster. It writes nothing into the objects of its users but their
status and the replicas that a scaling adapter decides, and needs no finalizer: what it creates belongs to its owner and
goes with it, operator running or not.
"""

import argparse
import asyncio
import logging
import os
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self, get_args

import aiohttp
import kopf

from embedded import admission, crds, reconcile
from embedded.crds import SIMULATED
from embedded.reconcile import GRAPH, Object
from targets.hardware import GPU_PRODUCT, Gpu

GROUP, PLURAL = "nvidia.com", "dynamographdeployments"
ADAPTERS = "dynamographdeploymentscalingadapters"
PROVISIONER = "dynamo-gpt-oss.embedded/rwx"
"""Of the StorageClass whose claims are bound here."""
CHANNEL_CLASS, CHANNEL_DRIVER = "compute-domain-default-channel.nvidia.com", "compute-domain.nvidia.com"

_MANAGER = "dynamo-operator-stand-in"
_PRINCIPAL = "system:serviceaccount:dynamo-system:dynamo-platform-dynamo-operator-controller-manager"
"""Whom the webhook lets change the replicas of a component that has an adapter: the operator's service account."""
_AS_PRINCIPAL = {"Impersonate-User": _PRINCIPAL, "Impersonate-Group": "system:masters"}
_RULES = "rules"
_RETRY_SECONDS = 1.0
_CLUSTER_SCOPED = ("CustomResourceDefinition", "DeviceClass", "PersistentVolume", "ResourceSlice",
                   "ValidatingWebhookConfiguration")  # fmt: skip
_log = logging.getLogger(__name__)


class ApiError(Exception):
    """A request was refused; the message says why, mostly in the API server's words."""


class Api:
    """The few requests that the stand-in makes, as the user of $KUBECONFIG."""

    def __init__(self) -> None:
        login = kopf.login_with_kubeconfig(settings=kopf.OperatorSettings())
        if login is None:
            raise kopf.LoginError("no kubeconfig: set --kubeconfig")
        self._session = aiohttp.ClientSession(
            login.server,
            headers=login.as_http_headers(),
            connector=aiohttp.TCPConnector(ssl=login.as_ssl_context()),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def request(
        self, method: str, path: str, body: object = None, kind: str = "json", **more: str
    ) -> Any:
        """The answer's JSON, or None for what does not exist (404). more: headers. Raises ApiError.

        Asks again while the server says that it is not ready to answer (429), as it does of a kind that is new.
        """
        headers = {"Content-Type": f"application/{kind}", **more}
        while True:
            async with self._session.request(method, path, json=body, headers=headers) as response:
                if response.status == HTTPStatus.NOT_FOUND:
                    return None
                answer = await response.json()
            if response.status < HTTPStatus.BAD_REQUEST:
                return answer
            if response.status != HTTPStatus.TOO_MANY_REQUESTS:
                raise ApiError(answer["message"])
            await asyncio.sleep(_RETRY_SECONDS)

    async def apply(self, wanted: Object, **headers: str) -> Any:
        """Creates or updates an object by server-side apply; the stand-in's fields win."""
        query = f"?fieldManager={_MANAGER}&force=true"
        return await self.request("PATCH", path_of(wanted) + query, wanted, "apply-patch+yaml", **headers)

    async def set_status(self, owner: Object, status: Object) -> None:
        """Updates an object's status.

        Not by apply: managed fields are kept in the order of applies, and a status applied last would make the
        user's own next apply, which changes nothing, change that order and so the object.
        """
        query = f"/status?fieldManager={_MANAGER}"
        await self.request("PATCH", path_of(owner) + query, {"status": status}, "merge-patch+json")


def path_of(wanted: Object) -> str:
    """The object's path on the API server."""
    return f"{collection_of(wanted)}/{wanted['metadata']['name']}"


def collection_of(wanted: Object) -> str:
    """The path of the collection that the object belongs to."""
    version, kind = wanted["apiVersion"], wanted["kind"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    scope = "" if kind in _CLUSTER_SCOPED else f"/namespaces/{wanted['metadata']['namespace']}"
    return f"{root}{scope}/{kind.lower()}{'es' if kind.endswith('s') else 's'}"


async def install(api: Api, version: crds.Version) -> None:
    """Installs or updates the definitions and waits until they are served.

    A definition in another version is replaced while it has no graphs. Raises ApiError where it has.
    """
    document = await api.request("GET", "/openapi/v3/api/v1")
    pod_spec = crds.structural(document["components"]["schemas"], "io.k8s.api.core.v1.PodSpec")
    graphs = crds.dynamo_graph_deployment(version, pod_spec)
    await _make_way(api, graphs, version)
    for definition in (graphs, crds.scaling_adapter()):
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
        _cluster_object("DeviceClass", CHANNEL_CLASS, {"selectors": [{"cel": {"expression": selector}}]})
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


def _cluster_object(kind: str, name: str, spec: Object, **metadata: Any) -> Object:
    version = "v1" if kind == "PersistentVolume" else "resource.k8s.io/v1"
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": name, "labels": SIMULATED, **metadata},
        "spec": spec,
    }


class Reconciler:
    """Brings graphs to what they ask for, one run at a time for each."""

    def __init__(self, api: Api, version: str) -> None:
        self._api, self._version = api, version
        self._locks: defaultdict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)
        self._waiting: set[tuple[str, str]] = set()

    async def changed(self, namespace: str, name: str) -> None:
        """Something of the graph changed. A run that has not begun yet sees every change so far."""
        key = (namespace, name)
        if key in self._waiting:
            return
        self._waiting.add(key)
        async with self._locks[key]:
            self._waiting.discard(key)
            while not await self._reconcile(namespace, name):
                await asyncio.sleep(_RETRY_SECONDS)

    async def _reconcile(self, namespace: str, name: str) -> bool:
        """One run; False if it has to be tried again."""
        path = f"/apis/{GROUP}/{self._version}/namespaces/{namespace}/{PLURAL}/{name}"
        graph = await self._api.request("GET", path)
        if graph is None:
            await self._clear(namespace, name)
        if graph is None or _goes(graph):
            return True
        failure = ""
        try:
            graph = await self._scale(graph)
            await self._converge(graph)
        except ApiError as error:
            failure = str(error)
        live = await self._pods(graph)
        status = reconcile.status(graph, live, datetime.now(UTC).isoformat(timespec="seconds"), failure)
        before = graph.get("status", {})
        if status["state"] != before.get("state"):
            message = status["conditions"][0]["message"]
            _log.info("graph %s/%s is %s: %s", namespace, name, status["state"], message)
        if status != before:
            await self._api.set_status(graph, status)
        return not failure

    async def _scale(self, graph: Object) -> Object:
        """Makes the adapters that the graph asks for and takes over the replicas that they decide."""
        wanted = reconcile.adapters(graph)
        selector = f"labelSelector={GRAPH}%3D{graph['metadata']['name']}"
        collection = f"/apis/{GROUP}/v1alpha1/namespaces/{graph['metadata']['namespace']}/{ADAPTERS}"
        live = {
            adapter["spec"]["dgdRef"]["serviceName"]: adapter | {"apiVersion": "nvidia.com/v1alpha1"}
            for adapter in (await self._api.request("GET", f"{collection}?{selector}"))["items"]
        }
        for component in live.keys() - wanted.keys():
            await self._api.request("DELETE", f"{collection}/{live[component]['metadata']['name']}")
        for component in wanted.keys() - live.keys():
            live[component] = await self._api.request("POST", collection, wanted[component])
        decided = {component: live[component]["spec"]["replicas"] for component in wanted}
        if any(wanted[component]["spec"]["replicas"] != count for component, count in decided.items()):
            graph = await self._api.apply(reconcile.scaled(graph, decided), **_AS_PRINCIPAL)
        for component in wanted:
            status = reconcile.adapter_status(graph, component)
            if live[component].get("status") != status:
                await self._api.set_status(live[component] | {"kind": crds.ADAPTER_KIND}, status)
        return graph

    async def _converge(self, graph: Object) -> None:
        for companion in reconcile.companions(graph):
            await self._api.apply(companion)
        wanted = {pod["metadata"]["name"]: pod for pod in reconcile.pods(graph)}
        live = {pod["metadata"]["name"]: pod for pod in await self._pods(graph)}
        for name, pod in live.items():
            if not _goes(pod) and not (name in wanted and reconcile.matches(pod, wanted[name])):
                await self._api.request("DELETE", path_of(pod | {"apiVersion": "v1", "kind": "Pod"}))
        for name, pod in wanted.items():
            # A name that is still taken comes back here with the event of its deletion.
            if name not in live:
                await self._api.request("POST", collection_of(pod), pod)

    async def _clear(self, namespace: str, name: str) -> None:
        """Deletes the pods of a graph that is gone: the garbage collector learns of a new kind only after 30 s."""
        selector = f"labelSelector={GRAPH}%3D{name}"
        await self._api.request("DELETE", f"/api/v1/namespaces/{namespace}/pods?{selector}")

    async def _pods(self, graph: Object) -> list[Object]:
        metadata = graph["metadata"]
        selector = f"labelSelector={GRAPH}%3D{metadata['name']}"
        answer = await self._api.request("GET", f"/api/v1/namespaces/{metadata['namespace']}/pods?{selector}")
        return list(answer["items"])


def _goes(body: Mapping[str, Any], event: str | None = None) -> bool:
    return event == "DELETED" or "deletionTimestamp" in body["metadata"]


kopf.on.login()(kopf.login_with_kubeconfig)


async def graph_changed(namespace: str | None, name: str, memo: kopf.Memo, **_: Any) -> None:
    """Reconciles a graph that changed."""
    await memo.reconciler.changed(namespace, name)


@kopf.on.event("v1", "pods", labels={GRAPH: kopf.PRESENT, **SIMULATED})
@kopf.on.event("v1", "services", labels={GRAPH: kopf.PRESENT, **SIMULATED})
@kopf.on.event(GROUP, "v1alpha1", ADAPTERS, labels={GRAPH: kopf.PRESENT, **SIMULATED})
async def child_changed(namespace: str | None, labels: Mapping[str, str], memo: kopf.Memo, **_: Any) -> None:
    """Reconciles the graph of a pod, Service or scaling adapter that changed or went."""
    await memo.reconciler.changed(namespace, labels[GRAPH])


def graph_is_good(body: kopf.Body, warnings: list[str], **review: Any) -> None:
    """The webhook: refuses a graph that breaks a rule, with every rule that it breaks."""
    graph, stored = dict(body), dict(review["old"]) if review["old"] else None
    by_operator = review["userinfo"].get("username") == _PRINCIPAL
    if broken := admission.violations(graph, stored, by_operator=by_operator):
        raise kopf.AdmissionError("; ".join(broken), code=403)
    warnings.extend(admission.warnings(graph))


@kopf.on.event(
    "v1", "persistentvolumeclaims", annotations={"volume.kubernetes.io/storage-provisioner": PROVISIONER}
)
async def claim_changed(body: kopf.Body, type: str | None, memo: kopf.Memo, **_: Any) -> None:
    """Gives a pending claim its volume; the controller manager asks for one by the annotation."""
    metadata, spec = body["metadata"], body["spec"]
    if "volumeName" in spec or _goes(body, type):
        return
    volume = {
        "accessModes": spec["accessModes"],
        "capacity": spec["resources"]["requests"],
        "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
        | {key: metadata[key] for key in ("name", "namespace", "uid")},
        # Never mounted: simulated nodes run no containers.
        "nfs": {"server": "127.0.0.1", "path": f"/{metadata['namespace']}/{metadata['name']}"},
        "persistentVolumeReclaimPolicy": "Delete",
        "storageClassName": spec["storageClassName"],
        "volumeMode": spec["volumeMode"],
    }
    annotations = {"pv.kubernetes.io/provisioned-by": PROVISIONER}
    name = f"pvc-{metadata['uid']}"
    await memo.api.apply(_cluster_object("PersistentVolume", name, volume, annotations=annotations))


@kopf.on.event("v1", "persistentvolumes", labels=SIMULATED)
async def volume_changed(body: kopf.Body, memo: kopf.Memo, **_: Any) -> None:
    """Removes a volume whose claim is gone."""
    if body.get("status", {}).get("phase") == "Released" and not _goes(body):
        await memo.api.request("DELETE", f"/api/v1/persistentvolumes/{body['metadata']['name']}")


@kopf.on.event("resource.nvidia.com", "v1beta1", "computedomains")
async def domain_changed(body: kopf.Body, type: str | None, memo: kopf.Memo, **_: Any) -> None:
    """Gives a ComputeDomain the claim template that its pods name."""
    if _goes(body, type):
        return
    request = {"name": "channel", "exactly": {"deviceClassName": CHANNEL_CLASS}}
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {
            "name": body["spec"]["channel"]["resourceClaimTemplate"]["name"],
            "namespace": body["metadata"]["namespace"],
            "labels": SIMULATED,
            "ownerReferences": [kopf.build_owner_reference(body)],
        },
        "spec": {"spec": {"devices": {"requests": [request]}}},
    }
    await memo.api.apply(template)
    await memo.api.set_status(dict(body), {"status": "Ready"})


@kopf.on.event("v1", "nodes", labels={"nvidia.com/gpu.product": GPU_PRODUCT[Gpu.GB200]})
async def node_changed(body: kopf.Body, type: str | None, memo: kopf.Memo, **_: Any) -> None:
    """Offers the one IMEX channel of a GB200 node; as on real ones, a second claim has to go to another node."""
    name = body["metadata"]["name"]
    if _goes(body, type):
        return
    owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": body["metadata"]["uid"]}
    channel = {"name": "channel-0", "attributes": {"type": {"string": "channel"}, "id": {"int": 0}}}
    slice_ = {
        "driver": CHANNEL_DRIVER,
        "nodeName": name,
        "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
        "devices": [channel],
    }
    slice_name = f"{name}-{CHANNEL_DRIVER}"
    await memo.api.apply(_cluster_object("ResourceSlice", slice_name, slice_, ownerReferences=[owner]))


def _webhook(version: str, client: kopf.WebhookClientConfig) -> Object:
    webhook = {
        "name": f"{PLURAL}.{GROUP}",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {**client, "url": f"{client['url']}/{_RULES}"},
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "timeoutSeconds": 10,
        # A graph that goes may always go, even while no operator runs.
        "matchConditions": [{"name": "stays", "expression": "!has(object.metadata.deletionTimestamp)"}],
        "rules": [
            {
                "apiGroups": [GROUP],
                "apiVersions": [version],
                "resources": [PLURAL],
                "operations": ["CREATE", "UPDATE"],
            }
        ],
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "dynamo-operator-stand-in", "labels": SIMULATED},
        "webhooks": [webhook],
    }


async def run(version: crds.Version, pki: Path, ready_file: Path | None) -> None:
    """Installs the definitions and serves until SIGTERM or SIGINT."""
    async with Api() as api:
        await install(api, version)
        server = kopf.WebhookServer(
            addr="127.0.0.1", certfile=pki / "server.crt", pkeyfile=pki / "server.key", cafile=pki / "ca.crt"
        )

        async def announced(serve: kopf.WebhookFn) -> AsyncIterator[kopf.WebhookClientConfig]:
            async for client in server(serve):
                await api.apply(_webhook(version, client))
                _log.info("serving %s/%s", GROUP, version)
                if ready_file:
                    ready_file.touch()
                yield client

        # The version is said: the group's preferred one need not be ours, as when NVIDIA's GPU operator is there too.
        kopf.on.event(GROUP, version, PLURAL)(graph_changed)
        kopf.on.validate(GROUP, version, PLURAL, id=_RULES)(graph_is_good)
        settings = kopf.OperatorSettings()
        settings.posting.enabled = False
        settings.admission.server = announced
        memo = kopf.Memo(api=api, reconciler=Reconciler(api, version))
        try:
            await kopf.operator(settings=settings, memo=memo, standalone=True, clusterwide=True)
        finally:
            if ready_file:
                ready_file.unlink(missing_ok=True)


def main() -> None:
    """Runs the stand-in; exits with 1 and one sentence where the API server refuses its definitions."""
    parser = argparse.ArgumentParser("python -m embedded.operator", description=__doc__)
    add = parser.add_argument
    add("--kubeconfig", type=Path, required=True, help="of the embedded cluster's administrator")
    add("--pki", type=Path, required=True, help="folder of ca.crt, server.crt and server.key for 127.0.0.1")
    add("--api-version", choices=get_args(crds.Version), default="v1alpha1", help="of DynamoGraphDeployment")
    add("--ready-file", type=Path, help="exists while graphs are accepted and reconciled")
    options = parser.parse_args()
    os.environ["KUBECONFIG"] = str(options.kubeconfig)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    for chatty in ("kopf", "aiohttp.access"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    if options.ready_file:
        options.ready_file.unlink(missing_ok=True)
    try:
        asyncio.run(run(options.api_version, options.pki, options.ready_file))
    except ApiError as error:
        parser.exit(1, f"{parser.prog}: {error}\n")


if __name__ == "__main__":
    main()
