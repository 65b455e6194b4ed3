"""What users may turn on a graph: typed and bounded; whatever is left out keeps the published value. Pure."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from facts.engines import Role
from facts.releases import parse_supported
from targets.catalogue import TargetName
from targets.engine_knobs import EngineKnobs
from targets.strict import Strict

ObjectName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=63)]
"""A Kubernetes object name (DNS-1123 label)."""
PoolName = Annotated[ObjectName, StringConstraints(max_length=40)]
"""A GPU pool's name. AWS takes 64 characters for its nodes' role, `gpu-nodes-<name>-node-` and seven more."""
MAIN_POOL = "main"
"""Name of the pool that the main graph runs on."""
LabelKey = Annotated[
    str, StringConstraints(pattern=r"^([a-z0-9.-]{1,253}/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$")
]
LabelValue = Annotated[str, StringConstraints(pattern=r"^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$")]
Argument = Annotated[str, StringConstraints(min_length=1)]
EnvName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
DynamoVersion = Annotated[str, AfterValidator(lambda text: str(parse_supported(text)))]
"""MAJOR.MINOR.PATCH of a supported release line."""


def _pinned(image: str) -> str:
    name, _, tag = image.rpartition("/")[2].partition(":")
    if "@sha256:" not in image and tag in ("", "latest"):
        raise ValueError(f"says no version; write {name}:TAG or a digest")
    return image


PinnedImage = Annotated[str, AfterValidator(_pinned)]
"""An image that is the same tomorrow."""


class Toleration(Strict):
    """A taint that pods bear, as in a pod's `tolerations`."""

    key: LabelKey | None = None
    """Key of the taint; by default every one with `operator: Exists`."""
    operator: Literal["Equal", "Exists"] = "Equal"
    """Whether the taint must have the value, or only be there."""
    value: LabelValue | None = None
    """Value of the taint."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    """Effect of the taint; by default each."""

    @model_validator(mode="after")
    def _whole(self) -> "Toleration":
        if self.operator == "Exists" and self.value is not None:
            raise ValueError("operator Exists takes no value; leave it out, or choose Equal")
        if self.operator == "Equal" and self.key is None:
            raise ValueError("operator Equal needs a key; name the taint's, or choose Exists")
        return self


class RoleSize(Strict):
    """How many workers a role has, and how many nodes each takes."""

    replicas: int | None = Field(default=None, ge=1, le=64)
    """Workers of this role."""
    max_replicas: int | None = Field(default=None, ge=1, le=64)
    """Workers of this role that `autoscaling` may go up to; `replicas` is then the least."""
    nodes: int = Field(default=1, ge=1, le=18)
    """Nodes that one worker spans (multi-node needs Grove or LeaderWorkerSet on the platform)."""


class RoleKnobs(EngineKnobs, RoleSize):
    """Settings of the workers of one role."""

    extra_args: tuple[Argument, ...] = ()
    """Engine arguments added after ours."""
    env: Mapping[EnvName, str] = {}
    """Environment added to ours."""


class FrontendKnobs(Strict):
    """Settings of the OpenAI-compatible frontend."""

    replicas: int = Field(default=1, ge=1, le=32)
    """Frontend pods."""
    router_mode: Literal["round-robin", "random", "kv"] | None = None
    """How requests find workers; `kv` prefers the worker that has the prompt's prefix cached."""
    extra_args: tuple[Argument, ...] = ()
    """Frontend arguments added after ours."""
    env: Mapping[EnvName, str] = {}
    """Environment added to ours."""


GUIDE_COMMIT = "9a02188531916f79a6ce84e9eb67f6fee6701a0b"
"""Dynamo 0.4.1, which has the Dockerfile of the first TensorRT-LLM guide."""


class ImageBuild(Strict):
    """An image of one's own, built in AWS from Dynamo's sources for the pool's architecture."""

    git_ref: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")] = GUIDE_COMMIT
    """Commit of the sources; by default Dynamo 0.4.1's, which has the guide's Dockerfile."""
    region: Annotated[str, StringConstraints(pattern=r"^[a-z]{2}(-[a-z]+)+-\d$")]
    """AWS region of the build and of the registry that keeps the image."""
    source: Annotated[str, StringConstraints(pattern=r"^https://\S+$")] = (
        "https://github.com/ai-dynamo/dynamo.git"
    )
    """Git repository of the sources."""
    dockerfile: Annotated[str, StringConstraints(pattern=r"^[\w./-]+$")] = (
        "container/Dockerfile.trtllm_prebuilt"
    )
    """Dockerfile in the sources; by default the TensorRT-LLM guide's."""
    build_args: Mapping[EnvName, Annotated[str, StringConstraints(pattern=r"^[^\n]*$")]] = {
        "BASE_IMAGE": "nvcr.io/nvidia/tensorrt-llm/release",
        "BASE_IMAGE_TAG": "gpt-oss-dev",
    }
    """Build arguments; by default the guide's. On ARM64 its ARCH and ARCH_ALT are added."""


