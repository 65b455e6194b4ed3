"""Brings graphs to what they ask for, through the API server."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime

from embedded.operator import deployments, generations, grove, pods
from embedded.operator.api import Api, ApiError, ConflictError, collection_of, is_deleted, path_of
from embedded.operator.components import Object, components
from embedded.operator.definitions import GROUP, PRINCIPAL
from embedded.operator.platform import PROVIDER, GraphVersion, Platform, provider
from embedded.operator.status import NO_ORCHESTRATOR, failure_status, status

FINALIZER = "nvidia.com/finalizer"
ORIGIN = "nvidia.com/dynamo-operator-origin-version"
_AS_PRINCIPAL = {"Impersonate-User": PRINCIPAL, "Impersonate-Group": "system:masters"}
_IN_THE_BACKGROUND = "propagationPolicy=Background"
_VERSIONS = {"Deployment": "apps/v1", "Pod": "v1", pods.ADAPTER_KIND: f"{GROUP}/v1alpha1"}
_SECONDS_BETWEEN_TRIES = 1.0
_log = logging.getLogger(__name__)


class Reconciler:
    """One run at a time for each graph."""

    def __init__(self, api: Api, version: GraphVersion, platform: Platform) -> None:
        self._api, self._version, self._platform = api, version, platform
        self._locks: defaultdict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)
        self._waiting: set[tuple[str, str]] = set()

    async def changed(self, namespace: str | None, name: str) -> None:
        """Something of the graph changed. A run that has not begun yet sees every change so far."""
        key = (str(namespace), name)
        if key in self._waiting:
            return
        self._waiting.add(key)
        async with self._locks[key]:
            self._waiting.discard(key)
            while not await self._reconcile(*key):
                await asyncio.sleep(_SECONDS_BETWEEN_TRIES)

    async def _reconcile(self, namespace: str, name: str) -> bool:
        """One run; False if it has to be tried again."""
        graph: Object = {
            "apiVersion": f"{GROUP}/{self._version}",
            "kind": "DynamoGraphDeployment",
            "metadata": {"name": name, "namespace": namespace},
        }
        live = await self._api.request("GET", path_of(graph))
        try:
            if live is None or is_deleted(live):
                await self._end(live or graph)
                return True
            return await self._serve(live)
        except ConflictError:
            return False

    async def _serve(self, graph: Object) -> bool:
        """Makes what the graph asks for and reports it; False if that failed."""
        failure, now = "", datetime.now(UTC).isoformat(timespec="seconds")
        try:
            graph = await self._scale(await self._mark(graph))
            await self._keep(pods.accounts(graph))
            if provider(graph, self._platform) == "grove":
                report = await self._with_grove(graph, now)
            else:
                graph, report = await self._with_deployments(graph, now)
        except ConflictError:
            raise
        except ApiError as error:
            failure = str(error)
            report = failure_status(graph, failure, now)
        before = graph.get("status", {})
        if report["state"] != before.get("state"):
            message = report["conditions"][0]["message"]
            namespace, name = (graph["metadata"][key] for key in ("namespace", "name"))
            _log.info("graph %s/%s is %s: %s", namespace, name, report["state"], message)
        if report != before:
            await self._api.set_status(graph, report)
        return not failure

    async def _mark(self, graph: Object) -> Object:
        """Writes the operator's finalizer and annotations into a graph that lacks them."""
        platform, metadata = self._platform, graph["metadata"]
        annotations, finalizers = metadata.get("annotations", {}), metadata.get("finalizers", [])
        # Before 1.4 the operator does not record what runs the graph; here it may change between two stacks.
        recorded = {ORIGIN: str(platform.version), PROVIDER: provider(graph, platform)}
        part: Object = {key: value for key, value in recorded.items() if key not in annotations}
        if generations.current_hash(graph) is None or provider(graph, platform) == "grove":
            marks = generations.hashes(graph, platform).items()
            part |= {key: value for key, value in marks if annotations.get(key) != value}
        if not part and FINALIZER in finalizers:
            return graph
        # Of the version that was looked at: a merge of finalizers would drop those that came meanwhile.
        changed = {
            "annotations": part,
            "finalizers": [*dict.fromkeys([*finalizers, FINALIZER])],
            "resourceVersion": metadata["resourceVersion"],
        }
        return await self._api.patch(graph, {"metadata": changed}) or graph

    async def _scale(self, graph: Object) -> Object:
        """Makes the adapters that the graph asks for and takes over the replicas that they decide."""
        scaled = {component.full_name: component for component in components(graph) if component.has_adapter}
        live = await self._live(graph, pods.ADAPTER_KIND)
        for name in live.keys() - scaled.keys():
            await self._api.request("DELETE", path_of(live[name]))
        for name in scaled.keys() - live.keys():
            adapter = pods.adapter(scaled[name])
            live[name] = await self._api.request("POST", collection_of(adapter), adapter)
        decisions = [
            {"op": "add", "path": f"{component.path}/replicas", "value": live[name]["spec"]["replicas"]}
            for name, component in scaled.items()
            if component.replicas != live[name]["spec"]["replicas"]
        ]
        if decisions:
            # Of the version that was looked at: a list of components may have another order now.
            seen = {
                "op": "add",
                "path": "/metadata/resourceVersion",
                "value": graph["metadata"]["resourceVersion"],
            }
            changes = [seen, *decisions]
            graph = await self._api.patch(graph, changes, "json-patch+json", **_AS_PRINCIPAL) or graph
        for component in components(graph):
            report = pods.adapter_status(component)
            if component.has_adapter and live[component.full_name].get("status") != report:
                await self._api.set_status(live[component.full_name], report)
        return graph

    async def _with_grove(self, graph: Object, now: str) -> Object:
        """Makes pods and Services; returns the graph's status."""
        await self._keep(grove.services(graph, self._platform))
        desired = {pod["metadata"]["name"]: pod for pod in grove.desired_pods(graph, self._platform)}
        live = await self._live(graph, "Pod")
        for name, pod in live.items():
            if not is_deleted(pod) and not (name in desired and grove.matches(pod, desired[name])):
                await self._api.request("DELETE", path_of(pod))
        for name, pod in desired.items():
            # A name that is still taken comes back here with the event of its deletion.
            if name not in live:
                await self._api.request("POST", collection_of(pod), pod)
        live = await self._live(graph, "Pod")
        return status(graph, grove.unready(graph, self._platform, live.values()), now)

    async def _with_deployments(self, graph: Object, now: str) -> tuple[Object, Object]:
        """Makes Deployments, generation after generation; returns the graph and its status."""
        if deployments.spans_nodes(graph):
            return graph, failure_status(graph, NO_ORCHESTRATOR, now)
        live, rollout = await self._live(graph, "Deployment"), None
        if generations.current_hash(graph) != generations.worker_hash(graph):
            rollout = generations.rollout(graph, generations.generations(live.values()))
            if rollout.complete:
                done = {"annotations": generations.hashes(graph, self._platform)}
                graph, rollout = await self._api.patch(graph, {"metadata": done}) or graph, None
        if rollout is None:
            await self._end_old(graph, live.values())
        for component in components(graph):
            new = rollout.new if rollout else {}
            await self._keep(deployments.workload(component, self._platform, new))
        for name, replicas in (rollout.old if rollout else {}).items():
            if live[name]["spec"]["replicas"] != replicas:
                await self._api.patch(live[name], {"spec": {"replicas": replicas}})
        live = await self._live(graph, "Deployment")
        unready = deployments.unready(graph, live.values())
        return graph, status(graph, unready, now, rolling=rollout is not None)

    async def _end_old(self, graph: Object, live: Iterable[Object]) -> None:
        """Deletes the generations that the graph no longer asks for."""
        mark = generations.worker_hash(graph)
        for deployment in live:
            if deployment["metadata"]["labels"].get(pods.WORKER_HASH, mark) != mark:
                for one in (deployment, deployment | {"apiVersion": "v1", "kind": "Service"}):
                    await self._api.request("DELETE", f"{path_of(one)}?{_IN_THE_BACKGROUND}")

    async def _keep(self, desired: Iterable[Object]) -> None:
        """Applies what is not as it should be."""
        for one in desired:
            live = await self._api.request("GET", path_of(one))
            if not (live and _is_made_of(live, one)):
                await self._api.apply(one)

    async def _live(self, graph: Object, kind: str) -> dict[str, Object]:
        """The graph's objects of a kind, by name."""
        answer = await self._api.request("GET", _of_graph(graph, kind))
        more = {"apiVersion": _VERSIONS[kind], "kind": kind}
        return {one["metadata"]["name"]: one | more for one in answer["items"]}

    async def _end(self, graph: Object) -> None:
        """Ends what runs for a graph that goes or is gone, and lets the graph go.

        The garbage collector would end it too, but learns of a new kind only after 30 s.
        """
        for kind in ("Deployment", "Pod"):
            await self._api.request("DELETE", f"{_of_graph(graph, kind)}&{_IN_THE_BACKGROUND}")
        finalizers = graph["metadata"].get("finalizers", [])
        if FINALIZER in finalizers:
            left = [one for one in finalizers if one != FINALIZER]
            version = graph["metadata"]["resourceVersion"]
            await self._api.patch(graph, {"metadata": {"finalizers": left, "resourceVersion": version}})


def _of_graph(graph: Object, kind: str) -> str:
    """Where the graph's objects of a kind are listed."""
    collection = collection_of({"apiVersion": _VERSIONS[kind], "kind": kind, "metadata": graph["metadata"]})
    return f"{collection}?labelSelector={pods.GRAPH}%3D{graph['metadata']['name']}"


def _is_made_of(live: Object, desired: Object) -> bool:
    """Whether it is made of the same, and has as many replicas, which a rollout changes."""
    digests = [one["metadata"].get("annotations", {}).get(pods.DIGEST) for one in (live, desired)]
    replicas = [one.get("spec", {}).get("replicas") for one in (live, desired)]
    return not is_deleted(live) and digests[0] == digests[1] and replicas[0] == replicas[1]
