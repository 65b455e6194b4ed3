"""Which image a graph's pods run."""

import pytest

from targets.plan import GraphPlan
from tests.plans import resolved

REGISTRY = "nvcr.io/nvidia/ai-dynamo"
DIGEST = "sha256:" + "0" * 64
H100 = "p5.48xlarge"


@pytest.mark.parametrize(
    ("graph", "reference"),
    [
        (resolved("trtllm-disagg-b200", dynamoVersion="1.4.2"), "tensorrtllm-runtime:1.4.2"),
        (resolved("vllm-disagg-h100", H100, dynamoVersion="1.2.1"), "vllm-runtime:1.2.1"),
        (resolved("sglang-disagg-h100", H100, dynamoVersion="1.6.1"), "sglang-runtime:1.6.1"),
        (resolved("mocker-disagg-cpu", "m7i.4xlarge", dynamoVersion="1.2.1"), "vllm-runtime:1.2.1"),
        (resolved("mocker-disagg-cpu", "m7i.4xlarge", dynamoVersion="1.3.1"), "dynamo-planner:1.3.1"),
    ],
)
def test_the_published_one_of_engine_and_release(graph: GraphPlan, reference: str) -> None:
    assert graph.image.reference == f"{REGISTRY}/{reference}"
    assert graph.image.runtime_version is None, "the tag says it"


def test_over_efa_it_is_the_one_with_efas_libraries() -> None:
    """The others fall back to TCP without a word."""
    over = resolved("vllm-disagg-h100", H100, 2, dynamoVersion="1.4.2", transport="efa")
    beside = resolved("vllm-disagg-h100", H100, dynamoVersion="1.4.2", transport="node")
    assert over.image.reference == f"{beside.image.reference}-efa"
    own = resolved("vllm-disagg-h100", H100, 2, transport="efa", image={"repository": "r/x", "tag": "1.4.2"})
    assert own.image.reference == "r/x:1.4.2", "an image of one's own is as it is named"


@pytest.mark.parametrize(
    ("image", "reference"),
    [
        ({"tag": "1.4.2-ours"}, f"{REGISTRY}/tensorrtllm-runtime:1.4.2-ours"),
        ({"digest": DIGEST}, f"{REGISTRY}/tensorrtllm-runtime@{DIGEST}"),
        ({"repository": "r/x"}, "r/x:1.4.2"),
        ({"repository": "r/x", "digest": DIGEST}, f"r/x@{DIGEST}"),
    ],
)
def test_what_the_stack_names_is_taken(image: dict[str, str], reference: str) -> None:
    assert resolved("trtllm-disagg-b200", dynamoVersion="1.4.2", image=image).image.reference == reference


def test_the_targets_own_image_gives_way_to_what_the_stack_names() -> None:
    own = resolved("trtllm-disagg-b200-0.4").image
    assert own.reference == f"{REGISTRY}/tensorrtllm-gpt-oss:latest"
    assert own.runtime_version == "0.4.1", "a tag that names no release does not say it"
    tagged = resolved("trtllm-disagg-b200-0.4", image={"tag": "other"}).image
    assert tagged.reference == f"{REGISTRY}/tensorrtllm-gpt-oss:other"
    assert tagged.runtime_version is None


def test_one_that_the_stack_builds_is_of_the_pools_architecture_and_of_the_graphs_release() -> None:
    build = {"build": {"gitRef": "0" * 40, "region": "us-east-1"}}
    built = resolved("trtllm-agg-gb200", "p6e-gb200.36xlarge", image=build, dynamoVersion="1.4.2").image
    assert (built.archs, built.runtime_version) == (("arm64",), "1.4.2")