class ImageMirror(Strict):
    """A copy of the published image in the account's own registry."""

    region: Annotated[str, StringConstraints(pattern=r"^[a-z]{2}(-[a-z]+)+-\d$")] | None = None
    """AWS region of the registry; by default the cluster's, and no other on a cluster on AWS."""


class ImageKnobs(Strict):
    """The runtime image, when it is not NVIDIA's published one."""

    repository: str | None = Field(
        default=None, pattern=r"^[a-z0-9]([a-z0-9._:/-]*[a-z0-9])?$", max_length=255
    )
    """Registry and name, without tag: `registry.example.com:5000/team/dynamo`."""
    tag: str | None = Field(default=None, pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$")
    """Tag; by default the Dynamo version."""
    digest: str | None = Field(default=None, pattern=r"^sha256:[0-9a-f]{64}$")
    """Digest, instead of a tag."""
    runtime_version: DynamoVersion | None = None
    """Dynamo version inside an image whose tag does not say it; operators from 1.4 are told and want to know."""
    archs: tuple[Literal["amd64", "arm64"], ...] = ("amd64", "arm64")
    """CPU architectures that the image holds."""
    pull_secret: ObjectName | None = None
    """Name of an existing image pull Secret."""
    build: ImageBuild | None = None
    """Build the image instead of pulling a published one."""
    mirror: ImageMirror | None = None
    """Copy the published image to ECR once, by CodeBuild; nodes pull it from there."""


class KvTransferKnobs(Strict):
    """What workers are given to hand KV cache over, where `transport` leaves a choice."""

    backend: Literal["libfabric", "ucx"] | None = None
    """NIXL's backend over EFA; by default libfabric."""
    grants: Literal["none", "capabilities", "privileged"] | None = None
    """What workers may do, where another right than the transport's own is wanted; all but none are root."""
    rdma_resource: Annotated[str, StringConstraints(pattern=r"^[a-z0-9.-]+/[A-Za-z0-9._-]+$")] = "rdma/ib"
    """Resource that the cluster's RDMA device plugin offers; a worker of `transport: rdma` asks for one a GPU."""


class Roles(Strict):
    """The workers of a graph, by role."""

    prefill: RoleKnobs = RoleKnobs()
    decode: RoleKnobs = RoleKnobs()
    worker: RoleKnobs = RoleKnobs()

    def of_role(self, role: Role) -> RoleKnobs:
        """Settings of the workers of a role."""
        match role:
            case Role.PREFILL:
                return self.prefill
            case Role.DECODE:
                return self.decode
            case Role.WORKER:
                return self.worker


class GraphKnobs(Roles):
    """One GPT-OSS graph."""

    name: ObjectName | None = None
    """Name of the DynamoGraphDeployment; by default the published recipe's."""
    dynamo_version: DynamoVersion | None = None
    """Dynamo release that command lines, images and API version follow; by default the target's."""
    image: ImageKnobs = ImageKnobs()
    frontend: FrontendKnobs = FrontendKnobs()
    disaggregation_strategy: Literal["prefill_first", "decode_first"] | None = None
    """Which worker of a TensorRT-LLM graph of Dynamo 0.4 gets requests first; by default prefill_first."""
    draft_revision: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")] | None = None
    """Commit of the EAGLE3 draft model; by default its newest when the cache is filled."""
    transport: Literal["pod", "node", "efa", "rdma", "nvlink", "tcp"] | None = None
    """How KV cache travels, as docs/targets.md explains; by default the fastest known way."""
    kv_transfer: KvTransferKnobs = KvTransferKnobs()
    surge: bool = False
    """Whether changed workers come beside the old ones, which go once those answer; the pool needs room."""
    termination_grace_period_seconds: int = Field(default=300, ge=30, le=900)
    """Seconds that a pod which is to end may finish its answers in; one without any ends at once."""
    log_level: Literal["error", "warn", "info", "debug", "trace"] = "info"
    """Dynamo's own log level (`DYN_LOG`)."""


class AdditionalGraph(GraphKnobs):
    """A graph beside the stack's main one, in the same namespace."""

    name: ObjectName
    """Name of the DynamoGraphDeployment."""
    target: TargetName | None = None
    """Published system to serve; by default the stack's target."""
    pool: PoolName = MAIN_POOL
    """GPU pool that it runs on, one of `pools`; by default the main graph's."""
