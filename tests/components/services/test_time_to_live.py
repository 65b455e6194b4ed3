"""The end of a stack's time, as stacks have it."""

from typing import Any

from ops.evaluate import Evaluation, Resource
from tests import plans

ON_EKS = {"cluster": {"kind": "eks", "region": "us-east-1"}}


def evaluated(**sections: Any) -> Evaluation:
    return plans.evaluated(target="trtllm-disagg-8k", **sections)


def one(evaluation: Evaluation, kind: str, name: str) -> Resource:
    (found,) = (r for r in evaluation.resources if r.type.endswith(f":{kind}") and r.name == name)
    return found


def test_the_end_of_a_stacks_time_is_there_before_anything_is_paid_for() -> None:
    evaluation = evaluated(cluster=ON_EKS["cluster"] | {"name": "ours"}, tags={"ttl": "8h"})
    cron_job = one(evaluation, "CronJob", "time-to-live")
    pool = one(evaluation, "GpuNodePool", "gpu-nodes")
    pod = cron_job.inputs["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    look, shrink = pod["initContainers"][0], pod["containers"][0]
    assert {"name": "SECONDS_TO_LIVE", "value": "28800"} in look["env"]
    assert {"name": "CLUSTER", "value": "ours"} in shrink["env"]
    assert {"name": "STACK", "value": "variant"} in shrink["env"]
    assert cron_job.urn in pool.dependencies
    assert one(evaluation, "PodIdentityAssociation", "shrink-gpu-pools").urn in pool.dependencies


def test_on_gb200_the_clock_runs_in_an_image_that_is_for_arm64() -> None:
    """CPU nodes are ARM64 there, too. A pod that cannot start ends nothing, and GPUs go on being paid."""
    evaluation = plans.evaluated(
        target="trtllm-agg-gb200",
        cluster={"kind": "existing"},
        platform={"install": False},
        graph={"dynamoVersion": "1.4.2"},
        tags={"ttl": "8h"},
    )
    pod = one(evaluation, "CronJob", "time-to-live").inputs["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    (look,) = pod["containers"]
    assert look["image"] == "nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:1.4.2"
    assert look["command"][0] == "python3"
