"""Every request that manifests/ writes is taken, whole, by the profiler of each release that it may be sent to."""

import pytest

from facts.releases import LATEST_PATCH, Version
from manifests.services.sizing import sizing_request
from stacks.rules.sizing import known_since
from targets.sizing import Sizing
from tests.manifests.services.test_sizing import ON_EVERY_GPU, QUESTION
from tests.parsers.harness import run_child

LOADS = (QUESTION, Sizing(ttft=0.5, itl=0.01, isl=1, osl=1, request_rate=2.5))


@pytest.mark.parametrize("release", [LATEST_PATCH["1.4"], LATEST_PATCH["1.6"]])
def test_the_profiler_takes_every_request(release: str) -> None:
    platform = Version.parse(release)
    specs = [
        sizing_request(question, plan, "dynamo", platform)["spec"]
        for plan in ON_EVERY_GPU
        if plan.pool.instance.gpu
        and known_since(plan.target.engine, plan.pool.instance.gpu) <= Version(platform.major, platform.minor)
        for question in LOADS
    ]
    assert specs
    assert run_child("request_child", release, specs) == specs


def test_a_gpu_that_a_release_does_not_know_is_not_taken() -> None:
    gb200 = next(plan for plan in ON_EVERY_GPU if plan.pool.instance.gpu == "GB200")
    spec = sizing_request(QUESTION, gb200, "dynamo", Version(1, 4, 2))["spec"]
    with pytest.raises(RuntimeError, match="gpuSku"):
        run_child("request_child", LATEST_PATCH["1.4"], [spec])
