"""A stack's benchmark: what it waits for, and the loads that it refuses."""

import json
from typing import Any

import pytest

from ops.evaluate import Evaluation, Resource
from stacks.load import parse
from stacks.settings import ConfigError
from tests import plans

ON_CLUSTER = {"cluster": {"kind": "existing"}, "platform": {"install": False}}


def evaluated(**sections: Any) -> Evaluation:
    return plans.evaluated(target="trtllm-disagg-8k", **sections)


def one(evaluation: Evaluation, kind: str, name: str) -> Resource:
    (found,) = (r for r in evaluation.resources if r.type.endswith(f":{kind}") and r.name == name)
    return found


def test_a_stack_has_no_benchmark_and_no_end_unless_it_says_so() -> None:
    kinds = {resource.type.rpartition(":")[2] for resource in evaluated(**ON_CLUSTER).resources}
    assert not {"Benchmark", "TimeToLive", "CronJob"} & kinds


def test_the_benchmark_waits_for_its_claim_its_commands_and_the_graph() -> None:
    evaluation = evaluated(**ON_CLUSTER, benchmark={"run": True, "sweep": [1, 64], "limitMinutes": 30})
    component = one(evaluation, "Benchmark", "benchmark")
    job = one(evaluation, "Job", "benchmark")
    claim = one(evaluation, "PersistentVolumeClaim", "benchmark-results")
    commands = one(evaluation, "ConfigMap", "benchmark")
    assert {r.parent for r in (job, claim, commands)} == {component.urn}
    assert {claim.urn, commands.urn} <= set(job.dependencies)
    graphs = [r.urn for r in evaluation.resources if r.type.endswith(":DynamoGraphDeployment")]
    order = [resource.urn for resource in evaluation.resources]
    assert graphs and all(order.index(graph) < order.index(job.urn) for graph in graphs)
    plan = json.loads(commands.inputs["data"]["plan.json"])
    assert [point["name"] for point in plan["points"]] == ["c00001-r1", "c00064-r1"]
    assert job.inputs["spec"]["activeDeadlineSeconds"] == 60 * (90 + 30) + 60


@pytest.mark.parametrize(
    ("benchmark", "says"),
    [
        (
            {"shape": "9/9"},
            "benchmark.shape: '9/9' is no shape here; choose one of 1024/128, 128/1000, 32000/256, 64000/400, "
            "8192/1024, published",
        ),
        (
            {"run": True, "shape": "own", "shapes": {"own": {"isl": 10000, "osl": 1500, "concurrency": 1}}},
            "benchmark.shape: 10000/1500 makes sequences of 10000 tokens for prefill workers, which take 9000; choose "
            "a shorter one, or raise graph.prefill.maxSeqLen",
        ),
        ({"image": "aiperf"}, "benchmark.image: 'aiperf': says no version; write aiperf:TAG or a digest"),
        ({"sweep": [4, 4]}, "benchmark: {sweep}: sweep names a concurrency twice; raise repetitions instead"),
        (
            {"gpuTelemetry": ["dcgm:9400"]},
            "benchmark.gpuTelemetry[0]: 'dcgm:9400': write an address that begins with http:// or https://",
        ),
    ],
)
def test_loads_that_cannot_work_are_refused(benchmark: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse({"target": "trtllm-disagg-8k", **ON_CLUSTER, "benchmark": benchmark}, set())
    assert str(refused.value).splitlines()[0].startswith(f"dynamo-gpt-oss:{says}")


def test_a_graph_without_gpus_has_no_load_per_gpu() -> None:
    with pytest.raises(
        ConfigError, match=r"benchmark\.perGpu: the graph of target mocker-disagg-cpu has no GPUs"
    ):
        parse({"target": "mocker-disagg-cpu", **ON_CLUSTER, "benchmark": {"perGpu": True}}, set())


def test_every_job_that_did_not_complete_is_made_anew() -> None:
    """A failed one would fail each further update."""
    jobs = [r for r in evaluated(**ON_CLUSTER, benchmark={"run": True}).resources if r.type.endswith(":Job")]
    assert {job.name for job in jobs} == {"benchmark", "model-download", "gpt-oss-disagg-verify"}
    assert {job.inputs["metadata"]["annotations"]["pulumi.com/replaceUnready"] for job in jobs} == {"true"}
