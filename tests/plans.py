"""The stacks and graphs of tests, from a few words of config."""

import json
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from facts.engines import Engine
from facts.hardware import INSTANCE_TYPES, InstanceType
from facts.releases import LATEST_PATCH, Version
from facts.weights import SHARED_CACHE, CacheUse
from manifests.services.autoscaling import Scaling
from ops.evaluate import Evaluation, evaluate
from ops.pulumi.stack_file import StackFile
from stacks.load import parse
from stacks.plan import StackPlan
from stacks.settings import PROJECT as KEYS
from targets.catalogue import TARGETS
from targets.knobs import GraphKnobs
from targets.plan import GraphPlan
from targets.pool import Pool
from targets.resolve import resolve
from targets.target import Target
from targets.transport import POD_SINCE
from tests.project import PROJECT

ON_CLUSTER: dict[str, Any] = {
    "cluster": {"kind": "existing", "efa": True},
    "platform": {"install": False, "grove": "external"},
}
"""What a stack says whose cluster and operator are there already."""
SCALING = Scaling(prometheus="http://p:9090", pending=10, ttft=2.0, itl=0.03, up_minutes=20, down_minutes=30)
"""What an autoscaler is told."""


def stack(target: str, **config: Any) -> StackPlan:
    """A checked stack, on a cluster that is there unless the config says otherwise."""
    return parse({"target": target, **ON_CLUSTER, **config}, set())


def graph(target: str, **config: Any) -> GraphPlan:
    """The main graph of such a stack."""
    return stack(target, **config).main


def apart(target: str, **config: Any) -> GraphPlan:
    """The same with workers as pods of their own on one node, unless the graph says how KV cache travels."""
    return graph(target, **{**config, "graph": {"transport": "node", **config.get("graph", {})}})


def resolved(
    target: str | Target = "trtllm-disagg-b200",
    instance: str | InstanceType = "p6-b200.48xlarge",
    nodes: int = 1,
    *,
    efa: bool = True,
    key: str = "graph",
    pool: Pool | None = None,
    weights: CacheUse = SHARED_CACHE,
    inference_extension: bool = False,
    **knobs: object,
) -> GraphPlan:
    """A target on nodes of some type, whether or not that can work.

    pool: instead of instance, nodes and efa. knobs: as a stack's `graph` says them, camelCase.
    """
    named = INSTANCE_TYPES[instance] if isinstance(instance, str) else instance
    return resolve(
        TARGETS[target] if isinstance(target, str) else target,
        GraphKnobs.model_validate(knobs),
        pool or Pool(instance=named, nodes=nodes, efa=efa),
        key=key,
        cache=weights,
        inference_extension=inference_extension,
    )


@cache
def every() -> dict[str, GraphPlan]:
    """Every target with the newest patch of every release line that runs it, over each way on one node."""
    return {f"{plan.target.name}-{plan.version}-{plan.transport}": plan for plan in _every()}


def _every() -> Iterator[GraphPlan]:
    for name, target in TARGETS.items():
        for version in LATEST_PATCH.values():
            if target.releases.run(Version.parse(version)) and _loads(target, version):
                yield apart(name, graph={"dynamoVersion": version})
                if target.disaggregated and target.gpu_models and Version.parse(version) >= POD_SINCE:
                    yield graph(name, graph={"dynamoVersion": version, "transport": "pod"})
    yield graph("vllm-disagg-h100", pool={"nodes": 2}, graph={"transport": "efa", "dynamoVersion": "1.4.2"})


def _loads(target: Target, version: str) -> bool:
    """Whether the image of that release can load GPT-OSS."""
    return target.engine is not Engine.TRTLLM or version != "0.4.1" or target.pods.image is not None


def stack_file(name: str = "variant", secret: Iterable[str] = (), **config: Any) -> StackFile:
    """A stack without a file on disk. secret: the keys that hold an encrypted value."""
    texts = {
        f"{KEYS}:{key}": value if isinstance(value, str) else json.dumps(value)
        for key, value in config.items()
    }
    return StackFile(
        project=KEYS, stack=name, config=texts, secret_keys=frozenset(f"{KEYS}:{key}" for key in secret)
    )


def evaluated(name: str = "variant", secret: Iterable[str] = (), **config: Any) -> Evaluation:
    """What such a stack would register."""
    return evaluate(PROJECT, stack_file(name, secret, **config))
