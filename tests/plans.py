"""The stacks and graphs of tests, from a few words of config."""

import json
from typing import Any

from facts.hardware import INSTANCE_TYPES
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


def resolved(
    target: str = "trtllm-disagg-b200",
    instance: str = "p6-b200.48xlarge",
    nodes: int = 1,
    *,
    efa: bool = False,
    **knobs: object,
) -> GraphPlan:
    """A target on nodes of some type, whether or not that can work. knobs: as a stack's `graph` says them."""
    pool = Pool(instance=INSTANCE_TYPES[instance], nodes=nodes, efa=efa)
    return resolve(TARGETS[target], GraphKnobs.model_validate(knobs), pool)


def stack_file(name: str = "variant", **config: Any) -> StackFile:
    """A stack without a file on disk."""
    texts = {
        f"{KEYS}:{key}": value if isinstance(value, str) else json.dumps(value)
        for key, value in config.items()
    }
    return StackFile(project=KEYS, stack=name, config=texts, secret_keys=frozenset())


def evaluated(name: str = "variant", **config: Any) -> Evaluation:
    """What such a stack would register."""
    return evaluate(PROJECT, stack_file(name, **config))
