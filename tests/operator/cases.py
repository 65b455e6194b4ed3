"""Which graphs an operator of a release is asked to run: every target in every release of it, and every option."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from embedded import nodes
from facts.releases import LATEST_PATCH
from manifests.cache.model_cache import claim
from manifests.graph.compute_domain import compute_domain
from manifests.graph.deployment import graph_deployment
from manifests.names import POOL_LABEL
from stacks.load import parse
from stacks.plan import StackPlan
from stacks.settings import ConfigError
from targets.catalogue import TARGETS
from targets.plan import GraphPlan
from tests.operator.release import Object

_CASE = "dynamo-gpt-oss/case"
"""Label of nodes that one case's workers run on."""
_DIGEST = "sha256:" + "0123456789abcdef" * 4
_AWS = {"cluster": {"kind": "existing", "efa": True}}
_ONE_POD = {"graph": {"transport": "pod"}}
_MANY = _AWS | {"pool": {"nodes": 3}, "monitoring": {"kind": "install"}}
_SCALED = {"prefill": {"maxReplicas": 2}, "decode": {"maxReplicas": 2}}
_INGRESS = {"host": "llm.example.com", "gateway": "envoy/public", "existingSecret": "keys"}

OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "keda": ("vllm-disagg-h100", _MANY | {"graph": _SCALED, "autoscaling": {"kind": "keda"}}),
    "planner": (
        "trtllm-disagg-b200",
        _MANY | {"graph": _SCALED, "autoscaling": {"kind": "planner", "optimization": "sla"}},
    ),
    "local-copy": ("trtllm-disagg-b200", {"cache": {"localCopy": True}}),
    "kv-router": ("trtllm-disagg-b200", {"graph": {"frontend": {"routerMode": "kv"}}}),
    "efa": ("vllm-disagg-h100", _AWS | {"pool": {"nodes": 2}, "graph": {"transport": "efa"}}),
    "rdma": ("vllm-disagg-h100", {"pool": {"nodes": 2}, "graph": {"transport": "rdma"}}),
    "one-pod": ("vllm-disagg-h100", _ONE_POD),
    "one-pod-sglang": ("sglang-disagg-h100", _ONE_POD),
    "one-pod-trtllm": ("trtllm-disagg-b200", _ONE_POD),
    "two-graphs": ("trtllm-disagg-b200", {"pool": {"nodes": 2}, "graphs": [{"name": "second"}]}),
    "two-pools": (
        "trtllm-disagg-b200",
        {
            "pools": [{"name": "other", "instanceType": "p5.48xlarge"}],
            "graphs": [{"name": "second", "target": "vllm-disagg-h100", "pool": "other"}],
        },
    ),
    "ingress": ("vllm-disagg-h100", {"ingress": _INGRESS}),
    "picker": ("vllm-disagg-agentic-b200", {"ingress": _INGRESS | {"inferenceExtension": True}}),
    "digest": (
        "sglang-disagg-h100",
        {"graph": {"image": {"digest": _DIGEST, "runtimeVersion": "{version}", "pullSecret": "ngc"}}},
    ),
    "monitoring": ("trtllm-disagg-b200", {"monitoring": {"kind": "install"}}),
    "frontends": ("trtllm-disagg-b200", {"graph": {"frontend": {"replicas": 3}}}),
}
"""Target and what the stack says beside it; `{version}` stands for the graph's Dynamo release."""


@dataclass(frozen=True)
class Case:
    """A stack's graphs. version: of the graphs; platform: of the operator, the line's latest patch."""

    name: str
    target: str
    version: str
    platform: str
    said: dict[str, Any] = field(default_factory=dict)

    @property
    def namespace(self) -> str:
        """The case's own; short, because a label must hold it and the graph's name in 63 characters."""
        return f"case-{hashlib.sha256(self.name.encode()).hexdigest()[:8]}"

    def settings(self, **graph: Any) -> StackPlan:
        """The stack, on nodes of its own, with more said of its main graph. Raises stacks.settings.ConfigError."""
        said = _filled(self.said, self.version)
        # A pod a worker: the operator is asked about prefill and decode. Autoscaled graphs outgrow a node.
        known = {"dynamoVersion": self.version} | ({} if "autoscaling" in said else {"transport": "node"})
        values = {
            "target": self.target,
            "cluster": {"kind": "existing"},
            "platform": {"version": self.platform},
            "pool": {},
            **said,
            "graph": _merged({**known, **said.get("graph", {})}, graph),
        }
        for pool in (values["pool"], *values.get("pools", ())):
            pool["nodeSelector"] = {_CASE: self.namespace}
        for each in values.get("graphs", ()):
            each.update({**known, **each})
        return parse(values, set())

    def is_taken(self) -> bool:
        """Whether the project takes the stack, and refuses nothing of it."""
        try:
            self.settings()
        except ConfigError:
            return False
        return True


def cases(line: str) -> Iterator[Case]:
    """What an operator of that release line is asked to run; some of it the project itself refuses.

    One of a line that the project does not support is asked what the next line would be.
    """
    known = min(one for one in LATEST_PATCH if _number(one) >= _number(line))
    served = [one for one in LATEST_PATCH if _number(one) <= _number(known)]
    platform = LATEST_PATCH[served[-1]]
    for target in TARGETS:
        for version in map(LATEST_PATCH.get, served):
            yield Case(f"{target}-{version}", target, str(version), platform)
    for option, (target, said) in OPTIONS.items():
        yield Case(option, target, platform, platform, said)


def graph_of(plan: GraphPlan, namespace: str) -> Object:
    return graph_deployment(plan, namespace)


def surroundings(plan: GraphPlan, namespace: str) -> list[Object]:
    """What a graph's pods need to be scheduled: the claim of the weights, and the ComputeDomain on GB200."""
    domain = [compute_domain(plan, namespace)] if plan.needs_compute_domain else []
    return [claim(namespace, size="300Gi", storage_class=None), *domain]


def pool_nodes(plan: GraphPlan, namespace: str) -> list[Object]:
    """The nodes of the graph's pool, empty and this case's alone, with InfiniBand beside what AWS's have."""
    pool = plan.pool
    labels = dict(pool.node_selector) | ({POOL_LABEL: pool.name} if pool.alike else {})
    found = [
        nodes.node(pool.instance, f"{namespace}-{pool.name}-{index}", "us-east-1a", labels)
        for index in range(pool.nodes)
    ]
    for one in found:
        for resources in (one["status"]["capacity"], one["status"]["allocatable"]):
            resources["rdma/ib"] = str(pool.instance.gpus)
    return found


def _merged(low: dict[str, Any], high: dict[str, Any]) -> dict[str, Any]:
    """Both, with the keys of a role or of the frontend side by side."""
    return low | {
        key: {**low.get(key, {}), **value} if isinstance(value, dict) else value
        for key, value in high.items()
    }


def _number(line: str) -> tuple[int, ...]:
    return tuple(map(int, line.split(".")))


def _filled(said: Any, version: str) -> Any:
    if isinstance(said, dict):
        return {key: _filled(value, version) for key, value in said.items()}
    if isinstance(said, list):
        return [_filled(value, version) for value in said]
    return said.replace("{version}", version) if isinstance(said, str) else said
