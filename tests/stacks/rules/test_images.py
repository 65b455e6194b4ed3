"""Images that say two things, or not their release: each refusal with its whole message, and what is not refused."""

import pytest

from stacks.rules.graphs import knob_problems
from stacks.rules.images import image_problems
from targets.plan import GraphPlan
from tests.plans import resolved

B200 = "p6-b200.48xlarge"
GUIDE = "trtllm-disagg-b200"
OLD_GUIDE = "trtllm-disagg-b200-0.4"
DIGEST = "sha256:" + "0" * 64
COMMIT = "0" * 40
BUILD = {"gitRef": COMMIT, "region": "us-east-1"}

REFUSED: dict[str, tuple[GraphPlan, str]] = {
    "the sources of 0.4.1 for a newer release": (
        resolved(GUIDE, B200, dynamoVersion="1.2.1", image={"build": {"region": "us-east-1"}}),
        "graph.image.build.gitRef: the default is the commit of Dynamo 0.4.1, but gpt-oss-disagg is 1.2.1; name a "
        "commit of that release, and its dockerfile and buildArgs",
    ),
    "tag without a version": (
        resolved(GUIDE, B200, image={"tag": "latest"}, dynamoVersion="1.4.2"),
        "graph.image: 'nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:latest' does not say its Dynamo version, which "
        "the operator demands; set graph.image.runtimeVersion to MAJOR.MINOR.PATCH",
    ),
    "tag with a leading zero": (
        resolved(GUIDE, B200, image={"tag": "1.02.1"}),
        "graph.image: 'nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:1.02.1' does not say its Dynamo version, which "
        "the operator demands; set graph.image.runtimeVersion to MAJOR.MINOR.PATCH",
    ),
    "tag with a leading zero at its end": (
        resolved(GUIDE, B200, image={"tag": "1.4.2-01"}),
        "graph.image: 'nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:1.4.2-01' does not say its Dynamo version, which "
        "the operator demands; set graph.image.runtimeVersion to MAJOR.MINOR.PATCH",
    ),
    "tag of two numbers": (
        resolved(GUIDE, B200, image={"tag": "1.2"}),
        "graph.image: 'nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:1.2' does not say its Dynamo version, which "
        "the operator demands; set graph.image.runtimeVersion to MAJOR.MINOR.PATCH",
    ),
    "tag of another release": (
        resolved(GUIDE, B200, image={"tag": "1.2.1-ours"}, dynamoVersion="1.4.2"),
        "graph.image.tag: '1.2.1-ours' says Dynamo 1.2.1, but graph.dynamoVersion is 1.4.2; let both say one release, "
        "or set graph.image.runtimeVersion to 1.4.2 if that is inside the image",
    ),
    "tag of another patch, of an operator that reads no tags": (
        resolved(GUIDE, B200, image={"repository": "registry.example/ours", "tag": "v1.3.0_1"}, dynamoVersion="1.3.1"),
        "graph.image.tag: 'v1.3.0_1' says Dynamo 1.3.0, but graph.dynamoVersion is 1.3.1; let both say one release, "
        "or set graph.image.runtimeVersion to 1.3.1 if that is inside the image",
    ),
    "runtime of another release": (
        resolved(GUIDE, B200, image={"digest": DIGEST, "runtimeVersion": "1.2.1"}, dynamoVersion="1.4.2"),
        "graph.image.runtimeVersion: '1.2.1', but graph.dynamoVersion is 1.4.2, which commands and checks are made "
        "for; let both say the release inside the image",
    ),
    "tag and digest": (
        resolved(GUIDE, B200, image={"tag": "1.4.2", "digest": DIGEST, "runtimeVersion": "1.4.2"}),
        f"graph.image: tag '1.4.2' and digest '{DIGEST}' exclude each other; keep one",
    ),
    "an image that is built and named": (
        resolved(GUIDE, B200, image={"tag": "1.4.2", "build": BUILD}),
        "graph.image.tag: '1.4.2' and graph.image.build exclude each other; keep one",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused_with_this_message_and_no_other(name: str) -> None:
    refused, message = REFUSED[name]
    assert "\n".join(image_problems(refused)) == "\n".join(knob_problems(refused)) == message


ACCEPTED = {
    "a tag with its version": resolved(
        GUIDE, B200, image={"tag": "latest", "runtimeVersion": "1.4.2"}, dynamoVersion="1.4.2"
    ),
    "a tag of one's own numbers, and what is inside": resolved(
        GUIDE, B200, image={"repository": "registry.example/ours", "tag": "2.0.7", "runtimeVersion": "1.4.2"}
    ),
    "a tag of numbers that name no release": resolved(
        GUIDE, B200, image={"tag": "2026.11"}, dynamoVersion="1.3.1"
    ),
    "a tag that says more than its version": resolved(
        GUIDE, B200, image={"tag": "v1.4.2-rc.1-efa"}, dynamoVersion="1.4.2"
    ),
    "a tag without a version before 1.4": resolved(
        GUIDE, B200, image={"tag": "latest"}, dynamoVersion="1.3.1"
    ),
    "an image that is built, of the graph's release": resolved(GUIDE, B200, image={"build": BUILD}),
    "the guide's own image, built": resolved(OLD_GUIDE, B200, image={"build": {"region": "us-east-1"}}),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_is_not_refused(name: str) -> None:
    assert knob_problems(ACCEPTED[name]) == []
