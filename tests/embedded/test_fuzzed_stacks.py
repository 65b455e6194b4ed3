"""Stack files by number that the program accepts: a real API server accepts what they are rendered to."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from embedded.operator.platform import GraphVersion, Platform
from ops.evaluate import UNKNOWN, Evaluation, Secret
from ops.pulumi.stack_file import StackFile
from ops.synth import manifests
from stacks.load import from_text
from stacks.plan import StackPlan
from targets.platform import Addon
from tests.embedded.conftest import Cluster, served_graphs
from tests.stacks.fuzz.grammar import case
from tests.stacks.fuzz.hold import STACK, Counts, hold, project

SEED = 5
CASES = 100
BUILT_IN = {
    "v1", "apps/v1", "autoscaling/v2", "batch/v1", "networking.k8s.io/v1", "policy/v1",
    "rbac.authorization.k8s.io/v1", "scheduling.k8s.io/v1", "storage.k8s.io/v1",
}  # fmt: skip
"""API groups that every cluster has."""


def opened(value: Any) -> Any:
    """With its secrets, as the API server gets them."""
    if isinstance(value, Secret):
        return opened(value.value)
    if isinstance(value, Mapping):
        return {key: opened(item) for key, item in value.items()}
    return [opened(item) for item in value] if isinstance(value, list) else value


def objects(evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    """What is known before a deployment, all of it in one namespace that is there."""
    for resource in manifests(evaluation):
        obj = opened(resource.inputs)
        if UNKNOWN not in json.dumps(obj):
            if "namespace" in obj["metadata"]:
                obj["metadata"]["namespace"] = "default"
            yield obj


def accepted(folder: Path) -> Iterator[tuple[StackPlan, Evaluation]]:
    made, counts = project(folder), Counts()
    for number in range(CASES):
        if evaluation := hold(made, case(SEED, number), counts):
            file = StackFile.load(made, STACK)
            yield from_text(file.config, set(file.secret_keys)), evaluation
    assert counts.wrong == {}
    assert counts.accepted > CASES / 10, counts.line()


def test_what_is_accepted_is_accepted_by_the_api_server(
    cluster: Cluster, schemas: dict[str, Any], worker_id: str, tmp_path: Path
) -> None:
    graphs: dict[tuple[Platform, GraphVersion], dict[str, Any]] = defaultdict(dict)
    others: dict[str, Any] = {}
    for plan, evaluation in accepted(tmp_path):
        wanted = plan.platform.wanted
        platform = Platform(version=wanted.version, grove=wanted.grove is not Addon.NONE)
        for obj in objects(evaluation):
            text = json.dumps(obj, sort_keys=True)
            if obj["kind"] == "DynamoGraphDeployment":
                graphs[platform, obj["apiVersion"].partition("/")[2]][text] = obj
            elif obj["apiVersion"] in BUILT_IN:
                others[text] = obj
    assert len({obj["kind"] for obj in others.values()}) > 8
    ask(cluster, [*others.values()])
    for number, ((platform, version), each) in enumerate(graphs.items()):
        with served_graphs(
            cluster, version, schemas, f"{worker_id}.n{number}.fuzzed.test", platform
        ) as group:
            ask(cluster, [graph | {"apiVersion": f"{group}/{version}"} for graph in each.values()])


def ask(cluster: Cluster, wanted: list[dict[str, Any]]) -> None:
    """Raises ClusterError with the API server's words for each that it would refuse."""
    # No List: of that kubectl asks for more than the API server does.
    everything = "\n---\n".join(map(json.dumps, wanted))
    cluster.kubectl(
        "apply", "--server-side", "--force-conflicts", "--dry-run=server", "--filename=-", stdin=everything
    )
