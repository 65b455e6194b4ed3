"""A stack's settings: frozen models that refuse what they do not know, and the only reader of pulumi.Config."""

import difflib
import json
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Union, get_args, get_origin

import pulumi
from pulumi.runtime.config import get_config_env, is_config_secret
from pydantic import AfterValidator, BaseModel, Field, ValidationError
from pydantic.fields import FieldInfo

from graphs.benchmark import check_shape
from graphs.said_twice import check_arguments
from graphs.secrets import PULL_SECRET
from stacks.pools import StackPool, stack_pools
from stacks.sections.autoscaling import AutoscalingSettings
from stacks.sections.benchmark import BenchmarkSettings
from stacks.sections.cache import CacheSettings
from stacks.sections.cluster import CLUSTER_KINDS, AwsCluster, ClusterSettings, NewEksCluster
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
from targets.autoscaling import Autoscaler, check_autoscaling
from targets.capacity import PoolRequest, check_pool, is_local_zone
from targets.catalogue import TARGETS, Target, target_named
from targets.checks import check, check_local_copy, check_platform, check_together
from targets.knobs import MAIN_POOL, FurtherGraph, GraphKnobs
from targets.observability import problems
from targets.plan import GraphPlan, Pool, Refusal, beside_each_other, resolve
from targets.platform import ONE_CHART_SINCE, Platform, check_namespace, check_use
from targets.releases import LATEST_PATCH, Version
from targets.rolling import check_rolling
from targets.sizing import Sizing, check_sizing
from targets.strict import Strict

PROJECT = "dynamo-gpt-oss"
_PLAIN_KEYS = {"target"}
"""Keys whose value is text; all others hold structured values."""
SWITCHES = {"verify"}
"""Keys of structured values for which a plain `off` will do."""
_SECRET_KEYS = {"token", "apiKey", "apiKeys"}
"""Keys whose value no message may show."""


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
        """Every pool, the main one first. Raises Refusal for pools that graphs cannot be assigned to."""
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
        """The main graph, resolved and checked with the others. Raises Refusal."""
        return self.plans()[0]

    def plans(self) -> tuple[GraphPlan, ...]:
        """Every graph, the main one first, resolved and checked. Raises Refusal."""
        pools, local_copy = {each.pool.name: each.pool for each in self.gpu_pools()}, self.cache.local_copy
        planner = self.autoscaling.planner(self.monitoring.ttft_seconds, self.monitoring.itl_seconds)
        platform_version = self.platform_version()
        observability = self.observability.resolved()
        alone = (
            resolve(
                self.published(),
                self._with_pull_secret(self.graph),
                pools[MAIN_POOL],
                inference_extension=self.ingress is not None and self.ingress.inference_extension,
                local_copy=local_copy,
                cache_claim=self.cache.existing_claim,
                planner=planner,
                platform=platform_version,
                observability=observability,
            ),
            *(
                resolve(
                    TARGETS[graph.target or self.target],
                    self._with_pull_secret(graph),
                    pools[graph.pool],
                    key=f"graphs[{position}]",
                    local_copy=local_copy,
                    cache_claim=self.cache.existing_claim,
                    planner=planner,
                    platform=platform_version,
                    observability=observability,
                )
                for position, graph in enumerate(self.graphs)
            ),
        )
        plans = beside_each_other(alone)
        for plan in plans:
            check(plan)
            check_platform(plan, platform_version)
            check_arguments(plan)
        if untold := problems(plans):
            raise Refusal("\n".join(untold))
        check_together(plans)
        check_local_copy(plans, own_nodes=isinstance(self.cluster, AwsCluster))
        platform = self.platform_plan(plans)
        check_namespace(plans, self.cluster.namespace)
        check_use(platform, plans, install=self.platform.install)
        check_autoscaling(self.autoscaling.kind, plans, platform)
        check_rolling(plans, platform)
        return plans

    def platform_plan(self, plans: Iterable[GraphPlan]) -> Platform:
        """The platform for those graphs."""
        oldest = min(plan.version for plan in plans)
        return self.platform.resolved(self.platform_version(), oldest, self.monitoring.prometheus)

    def sizing_question(self, plan: GraphPlan) -> Sizing | None:
        """What the profiler is asked about the main graph, checked, where it is asked. Raises Refusal."""
        if self.sizing is None:
            return None
        question = self.sizing.resolved(plan.target, self.monitoring)
        check_sizing(question, plan, self.platform_version())
        return question

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
    values = {key: config.get(key) for key in sorted({*_by_alias(Settings), *written})}
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
        plans = settings.plans()
        settings.sizing_question(plans[0])
        _check_benchmark(settings, plans[0])
        _check_capacity(settings)
        _check_cpu_nodes(settings, plans)
        _check_services(settings, plans)
    except ValidationError as invalid:
        raise ConfigError("\n".join(_sentences(invalid))) from None
    except Refusal as refusal:
        raise ConfigError("\n".join(f"{PROJECT}:{line}" for line in str(refusal).splitlines())) from None
    for section, key, value in (
        ("huggingFace", "token", settings.hugging_face.token),
        ("ngc", "apiKey", settings.ngc.api_key),
        ("ingress", "apiKeys", settings.ingress.api_keys or None if settings.ingress else None),
    ):
        if value is not None and section not in secret_keys:
            raise ConfigError(
                f"{PROJECT}:{section}.{key}: the value is not encrypted; set it with "
                f"`pulumi config set --secret --path {PROJECT}:{section}.{key}`"
            )
    return settings


