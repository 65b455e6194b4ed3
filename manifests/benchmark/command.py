"""Command lines of the tools that send a benchmark's load. Pure.

Sources: AIPerf's own parser, the published commands (manifests/benchmark/published.py).
"""

import json
from collections.abc import Sequence

from facts.weights import MODEL_ID
from manifests.command import flags
from targets.target import PublishedBenchmark


def aiperf(
    load: PublishedBenchmark, *, url: str, tokenizer: str, artifacts: str, telemetry: Sequence[str] = ()
) -> list[str]:
    """AIPerf's command line. tokenizer: folder of the model. artifacts: folder that it fills."""
    gpus = ["--gpu-telemetry", *telemetry] if telemetry else ["--no-gpu-telemetry"]
    measured = ["--use-server-token-count", "--ui", "none", *gpus]
    return ["aiperf", "profile", *_profile(load, url, tokenizer, artifacts), *measured]


def genai_perf(load: PublishedBenchmark, *, url: str, tokenizer: str, artifacts: str) -> list[str]:
    """GenAI-Perf's command line, as Dynamo's 0.4 guide has it, for its container.

    It runs only there: outside, GenAI-Perf calls perf_analyzer, of which PyPI holds nothing but a placeholder.
    """
    sent = ["-H", "Authorization: Bearer NOT USED", "-H", "Accept: text/event-stream"]
    nested = ["--extra-inputs", json.dumps({"nvext": {"ignore_eos": True}})]
    profile = _profile(load, url, tokenizer, artifacts)
    return ["genai-perf", "profile", *profile, *nested, "--", "-v", "--max-threads", "500", *sent]


def _profile(load: PublishedBenchmark, url: str, tokenizer: str, artifacts: str) -> list[str]:
    """What both tools call by the same names."""
    return flags(
        [
            ("--model", MODEL_ID),
            ("--tokenizer", tokenizer),
            ("--endpoint-type", "chat"),
            ("--endpoint", "/v1/chat/completions"),
            ("--streaming", True),
            ("--url", url),
            ("--synthetic-input-tokens-mean", load.isl),
            ("--synthetic-input-tokens-stddev", 0),
            ("--output-tokens-mean", load.osl),
            ("--output-tokens-stddev", 0),
            ("--extra-inputs", f"max_tokens:{load.osl}"),
            ("--extra-inputs", f"min_tokens:{load.osl}"),
            ("--extra-inputs", "ignore_eos:true"),
            ("--concurrency", load.concurrency),
            ("--request-count", load.requests),
            ("--warmup-request-count", load.warmup or None),
            ("--num-dataset-entries", load.dataset_entries),
            ("--random-seed", load.seed),
            ("--artifact-dir", artifacts),
        ]
    )
