"""Images that say two things, or not their release: each refusal with its whole message, and what is not refused."""

from typing import Any

import pytest

from manifests.services.secrets import PULL_SECRET
from stacks.load import parse
from stacks.rules.graphs import knob_problems
from stacks.rules.images import image_problems, mirror_problems
from stacks.settings import ConfigError
from targets.plan import GraphPlan
from tests.plans import resolved

B200 = "p6-b200.48xlarge"
GUIDE = "trtllm-disagg-b200"
OLD_GUIDE = "trtllm-disagg-b200-0.4"
DIGEST = "sha256:" + "0" * 64
COMMIT = "0" * 40
BUILD = {"gitRef": COMMIT, "region": "us-east-1"}
MIRROR = {"region": "us-east-2"}

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
    "an image that is copied and named": (
        resolved(GUIDE, B200, image={"tag": "1.4.2", "mirror": MIRROR}),
        "graph.image.tag: '1.4.2' and graph.image.mirror exclude each other: what is copied is the published image of "
        "the release; keep one",
    ),
    "an image that is copied and built": (
        resolved(GUIDE, B200, image={"build": BUILD, "mirror": MIRROR}),
        "graph.image: build and mirror exclude each other: what is built is in ECR already; keep one",
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
    "an image that is copied": resolved(GUIDE, B200, image={"mirror": MIRROR}),
    "an image that is built, of the graph's release": resolved(GUIDE, B200, image={"build": BUILD}),
    "the guide's own image, built": resolved(OLD_GUIDE, B200, image={"build": {"region": "us-east-1"}}),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_is_not_refused(name: str) -> None:
    assert knob_problems(ACCEPTED[name]) == []


EKS = {"kind": "eks", "region": "us-east-2", "publicAccessFrom": ["192.0.2.0/24"]}
AT_HOME = {"kind": "existing"}
NO_PULL = (
    "nodes outside AWS do not pull from ECR by themselves; make a pull Secret from `aws ecr get-login-password` (it "
    "lasts twelve hours) and name it as graph.image.pullSecret, set cluster.efa: true where the nodes are EKS's, or "
    "leave mirror out"
)


def copied(cluster: dict[str, Any], mirror: dict[str, str], **image: str) -> None:
    graph = {"image": {"mirror": mirror, **image}, "transport": "node"}
    parse({"target": GUIDE, "cluster": cluster, "graph": graph, "platform": {"install": False}}, set())


@pytest.mark.parametrize(
    ("cluster", "mirror", "message"),
    [
        (
            EKS,
            {"region": "eu-west-1"},
            "graph.image.mirror.region: 'eu-west-1', but cluster.region is us-east-2, and every node would pull across "
            "regions; choose us-east-2, or leave it out",
        ),
        (AT_HOME, MIRROR, f"graph.image.mirror: {NO_PULL}"),
        (
            AT_HOME | {"efa": True},
            {},
            "graph.image.mirror.region: not given, and the cluster says none; name the AWS region of the registry",
        ),
    ],
)
def test_a_copy_that_nodes_are_far_from_or_cannot_pull(
    cluster: dict[str, Any], mirror: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        copied(cluster, mirror)
    assert str(refused.value) == f"dynamo-gpt-oss:{message}"


def test_the_pull_secret_of_nvidias_registry_does_not_open_ecr() -> None:
    plan = resolved(GUIDE, B200, efa=False, image={"mirror": MIRROR, "pullSecret": PULL_SECRET})
    assert list(mirror_problems(plan, None)) == [f"graph.image.mirror: {NO_PULL}"]


@pytest.mark.parametrize(
    ("cluster", "mirror", "image"),
    [
        (EKS, {}, {}),
        (EKS, MIRROR, {}),
        (AT_HOME, MIRROR, {"pullSecret": "ecr"}),
        (AT_HOME | {"efa": True}, MIRROR, {}),
        ({"kind": "stack", "stack": "mine/base/prod"}, MIRROR, {}),
    ],
)
def test_a_copy_that_nodes_can_pull(
    cluster: dict[str, Any], mirror: dict[str, str], image: dict[str, str]
) -> None:
    copied(cluster, mirror, **image)