def _check_services(settings: Settings, plans: Sequence[GraphPlan]) -> None:
    """Raise Refusal for what the stack's cluster cannot give to cache, platform or secrets."""
    cluster, cache = settings.cluster, settings.cache
    on_aws = isinstance(cluster, AwsCluster)
    problems = []
    if cache.kind != "class" and cache.file_system is None and not on_aws:
        problems.append(
            f"cache.kind: {cache.kind!r} makes a file system, for cluster.kind eks or existing-eks; choose class and "
            "name a storageClass, or efs and name its fileSystem"
        )
    if cache.mount_targets and not on_aws:
        problems.append(
            "cache.mountTargets: true makes them, for cluster.kind eks or existing-eks; leave it out where the file "
            "system has them"
        )
    if (
        cache.kind != "class"
        and isinstance(cluster, AwsCluster)
        and all(map(is_local_zone, cluster.zone_names))
    ):
        problems.append(
            f"cache.kind: {cache.kind!r} needs a subnet in an Availability Zone, which Local Zones "
            f"[{', '.join(cluster.zone_names)}] reach; add one to cluster.subnets"
        )
    if settings.platform.install and settings.platform.namespace == settings.cluster.namespace:
        problems.append(
            f"platform.namespace: {settings.platform.namespace!r} is the graphs' namespace; the platform needs one of "
            "its own, which goes with it"
        )
    problems += _autoscaling_sources(settings, plans)
    from_aws = settings.hugging_face.aws_secret is not None or settings.ngc.aws_secret is not None
    if from_aws and settings.external_secrets.install and not on_aws:
        problems.append(
            "externalSecrets.install: true gives External Secrets a pod identity, for cluster.kind eks or "
            "existing-eks; set it to false where External Secrets is on the cluster"
        )
    if problems:
        raise Refusal("\n".join(problems))


def _autoscaling_sources(settings: Settings, plans: Sequence[GraphPlan]) -> Iterator[str]:
    """Where the autoscaler's figures are to come from and do not."""
    kind, monitoring = settings.autoscaling.kind, settings.monitoring
    prometheus = settings.platform_plan(plans).prometheus
    if kind is Autoscaler.KEDA and (
        prometheus is None or not monitoring.pod_monitors or monitoring.kind == "none"
    ):
        yield (
            "autoscaling.kind: 'keda' asks Prometheus for series that the stack's own PodMonitors label; set "
            "monitoring.kind to install, or to existing with its endpoint, and leave podMonitors on"
        )
    if kind is Autoscaler.PLANNER and settings.autoscaling.optimization == "sla" and prometheus is None:
        yield (
            "autoscaling.optimization: 'sla' reads latencies from Prometheus; set monitoring.kind or "
            "platform.prometheusEndpoint, or choose throughput or latency"
        )


def _check_benchmark(settings: Settings, plan: GraphPlan) -> None:
    """Raise Refusal for a load that is not there, or that is to be run and that the graph cannot take."""
    load = settings.benchmark.load(plan.target, plan.gpus)
    if settings.benchmark.run:
        check_shape(plan, load)


def _check_capacity(settings: Settings) -> None:
    """Raise Refusal for GPU nodes that cannot be bought as asked, on a cluster that the stack buys them for."""
    cluster = settings.cluster
    if not isinstance(cluster, AwsCluster):
        return
    for each in settings.gpu_pools():
        if each.pool.instance.gpus:
            check_pool(
                PoolRequest(
                    key=each.pool.key,
                    instance=each.pool.instance,
                    nodes=each.pool.nodes,
                    capacity=each.said.capacity,
                    region=cluster.region,
                    zones=each.zones,
                    subnet_zones=cluster.subnet_zones,
                    kubernetes=cluster.version if isinstance(cluster, NewEksCluster) else None,
                )
            )


