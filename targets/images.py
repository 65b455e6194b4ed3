"""Which image a graph's pods run. Pure."""

from dataclasses import dataclass

from facts.engines import Engine
from facts.releases import EFA_IMAGES_SINCE, Version, efa_tag
from targets.knobs import ImageBuild, ImageKnobs, ImageMirror
from targets.pool import Pool
from targets.target import Target
from targets.transport import Transport

_REGISTRY = "nvcr.io/nvidia/ai-dynamo"
_REPOSITORY = {
    Engine.VLLM: f"{_REGISTRY}/vllm-runtime",
    Engine.SGLANG: f"{_REGISTRY}/sglang-runtime",
    Engine.TRTLLM: f"{_REGISTRY}/tensorrtllm-runtime",
}
ENDPOINT_PICKER_REPOSITORY = f"{_REGISTRY}/dynamo-frontend"
"""Its entry point is the endpoint picker; runtime images do not hold it."""
PLANNER_REPOSITORY = f"{_REGISTRY}/dynamo-planner"
"""Holds the Planner and the profiler; the engines' images lack what they import."""
_MOCKER_REPOSITORY, _MOCKER_REPOSITORY_SINCE = PLANNER_REPOSITORY, Version(1, 3)
"""There is no image of the mocker's own; this one is the smallest that holds it. Earlier releases: vLLM's."""


@dataclass(frozen=True, kw_only=True)
class ImagePlan:
    """What a graph's pods run.

    reference: with tag or digest; where the stack builds an image, the published one that is there meanwhile.
    repository, tag, digest: what the stack names instead of the published one's. runtime_version: the Dynamo release
    inside, None where the tag says it. archs: CPU architectures that it holds. build: how the stack builds it. mirror:
    where the stack copies the published one.
    """

    reference: str
    repository: str | None
    tag: str | None
    digest: str | None
    runtime_version: str | None
    archs: tuple[str, ...]
    pull_secret: str | None
    build: ImageBuild | None
    mirror: ImageMirror | None


def image_plan(
    target: Target, knobs: ImageKnobs, version: Version, pool: Pool, transport: Transport
) -> ImagePlan:
    """The image, with what is known of it without being asked for.

    One that the stack builds or copies holds the pool's architecture alone, and its commit is of the graph's release,
    as is the target's own image.
    """
    of_target = target.pods.image is not None and not (knobs.repository or knobs.tag or knobs.digest)
    made = knobs.build is not None or knobs.mirror is not None
    return ImagePlan(
        reference=_reference(target, knobs, version, efa=transport is Transport.EFA),
        repository=knobs.repository,
        tag=knobs.tag,
        digest=knobs.digest,
        runtime_version=knobs.runtime_version or (str(version) if made or of_target else None),
        archs=(pool.instance.arch.value,) if made else knobs.archs,
        pull_secret=knobs.pull_secret,
        build=knobs.build,
        mirror=knobs.mirror,
    )


def _reference(target: Target, knobs: ImageKnobs, version: Version, *, efa: bool) -> str:
    if target.pods.image is not None and not knobs.repository:
        repository, _, tag = target.pods.image.rpartition(":")
        return f"{repository}@{knobs.digest}" if knobs.digest else f"{repository}:{knobs.tag or tag}"
    repository = knobs.repository or published_repository(target.engine, version)
    if knobs.digest:
        return f"{repository}@{knobs.digest}"
    # Only the image with EFA's libraries transfers over EFA; the others fall back to TCP without a word.
    over_efa = efa and target.disaggregated and not knobs.repository
    published = efa_tag(version) if over_efa and version >= EFA_IMAGES_SINCE else str(version)
    return f"{repository}:{knobs.tag or published}"


def published_repository(engine: Engine, version: Version) -> str:
    """Registry and name of the image that NVIDIA publishes."""
    if engine is Engine.MOCKER:
        return _MOCKER_REPOSITORY if version >= _MOCKER_REPOSITORY_SINCE else _REPOSITORY[Engine.VLLM]
    return _REPOSITORY[engine]
