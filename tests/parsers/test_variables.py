"""Every variable of an engine's own that a graph sets is one that the engine of that release reads.

An engine ignores a name that it does not know, so a recipe's setting can be lost without a word.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from facts.engines import Engine
from facts.releases import LATEST_PATCH, Version
from manifests.graph.workers import worker_command
from stacks.rules.graphs import knob_problems
from targets.catalogue import TARGETS
from targets.plan import GraphPlan
from targets.target import Target
from tests.parsers.test_command_lines import plans

OLDEST = Version(0, 4)


@dataclass(frozen=True)
class Known:
    """The Dynamo releases whose engine reads a variable: from `since` on, and before `until` where that is said."""

    since: Version = OLDEST
    until: Version | None = None

    def by(self, version: Version) -> bool:
        return self.since <= version and (self.until is None or version < self.until)


VARIABLES: dict[Engine, dict[str, Known]] = {
    # vllm/envs.py in the wheels of vLLM 0.10.1.1, 0.16.0, 0.20.1, 0.23.0, 0.26.0 and 0.31.0.
    Engine.VLLM: {
        "VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE": Known(),
        "VLLM_CACHE_ROOT": Known(),
        "VLLM_NIXL_SIDE_CHANNEL_PORT": Known(),
        "VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8": Known(until=Version(1, 4)),
        "VLLM_WORKER_MULTIPROC_METHOD": Known(),
    },
    # sglang/srt in the wheels of SGLang 0.5.0rc2, 0.5.9, 0.5.11, 0.5.14, 0.5.16 and 0.5.21.
    Engine.SGLANG: {
        "SGLANG_CACHE_DIR": Known(since=Version(1, 0)),
        "SGLANG_DISAGGREGATION_NIXL_BACKEND": Known(since=Version(1, 0)),
    },
    # The recipes, and Dynamo's guides to EFA; TensorRT-LLM's wheels (gigabytes) were not looked into.
    Engine.TRTLLM: {
        "TLLM_AUTOTUNER_CACHE_PATH": Known(since=Version(1, 0)),
        "TRTLLM_NIXL_KVCACHE_BACKEND": Known(since=Version(1, 0)),
        "OVERRIDE_QUANT_ALGO": Known(),
        "TRTLLM_ENABLE_PDL": Known(),
        "TRT_LLM_DISABLE_LOAD_WEIGHTS_IN_PARALLEL": Known(),
    },
    Engine.MOCKER: {},
}
_OWN = re.compile(r"^(VLLM|SGLANG|SGL|TRTLLM|TRT_LLM|TLLM|OVERRIDE)_")
"""Names that only an engine would read; those of NCCL, libfabric or Python are their own matter."""


def refused(plan: GraphPlan) -> bool:
    return bool(knob_problems(plan))


def unread(target: Target, release: str) -> Iterator[str]:
    known = VARIABLES[target.engine]
    for plan in plans(target, release):
        if refused(plan):
            continue
        keeping = replace(plan, cache=replace(plan.cache, compiled_folder="/compiled"))
        for planned in keeping.workers:
            env = {**worker_command(keeping, planned).env, **planned.worker.env}
            for name in filter(_OWN.match, env):
                read = known.get(name)
                if read is None or not read.by(plan.version):
                    yield f"{target.name}: {name}"


@pytest.mark.parametrize("release", LATEST_PATCH.values())
def test_the_engine_of_the_release_reads_every_variable_of_its_own(release: str) -> None:
    assert sorted({each for target in TARGETS.values() for each in unread(target, release)}) == []


def test_a_variable_that_is_gone_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = VARIABLES[Engine.VLLM] | {"VLLM_CACHE_ROOT": Known(until=Version(1, 4))}
    monkeypatch.setitem(VARIABLES, Engine.VLLM, gone)
    target = TARGETS["vllm-agg-agentic-b200"]
    assert set(unread(target, "1.3.1")) == set()
    assert set(unread(target, "1.4.2")) == {"vllm-agg-agentic-b200: VLLM_CACHE_ROOT"}
