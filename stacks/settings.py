"""A stack's settings: frozen models that refuse what they do not know, and the only reader of pulumi.Config."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Annotated, Any

import pulumi
from pulumi.runtime.config import get_config_env, is_config_secret
from pydantic import AfterValidator, Field, ValidationError

from graphs.secrets import PULL_SECRET
from stacks.pools import StackPool, stack_pools
from stacks.rules import problems
from stacks.sections.autoscaling import AutoscalingSettings
from stacks.sections.benchmark import BenchmarkSettings
from stacks.sections.cache import CacheSettings
from stacks.sections.cluster import ClusterSettings, NewEksCluster
from stacks.sections.hugging_face import HuggingFaceSettings
from stacks.sections.ingress import IngressSettings
from stacks.sections.monitoring import MonitoringSettings
from stacks.sections.observability import ObservabilitySettings
from stacks.sections.platform import PlatformSettings
from stacks.sections.pool import FurtherPool, PoolSettings
from stacks.sections.secrets import ExternalSecretsSettings, NgcSettings
from stacks.sections.sizing import SizingSettings
from stacks.sections.tags import TagSettings
from stacks.sections.verify import VerifySettings
from stacks.sentences import by_alias, sentences
from targets.catalogue import TARGETS, Target, target_named
from targets.knobs import MAIN_POOL, FurtherGraph, GraphKnobs
from targets.plan import GraphPlan, Pool, beside_each_other, resolve
from targets.platform import ONE_CHART_SINCE, Platform
from targets.releases import LATEST_PATCH, Version
from targets.sizing import Sizing
from targets.strict import Strict

PROJECT = "dynamo-gpt-oss"
_PLAIN_KEYS = {"target"}
"""Keys whose value is text; all others hold structured values."""
SWITCHES = {"verify"}
"""Keys of structured values for which a plain `off` will do."""


class ConfigError(pulumi.RunError):
    """The stack's config cannot be used; the message has one sentence a problem and is all that users see."""


class Settings(Strict):
    """Everything a stack says."""

    target: Annotated[str, AfterValidator(target_named)]
    """Published system to serve."""
    cluster: ClusterSettings
    """Where it runs."""
    pool: PoolSettings = PoolSettings()
    """GPU nodes it runs on."""
    pools: tuple[FurtherPool, ...] = ()
    """GPU nodes beside them, for the graphs that name them."""
    tags: TagSettings = TagSettings()
    """Tags of its AWS resources."""
    prices: Mapping[str, Annotated[float, Field(ge=0)]] = {}
    """USD per hour by instance type or part, over the list prices (for a Capacity Block: what it was bought for)."""
    measured_tokens_per_second: float | None = Field(default=None, gt=0)
    """Output tokens per second that a benchmark of the main graph measured; gives a price per million tokens."""
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
    autoscaling: AutoscalingSettings = AutoscalingSettings()
    """Who decides how many workers the graphs have."""
    ingress: IngressSettings | None = None
    """An endpoint outside the cluster."""
    graph: GraphKnobs = GraphKnobs()
    """The graph and its knobs."""
    graphs: tuple[FurtherGraph, ...] = ()
    """Graphs beside it, in the same namespace, each on the same pool or on one of `pools`."""
    verify: VerifySettings = VerifySettings()
    """Whether `up` ends only once the graphs answer; `off` skips it."""
    benchmark: BenchmarkSettings = BenchmarkSettings()
    """The load that the main graph is measured with."""
    sizing: SizingSettings | None = None
    """What Dynamo's profiler is asked about the main graph's engine and pool."""

    def published(self) -> Target:
        """The target's data."""
        return TARGETS[self.target]

    def gpu_pool(self) -> Pool:
        """The main graph's pool."""
        return self.gpu_pools()[0].pool

    def gpu_pools(self) -> tuple[StackPool, ...]:
        """Every pool, the main one first."""
        return stack_pools(self.target, self.cluster, self.pool, self.pools, self.graphs)

    def pool_zones(self) -> tuple[str, ...]:
        """Zones that GPU nodes may be in, the main pool's first; none on a cluster that has its nodes already."""
        return tuple(dict.fromkeys(zone for each in self.gpu_pools() for zone in each.zones))

    def makes_mount_targets(self) -> bool:
        """Whether the mount targets of the cache's EFS file system are the stack's."""
        if self.cache.mount_targets is not None:
            return self.cache.mount_targets
        own_vpc = isinstance(self.cluster, NewEksCluster) and self.cluster.vpc is None
        return own_vpc or self.cache.file_system is None

    def plan(self) -> GraphPlan:
        """The main graph, resolved with the others."""
        return self.plans()[0]

    def plans(self) -> tuple[GraphPlan, ...]:
        """Every graph, the main one first, resolved, whether or not it can work: `stacks.rules` says that."""
        pools = {each.pool.name: each.pool for each in self.gpu_pools()}
        alike: dict[str, Any] = {
            "local_copy": self.cache.copies,
            "from_bucket": self.cache.kind == "s3",
            "cache_claim": self.cache.existing_claim,
            "planner": self.autoscaling.planner(self.monitoring.ttft_seconds, self.monitoring.itl_seconds),
            "platform": self.platform_version(),
            "observability": self.observability.resolved(),
        }
        main = resolve(
            self.published(),
            self._with_pull_secret(self.graph),
            pools[MAIN_POOL],
            inference_extension=self.ingress is not None and self.ingress.inference_extension,
            **alike,
        )
        others = (
            resolve(
                TARGETS[graph.target or self.target],
                self._with_pull_secret(graph),
                pools[graph.pool],
                key=f"graphs[{position}]",
                **alike,
            )
            for position, graph in enumerate(self.graphs)
        )
        return beside_each_other((main, *others))

    def platform_plan(self, plans: Iterable[GraphPlan]) -> Platform:
        """The platform for those graphs."""
        oldest = min(plan.version for plan in plans)
        return self.platform.resolved(self.platform_version(), oldest, self.monitoring.prometheus)

    def sizing_question(self, plan: GraphPlan) -> Sizing | None:
        """What the profiler is asked about the main graph, where it is asked."""
        return None if self.sizing is None else self.sizing.resolved(plan.target, self.monitoring)

    def _with_pull_secret(self, knobs: GraphKnobs) -> GraphKnobs:
        """The knobs, with the pull Secret that the stack makes where they name none."""
        if not self.ngc.given or knobs.image.pull_secret:
            return knobs
        return knobs.model_copy(update={"image": knobs.image.model_copy(update={"pull_secret": PULL_SECRET})})

    def platform_version(self) -> Version:
        """Version of the platform: where nothing is said that of the newest graph, but one that can be installed."""
        if self.platform.version:
            return Version.parse(self.platform.version)
        graphs = ((self.target, self.graph), *((graph.target or self.target, graph) for graph in self.graphs))
        newest = max(
            Version.parse(knobs.dynamo_version or TARGETS[name].dynamo_version) for name, knobs in graphs
        )
        return max(newest, Version.parse(LATEST_PATCH[ONE_CHART_SINCE.line]))


