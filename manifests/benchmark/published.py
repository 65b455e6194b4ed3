"""The benchmark commands that NVIDIA publishes for GPT-OSS, flag by flag, and why ours differ. Pure data.

Sources: Dynamo guide "GPT-OSS" (AIPerf; GenAI-Perf in its 0.4 edition), recipe page "GPT-OSS-120B".
"""

import json
import re
from collections.abc import Mapping, Sequence

_FIELD = re.compile(r"\w+")
Flags = Mapping[str, tuple[str, ...]]
"""Values by flag; a flag without a value has none, one that is given twice has two."""

_CHAT: Flags = {
    "--model": ("openai/gpt-oss-120b",),
    "--endpoint-type": ("chat",),
    "--endpoint": ("/v1/chat/completions",),
    "--streaming": (),
}
_GUIDE: Flags = {
    **_CHAT,
    "--tokenizer": ("/model",),
    "--url": ("localhost:8000",),
    "--synthetic-input-tokens-mean": ("32000",),
    "--synthetic-input-tokens-stddev": ("0",),
    "--output-tokens-mean": ("256",),
    "--output-tokens-stddev": ("0",),
    "--extra-inputs": (
        "max_tokens:256",
        "min_tokens:256",
        "ignore_eos:true",
        json.dumps({"nvext": {"ignore_eos": True}}),
    ),
    "--concurrency": ("256",),
    "--request-count": ("6144",),
    "--warmup-request-count": ("1000",),
    "--num-dataset-entries": ("8000",),
    "--random-seed": ("100",),
    "--artifact-dir": ("/tmp/benchmark-results",),
    "-H": ("Authorization: Bearer NOT USED", "Accept: text/event-stream"),
}


def _recipe(graph: str, isl: str, osl: str, concurrency: str, requests: str) -> Flags:
    return {
        **_CHAT,
        "--url": (f"http://{graph}-frontend:8000",),
        "--synthetic-input-tokens-mean": (isl,),
        "--output-tokens-mean": (osl,),
        "--extra-inputs": ("ignore_eos:true",),
        "--concurrency": (concurrency,),
        "--request-count": (requests,),
    }


AIPERF: dict[str, Flags] = {
    "32000/256": _GUIDE,
    "128/1000": _recipe("gpt-oss-agg", "128", "1000", "3600", "36000"),
    "8192/1024": _recipe("gpt-oss-disagg", "8192", "1024", "1536", "15360"),
}
"""The published AIPerf command of each shape."""

GENAI_PERF: dict[str, Flags] = {"32000/256": {**_GUIDE, "-v": (), "--max-threads": ("500",)}}
"""The published GenAI-Perf command; from `-v` on its words are for perf_analyzer, after `--`."""

WHERE = {
    "--url": "the frontend's Service with its namespace, or the embedded cluster's address",
    "--artifact-dir": "a folder for each point of a sweep, on the results' claim",
    "--tokenizer": "the pinned revision in the model cache, so that prompts do not change with the hub",
}
"""Flags whose values say where things are, and what ours say."""

WHY_OURS_DIFFERS = {
    "--extra-inputs nvext": "Dynamo 1.6 answers 400 to nvext.ignore_eos; ignore_eos itself says the same",
    "--extra-inputs max_tokens": "recipes' Jobs give it too: a limit that the server knows",
    "--extra-inputs min_tokens": "recipes' Jobs give it too: every answer has the length that is measured",
    "-H": "nothing reads the Authorization header, and AIPerf accepts event streams by itself",
    "--use-server-token-count": "re-tokenising what was streamed counts tokens that the engine did not make",
    "--ui": "a Job has no terminal",
    "--no-gpu-telemetry": "AIPerf would look for DCGM on its own node; addresses come from benchmark.gpuTelemetry",
    "--synthetic-input-tokens-stddev": "recipes' Jobs give it too: every prompt has the same length",
    "--output-tokens-stddev": "recipes' Jobs give it too: every answer has the same length",
    "--warmup-request-count": "recipes' Jobs give it too: as many as are at once",
    "--num-dataset-entries": "recipes' Jobs give it too: 12,800 prompts, so that no prefix is cached",
    "--random-seed": "recipes' Jobs give it too: the same prompts in every run",
}
"""Why a flag of ours is not the published command's."""


def parse_flags(argv: Sequence[str]) -> Flags:
    """A command line's flags; words before the first flag, and a bare `--`, are left out."""
    found: dict[str, tuple[str, ...]] = {}
    flag = ""
    for word in argv:
        if word == "--":
            flag = ""
        elif word.startswith("-"):
            flag = word
            found.setdefault(flag, ())
        elif flag:
            found[flag] = (*found[flag], word)
    return found


def differences(ours: Flags, published: Flags) -> dict[str, str]:
    """What is not the same, with its reason, places aside. Raises KeyError for a difference without one."""
    changed = sorted(
        flag for flag in {*ours, *published} - WHERE.keys() if ours.get(flag) != published.get(flag)
    )
    keys = [key for flag in changed for key in _keys(flag, ours, published)]
    return {key: WHY_OURS_DIFFERS[key] for key in keys}


def _keys(flag: str, ours: Flags, published: Flags) -> list[str]:
    """The flag; for extra inputs the fields that differ."""
    if flag != "--extra-inputs":
        return [flag]
    fields = {*ours.get(flag, ())} ^ {*published.get(flag, ())}
    return sorted(f"{flag} {_FIELD.search(field)[0]}" for field in fields)  # type: ignore[index]
