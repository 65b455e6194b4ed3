"""What cannot work of a graph's image. Pure.

Source: the admission rules of Dynamo's operator.
"""

import re
from collections.abc import Iterator

from facts.releases import Version
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
