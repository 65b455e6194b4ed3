"""The settings that a page shows."""

from ops.report.settings import settings
from tests.ops.report.projects import MANY, SCALED
from tests.plans import stack


def test_what_a_stack_is() -> None:
    found = dict(settings(stack("trtllm-disagg-b200", tags={"ttl": "24h"})))
    assert found["Target"] == "trtllm-disagg-b200"
    assert found["GPU nodes"] == "1 × p6-b200.48xlarge · on-demand"
    assert found["Workers"] == "1 × prefill of 4 GPUs, 1 × decode of 4 GPUs"
    assert found["Engine"].startswith("trtllm · Dynamo 1.")
    assert found["KV transport"] == "pod"
    assert found["Platform"].endswith("there already")
    assert found["Time to live"] == "24h"


def test_of_several_graphs_and_pools_each_is_named() -> None:
    found = dict(settings(stack(**MANY)))
    assert found["GPU nodes (h100)"] == "2 × p5.48xlarge · on-demand · us-east-2b"
    assert found["Engine (second)"].startswith("trtllm")
    assert found["KV transport (gpt-oss-vllm-long-name-here)"] == "efa"
    assert found["Model cache"] == "s3 · copied to each node's disks"
    assert found["Cluster"].startswith("EKS, made by the stack · us-east-2 · Kubernetes 1.")


def test_how_far_workers_may_be_scaled() -> None:
    assert dict(settings(stack(**SCALED)))["Workers"] == "1 to 3 × prefill of 4 GPUs, 5 × decode of 4 GPUs"
