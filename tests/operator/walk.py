"""One stack's graphs on a real operator, from the first apply to the last pod gone."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from embedded import cluster
from embedded.cluster import ClusterError
from embedded.nodes import node
from facts.hardware import INSTANCE_TYPES
from manifests.graph.deployment import graph_deployment
from stacks.plan import StackPlan
from tests.operator import observe
from tests.operator.cases import Case, pool_nodes, surroundings
from tests.operator.release import Object
from tests.operator.running import Operator
from tests.waiting import eventually

Outcome = Callable[[str], None]
"""Takes what a case has come to, for the summary."""
_SECONDS = 120
_GRAPH = "nvidia.com/dynamo-graph-deployment-name"
_WORKER = "nvidia.com/dynamo-worker-hash"


def walk(operator: Operator, case: Case, came_to: Outcome) -> None:
    """Applies, changes, scales, renames and deletes a case's main graph, as `pulumi up` would. Fails where it fails."""
    walked = _Walk(operator, case)
    main, *others = (plan.name for plan in walked.plans)
    with walked.prepared():
        first = walked.applied(case.settings())
        came_to("admitted")
        walked.ready()
        came_to("Ready")
        assert walked.applied(case.settings()) == first, "the same graphs once more are a change"
        before, beside = walked.workers(main), {name: walked.workers(name) for name in others}
        full = walked.is_full()
        knob = {str(planned.role): {"env": {"KNOB": "turned"}} for planned in walked.plans[0].workers}
        second = walked.applied(case.settings(**knob))
        assert second[main] > first[main], "a knob is no change"
        walked.ready()
        eventually(lambda: not before & walked.workers(main), _SECONDS)
        assert {name: walked.workers(name) for name in others} == beside, "a knob of one graph rolls another"
        came_to("rolled")
        if full:
            came_to("rolled on full nodes")
        walked.applied(case.settings(**knob, frontend={"replicas": 2}))
        walked.ready()
        came_to("scaled")
        walked.delete(main)
        walked.applied(case.settings(name="renamed"))
        walked.ready()
        came_to("renamed")
        for name in ("renamed", *others):
            walked.delete(name)
        came_to("deleted")


class _Walk:
    """The graphs of one case in a namespace and on nodes of their own."""

    def __init__(self, operator: Operator, case: Case) -> None:
        self._operator, self._case = operator, case
        self.plans = case.settings().graphs

    @contextmanager
    def prepared(self) -> Iterator[None]:
        """Claims, ComputeDomains and just as many nodes as the pools have; nothing of it stays."""
        operator, namespace = self._operator, self._case.namespace
        operator.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}])
        nodes = {one["metadata"]["name"]: one for plan in self.plans for one in pool_nodes(plan, namespace)}
        cpu = node(INSTANCE_TYPES["m7i.4xlarge"], f"{namespace}-cpu", "us-east-1a")
        cluster.add_nodes([*nodes.values(), cpu], operator.state)
        try:
            yield
        finally:
            operator.kubectl("delete", "namespace", namespace, "--wait=false")
            operator.kubectl("delete", "nodes", *nodes, cpu["metadata"]["name"])

    def applied(self, settings: StackPlan) -> dict[str, int]:
        """Applies the graphs and what they need as Pulumi does; returns each graph's generation."""
        namespace, plans = self._case.namespace, settings.graphs
        objects = [one for plan in plans for one in surroundings(plan, namespace)]
        objects += [graph_deployment(plan, namespace) for plan in plans]
        distinct = {(one["kind"], one["metadata"]["name"]): one for one in objects}
        answer = json.loads(self._operator.apply(distinct.values(), "--output=json"))
        return {
            one["metadata"]["name"]: one["metadata"]["generation"]
            for one in answer["items"]
            if one["kind"] == "DynamoGraphDeployment"
        }

    def ready(self) -> None:
        """Waits until every graph is Ready as it is now. Fails with what the operator says of those that are not."""
        try:
            observe.wait_until_ready(self._operator, self._case.namespace)
        except ClusterError:
            raise AssertionError("\n".join(self._said())) from None

    def workers(self, graph: str) -> set[str]:
        """Identities of a graph's worker pods, those that end left out."""
        return {
            one["metadata"]["uid"]
            for one in self._pods()
            if one["metadata"]["labels"].get(_GRAPH) == graph
            and _WORKER in one["metadata"]["labels"]
            and "deletionTimestamp" not in one["metadata"]
        }

    def is_full(self) -> bool:
        """Whether the main graph's pods use every GPU of its pool."""
        main = self.plans[0]
        return 0 < main.pool.gpus == main.gpus

    def delete(self, name: str) -> None:
        """Deletes a graph and waits until its pods are gone."""
        self._operator.kubectl("delete", observe.GRAPHS, name, f"--namespace={self._case.namespace}")
        self._operator.kubectl(
            "wait", "pods", f"--selector={_GRAPH}={name}", "--for=delete",
            f"--timeout={_SECONDS}s", f"--namespace={self._case.namespace}",
        )  # fmt: skip

    def _stored(self) -> list[Object]:
        found: list[Object] = self._operator.get(observe.GRAPHS, f"--namespace={self._case.namespace}")
        return found

    def _pods(self) -> list[Object]:
        found: list[Object] = self._operator.get("pods", f"--namespace={self._case.namespace}")
        return found

    def _said(self) -> Iterator[str]:
        """What graphs and pods that are not ready say of themselves."""
        for one in [*self._stored(), *self._pods()]:
            status: Any = one.get("status", {})
            conditions = [
                f"{each['type']}={each['status']} {each.get('message', '')}"
                for each in status.get("conditions", ())
                if each["status"] != "True"
            ]
            if conditions:
                state = status.get("state", status.get("phase"))
                yield f"{one['metadata']['name']}: {state}: {'; '.join(conditions)}"
