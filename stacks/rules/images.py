"""What cannot work of a graph's image. Pure.

Source: the admission rules of Dynamo's operator.
"""

import re
from collections.abc import Iterator

from facts.releases import Version
from manifests.services.secrets import PULL_SECRET
from targets.knobs import GUIDE_COMMIT
from targets.plan import GraphPlan

_NUMBER = r"(0|[1-9]\d*)"
_WORD = rf"({_NUMBER}|\d*[A-Za-z-][0-9A-Za-z-]*)"
_SEMANTIC_TAG = re.compile(rf"[vV]?{_NUMBER}(\.{_NUMBER}){{2}}(-{_WORD}(\.{_WORD})*)?")
"""As operators from 1.4 read an image's tag: a semantic version, so no number has leading zeros."""
_RELEASE_TAG = re.compile(rf"[vV]?({_NUMBER}(?:\.{_NUMBER}){{2}})(?![.\d])")
"""A tag that begins with a release, whatever follows."""
LOADS_GPT_OSS_SINCE = Version(1, 0)
"""First supported release whose published image has TensorRT-LLM 1.1 or newer, which GPT-OSS needs (dynamo#3872)."""


def image_problems(plan: GraphPlan) -> Iterator[str]:
    """An image that says two things, or that does not say its release where the operator demands it."""
    image = plan.image
    if image.tag and image.digest:
        yield f"{plan.key}.image: tag {image.tag!r} and digest {image.digest!r} exclude each other; keep one"
    if image.runtime_version not in (None, str(plan.version)):
        yield (
            f"{plan.key}.image.runtimeVersion: {image.runtime_version!r}, but {plan.key}.dynamoVersion is "
            f"{plan.version}, which commands and checks are made for; let both say the release inside the image"
        )
    if image.mirror is not None:
        yield from _mirrored_image(plan)
        return
    if image.build is not None:
        yield from _built_image(plan)
        return
    inside = _RELEASE_TAG.match(image.tag or "")
    if inside and image.runtime_version is None and inside[1] != str(plan.version):
        yield (
            f"{plan.key}.image.tag: {image.tag!r} says Dynamo {inside[1]}, but {plan.key}.dynamoVersion is "
            f"{plan.version}; let both say one release, or set {plan.key}.image.runtimeVersion to {plan.version} if "
            "that is inside the image"
        )
        return
    if not plan.says_runtime_version:
        return
    tag = None if image.digest else (image.tag or str(plan.version))
    if image.runtime_version is None and (tag is None or not _SEMANTIC_TAG.fullmatch(tag)):
        yield (
            f"{plan.key}.image: {image.reference!r} does not say its Dynamo version, which the operator demands; "
            f"set {plan.key}.image.runtimeVersion to MAJOR.MINOR.PATCH"
        )


def has_own_image(plan: GraphPlan) -> bool:
    """Whether the pods run another image than the published one of their release."""
    image = plan.image
    return bool(plan.target.pods.image or image.repository or image.digest or image.build)


def mirror_problems(plan: GraphPlan, region: str | None) -> Iterator[str]:
    """A copy that the nodes are far from, or that they cannot pull. region: a cluster's on AWS, None of another."""
    image, key = plan.image, f"{plan.key}.image.mirror"
    if image.mirror is None:
        return
    named = image.mirror.region
    if region is not None:
        if named not in (None, region):
            yield (
                f"{key}.region: {named!r}, but cluster.region is {region}, and every node would pull across regions; "
                f"choose {region}, or leave it out"
            )
        return
    if named is None:
        yield f"{key}.region: not given, and the cluster says none; name the AWS region of the registry"
    if not plan.pool.efa and image.pull_secret in {None, PULL_SECRET}:
        yield (
            f"{key}: nodes outside AWS do not pull from ECR by themselves; make a pull Secret from `aws ecr "
            f"get-login-password` (it lasts twelve hours) and name it as {plan.key}.image.pullSecret, set cluster.efa: "
            "true where the nodes are EKS's, or leave mirror out"
        )


def _mirrored_image(plan: GraphPlan) -> Iterator[str]:
    image = plan.image
    for name, value in (("repository", image.repository), ("tag", image.tag), ("digest", image.digest)):
        if value:
            yield (
                f"{plan.key}.image.{name}: {value!r} and {plan.key}.image.mirror exclude each other: what is copied is "
                "the published image of the release; keep one"
            )
    if image.build is not None:
        yield f"{plan.key}.image: build and mirror exclude each other: what is built is in ECR already; keep one"


def _built_image(plan: GraphPlan) -> Iterator[str]:
    image, key = plan.image, f"{plan.key}.image"
    for name, value in (("repository", image.repository), ("tag", image.tag), ("digest", image.digest)):
        if value:
            yield f"{key}.{name}: {value!r} and {key}.build exclude each other; keep one"
    if (
        image.build is not None
        and image.build.git_ref == GUIDE_COMMIT
        and plan.version >= LOADS_GPT_OSS_SINCE
    ):
        yield (
            f"{key}.build.gitRef: the default is the commit of Dynamo 0.4.1, but {plan.name} is {plan.version}; name a "
            f"commit of that release, and its dockerfile and buildArgs"
        )
