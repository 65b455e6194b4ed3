"""One stack's graphs on a real operator, from the first apply to the last pod gone."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from embedded import cluster
from embedded.cluster import ClusterError
from embedded.nodes import node
from graphs.deployment import graph_deployment
from stacks.settings import Settings
from targets.hardware import INSTANCE_TYPES
from targets.plan import GraphPlan
from tests.operator import observe
from tests.operator.cases import Case, pool_nodes, surroundings
from tests.operator.release import Object
from tests.operator.running import Operator
from tests.waiting import eventually

Outcome = Callable[[str], None]
"""Takes what a case has come to, for the summary."""
_SECONDS = 60
_GRAPH = "nvidia.com/dynamo-graph-deployment-name"


class Walk:
    """The graphs of one case in a namespace and on nodes of their own."""

    def __init__(self, operator: Operator, case: Case, namespace: str) -> None:
        self._operator, self._case, self.namespace = operator, case, namespace
        self.plans = case.settings().plans()

    @contextmanager
    def prepared(self) -> Iterator[None]:
        """Claims, ComputeDomains and just as many nodes as the pools have; nothing of it stays."""
        operator = self._operator
        operator.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}}])
        nodes = {
            one["metadata"]["name"]: one for plan in self.plans for one in pool_nodes(plan, self.namespace)
        }
        cpu = node(INSTANCE_TYPES["m7i.4xlarge"], f"{self.namespace}-cpu", "us-east-1a")
        cluster.add_nodes([*nodes.values(), cpu], operator.state)
        needed = [one for plan in self.plans for one in surroundings(plan, self.namespace)]
        operator.apply({one["kind"] + one["metadata"]["name"]: one for one in needed}.values())
        try:
            yield
        finally:
            with suppress(ClusterError):
                operator.kubectl("delete", observe.GRAPHS, "--all", f"--namespace={self.namespace}")
            operator.kubectl("delete", "namespace", self.namespace)
            operator.kubectl("delete", "nodes", *nodes, cpu["metadata"]["name"])

    def graphs(self, settings: Settings | None = None) -> list[Object]:
        plans: tuple[GraphPlan, ...] = settings.plans() if settings else self.plans
        return [graph_deployment(plan, self.namespace) for plan in plans]

    def applied(self, graphs: list[Object]) -> dict[str, int]:
        """Applies the graphs as Pulumi does; returns each one's generation."""
        self._operator.apply(graphs)
        return {one["metadata"]["name"]: one["metadata"]["generation"] for one in self._stored()}

    def ready(self) -> None:
        """Waits until every graph is Ready. Fails with what the operator says of those that are not."""
        try:
            eventually(
                lambda: all(self._is_ready(one["metadata"]["name"]) for one in self._stored()), _SECONDS
            )
        except AssertionError:
            raise AssertionError("\n".join(map(_said, self._stored()))) from None

    def workers(self) -> set[str]:
        """Identities of the pods that have GPUs or are told to be workers, those that end left out."""
        return {
            one["metadata"]["uid"]
            for one in self._operator.get("pods", f"--namespace={self.namespace}")
            if "nvidia.com/dynamo-worker-hash" in one["metadata"]["labels"]
            and "deletionTimestamp" not in one["metadata"]
        }

    def delete(self, name: str) -> None:
        """Deletes a graph and waits until its pods are gone."""
        self._operator.kubectl("delete", observe.GRAPHS, name, f"--namespace={self.namespace}")
        query = ("pods", f"--namespace={self.namespace}", f"--selector={_GRAPH}={name}")
        eventually(lambda: not self._operator.get(*query), _SECONDS)

    def _stored(self) -> list[Object]:
        found: list[Object] = self._operator.get(observe.GRAPHS, f"--namespace={self.namespace}")
        return found

    def _is_ready(self, name: str) -> bool:
        return observe.is_ready(self._operator, self.namespace, name)


def _said(graph: Object) -> str:
    status: Any = graph.get("status", {})
    conditions = [f"{one['type']}={one['status']} {one['message']}" for one in status.get("conditions", ())]
    return f"{graph['metadata']['name']}: {status.get('state')}: {'; '.join(conditions)}"
