"""One embedded cluster for the whole test session, beside the developer's own."""

import json
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from embedded import cluster as embedded_cluster
from embedded.cluster import ClusterError
from embedded.operator import definitions
from embedded.operator.platform import GraphVersion, Platform
from embedded.processes import lock
from facts.releases import LATEST_PATCH, Version
from tests.waiting import await_definition, eventually

NEWEST = max(map(Version.parse, LATEST_PATCH.values()))


@dataclass(frozen=True)
class Cluster:
    """A running embedded cluster of the tests."""

    state: Path

    @property
    def kubeconfig(self) -> Path:
        return embedded_cluster.kubeconfig(self.state)

    def kubectl(self, *arguments: str, stdin: str = "") -> str:
        return embedded_cluster.kubectl(*arguments, stdin=stdin, state=self.state)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Shared by all xdist workers: the first one starts it, the last one stops it."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    state, users = shared / "cluster", shared / "cluster-users.json"

    def count(step: int) -> int:
        total = (json.loads(users.read_text()) if users.exists() else 0) + step
        users.write_text(json.dumps(total))
        return int(total)

    try:
        with lock(shared / "cluster-users.lock", print, "another worker's cluster"):
            count(1)
            embedded_cluster.start(print, state)
        yield Cluster(state)
    finally:
        # Also what a start that failed has left.
        with lock(shared / "cluster-users.lock", print, "another worker's cluster"):
            if count(-1) == 0:
                embedded_cluster.stop(print, state)


@pytest.fixture(scope="session")
def schemas(cluster: Cluster) -> dict[str, Any]:
    """The schemas of the cluster's own kinds."""
    document = json.loads(cluster.kubectl("get", "--raw=/openapi/v3/api/v1"))
    found: dict[str, Any] = document["components"]["schemas"]
    return found


@contextmanager
def served_graphs(
    cluster: Cluster, version: GraphVersion, schemas: dict[str, Any], group: str, platform: Platform
) -> Iterator[str]:
    """One version of the DynamoGraphDeployment, with the platform's rules, in an API group of a test's own."""
    definition, _ = definitions.definitions(version, platform, schemas)
    definition["spec"]["group"] = group
    definition["metadata"]["name"] = f"dynamographdeployments.{group}"
    rules, binding = definitions.policy(platform)
    rules["metadata"]["name"] = binding["metadata"]["name"] = binding["spec"]["policyName"] = group
    rules["spec"]["matchConstraints"]["resourceRules"][0]["apiGroups"] = [group]
    made = {"apiVersion": "v1", "kind": "List", "items": [definition, rules, binding]}
    cluster.kubectl("apply", "--server-side", "--filename=-", stdin=json.dumps(made))
    await_definition(cluster.kubectl, f"dynamographdeployments.{group}", "DynamoGraphDeployment")
    probe = definitions.probe(version, rules) | {"apiVersion": f"{group}/{version}"}

    def in_force() -> bool:
        try:
            cluster.kubectl("create", "--dry-run=server", "--filename=-", stdin=json.dumps(probe))
        except ClusterError as error:
            return definitions.IN_FORCE in str(error)
        return False

    eventually(in_force)
    yield group
    cluster.kubectl("delete", "validatingadmissionpolicy,validatingadmissionpolicybinding", group)
    cluster.kubectl("delete", "crd", f"dynamographdeployments.{group}")


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """A namespace of the test's own on the shared cluster; goes with everything in it."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    cluster.kubectl("create", "namespace", name)
    yield name
    cluster.kubectl("delete", "namespace", name, "--wait=false")
