"""Brings graphs to what they ask for, through the API server."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime

from embedded.operator import deployments, generations, grove, pods
from embedded.operator.admission import PRINCIPAL
from embedded.operator.api import RETRY_SECONDS, Api, ApiError, ConflictError, collection_of, goes, path_of
from embedded.operator.components import Object, components
from embedded.operator.definitions import GROUP, PLURAL
from embedded.operator.platform import PROVIDER, GraphVersion, Platform, provider
from embedded.operator.status import NO_ORCHESTRATOR, failed, status

ADAPTERS = "dynamographdeploymentscalingadapters"
FINALIZER = "nvidia.com/finalizer"
ORIGIN = "nvidia.com/dynamo-operator-origin-version"
_AS_PRINCIPAL = {"Impersonate-User": PRINCIPAL, "Impersonate-Group": "system:masters"}
_IN_THE_BACKGROUND = "propagationPolicy=Background"
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
            while not await self._tried(*key):
                await asyncio.sleep(RETRY_SECONDS)

    async def _tried(self, namespace: str, name: str) -> bool:
        try:
            return await self._reconcile(namespace, name)
        except ConflictError:
            return False

    async def _reconcile(self, namespace: str, name: str) -> bool:
        """One run; False if it has to be tried again."""
        path = f"/apis/{GROUP}/{self._version}/namespaces/{namespace}/{PLURAL}/{name}"
        graph = await self._api.request("GET", path)
        if graph is None or goes(graph):
            await self._end(namespace, name, graph)
            return True
        failure, now = "", datetime.now(UTC).isoformat(timespec="seconds")
        try:
            graph = await self._scale(await self._mark(graph))
            await self._make(pods.planner_account(namespace))
            if provider(graph, self._platform) == "grove":
                report = await self._with_grove(graph, now)
            else:
                graph, report = await self._with_deployments(graph, now)
        except ConflictError:
            raise
        except ApiError as error:
            failure = str(error)
            report = failed(graph, failure, now)
        before = graph.get("status", {})
        if report["state"] != before.get("state"):
            message = report["conditions"][0]["message"]
            _log.info("graph %s/%s is %s: %s", namespace, name, report["state"], message)
        if report != before:
            await self._api.set_status(graph, report)
        return not failure

    async def _mark(self, graph: Object) -> Object:
        """Writes the operator's finalizer and annotations into a graph that lacks them."""
        platform, metadata = self._platform, graph["metadata"]
        # Before 1.4 the operator does not record what runs the graph; here it may change between two stacks.
        wanted = {ORIGIN: str(platform.version), PROVIDER: provider(graph, platform)}
        if generations.current_hash(graph) is None or provider(graph, platform) == "grove":
            wanted |= generations.hashes(graph, platform)
        said = metadata.get("annotations", {})
        lacking = {
            key: value
            for key, value in wanted.items()
            if key not in said or (key in (generations.HASH, generations.FIRST_HASH) and said[key] != value)
        }
        part: Object = {"annotations": lacking} if lacking else {}
        if FINALIZER not in metadata.get("finalizers", ()):
            part |= {"finalizers": [*metadata.get("finalizers", ()), FINALIZER]}
        if not part:
            return graph
        part["resourceVersion"] = metadata["resourceVersion"]
        return await self._api.patch(graph, {"metadata": part}) or graph

    async def _scale(self, graph: Object) -> Object:
        """Makes the adapters that the graph asks for and takes over the replicas that they decide."""
        wanted = pods.adapters(graph)
        selector = f"labelSelector={pods.GRAPH}%3D{graph['metadata']['name']}"
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
            graph = await self._api.apply(pods.scaled(graph, decided), **_AS_PRINCIPAL)
        for component in wanted:
            status = pods.adapter_status(graph, component)
            if live[component].get("status") != status:
                await self._api.set_status(live[component] | {"kind": pods.ADAPTER_KIND}, status)
        return graph

    async def _with_grove(self, graph: Object, now: str) -> Object:
        """Makes pods and Services; returns the graph's status."""
        await self._keep([*pods.companions(graph), *grove.services(graph, self._platform)])
        wanted = {pod["metadata"]["name"]: pod for pod in grove.wanted_pods(graph, self._platform)}
        live = await self._live(graph, "Pod")
        for name, pod in live.items():
            if not goes(pod) and not (name in wanted and grove.matches(pod, wanted[name])):
                await self._api.request("DELETE", path_of(pod))
        for name, pod in wanted.items():
            # A name that is still taken comes back here with the event of its deletion.
            if name not in live:
                await self._api.request("POST", collection_of(pod), pod)
        live = await self._live(graph, "Pod")
        return status(graph, grove.lacking(graph, self._platform, live.values()), now)

    async def _with_deployments(self, graph: Object, now: str) -> tuple[Object, Object]:
        """Makes Deployments, generation after generation; returns the graph and its status."""
        await self._keep(pods.companions(graph))
        if deployments.spans_nodes(graph):
            return graph, failed(graph, NO_ORCHESTRATOR, now)
        live, rollout = await self._live(graph, "Deployment"), None
        if generations.current_hash(graph) != generations.worker_hash(graph):
            rollout = generations.rollout(graph, generations.generations(live.values()))
            if rollout.complete:
                done = {"annotations": generations.hashes(graph, self._platform)}
                graph, rollout = await self._api.patch(graph, {"metadata": done}) or graph, None
        if rollout is None:
            await self._end_old(graph, live.values())
        new = rollout.new if rollout else {}
        for component in components(graph):
            await self._keep(deployments.workload(graph, component, self._platform, new))
        if rollout:
            for name, replicas in rollout.old.items():
                await self._set_replicas(live[name], replicas)
        live = await self._live(graph, "Deployment")
        lacking = deployments.lacking(graph, live.values())
        return graph, status(graph, lacking, now, rolling=rollout is not None)

    async def _end_old(self, graph: Object, live: Iterable[Object]) -> None:
        """Deletes the generations that the graph no longer asks for."""
        wanted = generations.worker_hash(graph)
        for deployment in live:
            if deployment["metadata"]["labels"].get(pods.WORKER_HASH, wanted) != wanted:
                for one in (deployment, deployment | {"apiVersion": "v1", "kind": "Service"}):
                    await self._api.request("DELETE", f"{path_of(one)}?{_IN_THE_BACKGROUND}")

    async def _set_replicas(self, deployment: Object, replicas: int) -> None:
        if deployment["spec"]["replicas"] != replicas:
            await self._api.patch(deployment, {"spec": {"replicas": replicas}})

    async def _make(self, wanted: Object) -> None:
        """Makes what is not there yet and is nobody's afterwards."""
        if await self._api.request("GET", path_of(wanted)) is None:
            await self._api.apply(wanted)

    async def _keep(self, wanted: Iterable[Object]) -> None:
        """Applies what is not as it should be."""
        for one in wanted:
            live = await self._api.request("GET", path_of(one))
            if not (live and _is_made_of(live, one)):
                await self._api.apply(one)

    async def _live(self, graph: Object, kind: str) -> dict[str, Object]:
        """The graph's objects of a kind, by name."""
        version = {"Deployment": "apps/v1", "Pod": "v1"}[kind]
        any_of_them = {"apiVersion": version, "kind": kind, "metadata": graph["metadata"]}
        selector = f"labelSelector={pods.GRAPH}%3D{graph['metadata']['name']}"
        answer = await self._api.request("GET", f"{collection_of(any_of_them)}?{selector}")
        return {
            one["metadata"]["name"]: one | {"apiVersion": version, "kind": kind} for one in answer["items"]
        }

    async def _end(self, namespace: str, name: str, graph: Object | None) -> None:
        """Ends what runs for a graph that goes or is gone, and lets the graph go.

        The garbage collector would end it too, but learns of a new kind only after 30 s.
        """
        selector = f"labelSelector={pods.GRAPH}%3D{name}"
        for kind in ("/apis/apps/v1", "/api/v1"):
            plural = "deployments" if "apps" in kind else "pods"
            collection = f"{kind}/namespaces/{namespace}/{plural}"
            await self._api.request("DELETE", f"{collection}?{selector}&{_IN_THE_BACKGROUND}")
        finalizers = graph["metadata"].get("finalizers", []) if graph else []
        if graph and FINALIZER in finalizers:
            left = [one for one in finalizers if one != FINALIZER]
            version = graph["metadata"]["resourceVersion"]
            await self._api.patch(graph, {"metadata": {"finalizers": left, "resourceVersion": version}})


def _is_made_of(live: Object, wanted: Object) -> bool:
    """Whether it is made of the same, and has as many replicas, which a rollout changes."""
    digests = [one["metadata"].get("annotations", {}).get(pods.DIGEST) for one in (live, wanted)]
    replicas = [one.get("spec", {}).get("replicas") for one in (live, wanted)]
    return not goes(live) and digests[0] == digests[1] and replicas[0] == replicas[1]
