"""What a stack may say: a frozen model that refuses what it does not know, with a module for every section."""

from collections.abc import Mapping
from typing import Annotated

import pulumi
from pydantic import Field

from stacks.hidden import without_secrets
from stacks.sections.autoscaling import AutoscalingSettings
from stacks.sections.benchmark import BenchmarkSettings
from stacks.sections.cache import CacheSettings
from stacks.sections.cluster import ClusterSettings
from stacks.sections.hugging_face import HuggingFaceSettings
from stacks.sections.ingress import IngressSettings
from stacks.sections.monitoring import MonitoringSettings
from stacks.sections.observability import ObservabilitySettings
from stacks.sections.platform import PlatformSettings
from stacks.sections.policy import PolicySettings
from stacks.sections.pool import AdditionalPool, PoolSettings
from stacks.sections.secrets import ExternalSecretsSettings, NgcSettings
from stacks.sections.sizing import SizingSettings
from stacks.sections.tags import TagSettings
from stacks.sections.verify import VerifySettings
from targets.catalogue import TargetName
from targets.errors import UserError
from targets.knobs import AdditionalGraph, GraphKnobs
from targets.strict import Strict

PROJECT = "dynamo-gpt-oss"
PLAIN_KEYS = {"target"}
"""Keys whose value is text; all others hold structured values."""
SWITCHES = {"verify"}
"""Keys of structured values for which a plain `off` will do."""


class ConfigError(UserError, pulumi.RunError):
    """The stack's config cannot be used; the message has one sentence a problem and is all that users see."""

    def __init__(self, message: str) -> None:
        super().__init__(without_secrets(message))


class InfrastructureSettings(Strict):
    """Where a stack runs, what that costs, and what it is held to."""

    cluster: ClusterSettings
    """Where it runs."""
    pool: PoolSettings = PoolSettings()
    """GPU nodes it runs on."""
    pools: tuple[AdditionalPool, ...] = ()
    """GPU nodes beside them, for the graphs that name them."""
    tags: TagSettings = TagSettings()
    """Tags of its AWS resources."""
    prices: Mapping[str, Annotated[float, Field(ge=0)]] = {}
    """USD per hour by instance type or part, over the list prices (for a Capacity Block: what it was bought for)."""
    measured_tokens_per_second: float | None = Field(default=None, gt=0)
    """Output tokens per second that a benchmark of the main graph measured; gives a price per million tokens."""
    policy: PolicySettings = PolicySettings()
    """What the stack is held to beyond what can work."""


class ServicesSettings(Strict):
    """What graphs need on the cluster."""

    platform: PlatformSettings = PlatformSettings()
    """Dynamo operator."""
    cache: CacheSettings = CacheSettings()
    """Model weights."""
    hugging_face: HuggingFaceSettings = HuggingFaceSettings()
    """Token for downloads."""
    ngc: NgcSettings = NgcSettings()
    """Key for NVIDIA's registry."""
    external_secrets: ExternalSecretsSettings = ExternalSecretsSettings()
    """How secrets come from AWS."""
    monitoring: MonitoringSettings = MonitoringSettings()
    """Prometheus, Grafana and alerts."""
    observability: ObservabilitySettings = ObservabilitySettings()
    """Logs and traces of the graphs."""
    ingress: IngressSettings | None = None
    """An endpoint outside the cluster."""


class GraphsSettings(Strict):
    """What is served, verified and measured."""

    target: TargetName
    """Published system to serve."""
    graph: GraphKnobs = GraphKnobs()
    """The graph and its knobs."""
    graphs: tuple[AdditionalGraph, ...] = ()
    """Graphs beside it, in the same namespace, each on the same pool or on one of `pools`."""
    autoscaling: AutoscalingSettings = AutoscalingSettings()
    """Who decides how many workers the graphs have."""
    verify: VerifySettings = VerifySettings()
    """Whether `up` ends only once the graphs answer; `off` skips it."""
    benchmark: BenchmarkSettings = BenchmarkSettings()
    """The load that the main graph is measured with."""
    sizing: SizingSettings | None = None
    """What Dynamo's profiler is asked about the main graph's engine and pool."""


class Settings(ServicesSettings, InfrastructureSettings, GraphsSettings):
    """Everything that a stack file holds."""