def _check_cpu_nodes(settings: Settings, plans: Sequence[GraphPlan]) -> None:
    """Raise Refusal for graphs whose frontend and verification the stack's CPU nodes cannot run."""
    if not isinstance(settings.cluster, NewEksCluster):
        return
    arch = settings.gpu_pool().instance.arch
    problems = [
        f"{plan.key}.image.archs: [{', '.join(plan.image_knobs.archs)}] does not hold {arch}, the architecture of the "
        "main pool and so of the CPU nodes, which frontends run on"
        for plan in plans
        if arch.value not in plan.image_knobs.archs
    ]
    if problems:
        raise Refusal("\n".join(problems))


def _value(key: str, text: str) -> Any:
    if key in _PLAIN_KEYS or key not in {field.alias for field in Settings.model_fields.values()}:
        return text
    if key in SWITCHES and text in ("off", "false"):
        return {"enabled": False}
    try:
        return json.loads(text)
    except ValueError:
        raise ConfigError(f"{PROJECT}:{key}: {text!r} is not an object; write its keys below it") from None


def _sentences(invalid: ValidationError) -> Iterator[str]:
    for error in invalid.errors():
        path = [str(part) for part in error["loc"]]
        key, given = f"{PROJECT}:{_dotted(_without_kind(error['loc']))}", _shown(path, error["input"])
        context = error.get("ctx", {})
        match error["type"]:
            case "extra_forbidden":
                known = list(_fields(path[:-1]))
                near = difflib.get_close_matches(path[-1], known, n=1)
                hint = f" (did you mean {near[0]}?)" if near else ""
                yield f"{key}: unknown key, given {given}{hint}; known keys: {', '.join(known)}"
            case "missing":
                yield f"{key}: missing; {_wanted(path)}"
            case "union_tag_not_found":
                yield f"{key}.kind: missing; choose one of {', '.join(CLUSTER_KINDS)}"
            case "union_tag_invalid":
                yield f"{key}.kind: {context['tag']!r} is not allowed; choose one of {', '.join(CLUSTER_KINDS)}"
            case "literal_error":
                yield f"{key}: {given} is not allowed; choose one of {context['expected']}"
            case "model_type" | "model_attributes_type" | "dict_type":
                yield f"{key}: {given} is not an object; write its keys below it"
            case "tuple_type" | "list_type":
                yield f"{key}: {given} is not a list; write each item with a dash below it"
            case "value_error":
                yield f"{key}: {given}: {context['error']}"
            case _:
                yield f"{key}: {given}: {error['msg'][0].lower()}{error['msg'][1:]}"


def _without_kind(path: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """pydantic puts the kind of a cluster between `cluster` and its key; in the stack file nothing is there."""
    return (
        (path[0], *path[2:]) if path[0] == "cluster" and len(path) > 1 and path[1] in CLUSTER_KINDS else path
    )


def _dotted(path: Iterable[int | str]) -> str:
    """The key as Pulumi writes paths: `graphs[0].name`. pydantic marks a mapping's key itself by `[key]`."""
    parts = (part for part in path if part != "[key]")
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts).removeprefix(".")


def _shown(path: list[str], given: Any) -> str:
    if _SECRET_KEYS & {*path} or isinstance(given, Mapping):
        return "[secret]" if _SECRET_KEYS & {*path} else "{" + ", ".join(map(str, given)) + "}"
    return repr(given)


def _fields(path: list[str]) -> dict[str, FieldInfo]:
    """The keys below a path, as they are written."""
    is_in_cluster = path[:1] == ["cluster"] and len(path) > 1
    model, rest = (CLUSTER_KINDS[path[1]], path[2:]) if is_in_cluster else (Settings, path)
    fields = _by_alias(model)
    for part in rest:
        if part in fields and (below := _model_in(fields[part].annotation)):
            fields = _by_alias(below)
    return fields


def _by_alias(model: type[BaseModel]) -> dict[str, FieldInfo]:
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if get_origin(annotation) in (Union, types.UnionType, Annotated, list, tuple, Mapping):
        return next((found for arg in get_args(annotation) if (found := _model_in(arg))), None)
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def _wanted(path: list[str]) -> str:
    """What to write for a key that must be there."""
    if path == ["target"]:
        return f"choose one of {', '.join(TARGETS)}"
    if path == ["cluster"]:
        return f"write its kind below it, one of {', '.join(CLUSTER_KINDS)}"
    return f"it has no default: {(_fields(path[:-1])[path[-1]].description or '').removesuffix('.')}"