def load() -> Settings:
    """Read and check the stack's config. Raises ConfigError with one line a problem."""
    config = pulumi.Config(PROJECT)
    # The environment tells unknown keys too; an inline program of the Automation API has its config elsewhere.
    written = {key.removeprefix(f"{PROJECT}:") for key in get_config_env() if key.startswith(f"{PROJECT}:")}
    values = {key: config.get(key) for key in sorted({*by_alias(Settings), *written})}
    said = {f"{PROJECT}:{key}": text for key, text in values.items() if text is not None}
    return from_text(said, {key for key in said if is_config_secret(key)})


def from_text(config: Mapping[str, str], secret_keys: set[str]) -> Settings:
    """Settings from full config keys and their text, as Pulumi hands them out. Raises ConfigError."""
    own = {
        key.removeprefix(f"{PROJECT}:"): text for key, text in config.items() if key.startswith(f"{PROJECT}:")
    }
    return parse(
        {key: _value(key, text) for key, text in sorted(own.items())},
        {key.removeprefix(f"{PROJECT}:") for key in secret_keys},
    )


def parse(values: Mapping[str, Any], secret_keys: set[str]) -> Settings:
    """Settings from config values. secret_keys: top-level keys that hold a Pulumi secret. Raises ConfigError."""
    try:
        settings = Settings.model_validate(values)
    except ValidationError as invalid:
        raise ConfigError("\n".join(sentences(invalid, Settings, PROJECT))) from None
    if found := [*problems(settings), *_plain_secrets(settings, secret_keys)]:
        raise ConfigError("\n".join(f"{PROJECT}:{problem}" for problem in found))
    return settings


def _plain_secrets(settings: Settings, secret_keys: Collection[str]) -> Iterator[str]:
    """Tokens and keys that stand in the stack file for everybody to read."""
    for section, key, value in (
        ("huggingFace", "token", settings.hugging_face.token),
        ("ngc", "apiKey", settings.ngc.api_key),
        ("ingress", "apiKeys", settings.ingress.api_keys or None if settings.ingress else None),
    ):
        if value is not None and section not in secret_keys:
            yield (
                f"{section}.{key}: the value is not encrypted; set it with "
                f"`pulumi config set --secret --path {PROJECT}:{section}.{key}`"
            )


def _value(key: str, text: str) -> Any:
    if key in _PLAIN_KEYS or key not in {field.alias for field in Settings.model_fields.values()}:
        return text
    if key in SWITCHES and text in ("off", "false"):
        return {"enabled": False}
    try:
        return json.loads(text)
    except ValueError:
        raise ConfigError(f"{PROJECT}:{key}: {text!r} is not an object; write its keys below it") from None
