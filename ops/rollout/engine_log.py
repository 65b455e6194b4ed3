"""How long an engine says that parts of its start took. Pure.

The durations are the engine's own words, of the rank that took longest. SGLang's `The server is fired up` is not among
them: Dynamo starts the engine without that server.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime

WEIGHTS, WARM_UP, TUNING = "weights", "graphs and warm-up", "kernel tuning"

_SAID = {
    WEIGHTS: (
        # vLLM: v1/worker/gpu_model_runner.py, until 0.11 without the word `memory`; has `Loading weights took` in it.
        re.compile(r"Model loading took .*? and ([\d.]+) seconds"),
        # vLLM: model_executor/model_loader/default_loader.py.
        re.compile(r"Loading weights took ([\d.]+) seconds"),
        # SGLang: srt/model_executor/model_runner.py of 0.5.9 and later.
        re.compile(r"Load weight end\. elapsed=([\d.]+) s"),
        # TensorRT-LLM: _torch/pyexecutor/model_loader.py and models/modeling_utils.py, `timing`.
        re.compile(r"Model init total -- ([\d.]+)s"),
    ),
    WARM_UP: (
        # vLLM: v1/engine/core.py; `seconds` until it became `s`, with the compilation in brackets.
        re.compile(r"init engine \(.*?\) took ([\d.]+) s"),
        # SGLang: the same file, later model_runner_components/cuda_graph_setup.py; each kind of graph by itself.
        re.compile(r"Capture [\w ]*cuda graph end\. (?:Time )?elapsed[:=] ?([\d.]+) s", re.IGNORECASE),
    ),
}
_TUNING_BEGINS, _TUNING_ENDS = "Autotuning process starts", "Autotuning process ends"
"""TensorRT-LLM's `_torch/autotuner.py`, and FlashInfer's, which vLLM and SGLang call."""


def is_telling(line: str) -> bool:
    """Whether the line is worth keeping."""
    patterns = (pattern for several in _SAID.values() for pattern in several)
    return "Autotuning process" in line or any(pattern.search(line) for pattern in patterns)


def parts(lines: Iterable[tuple[datetime, str]]) -> dict[str, float]:
    """Seconds by part, of one pod's lines; what the engine does not say is not there."""
    listed = sorted(lines)
    found = {name: max(said) for name in _SAID if (said := [*_said(name, listed)])}
    if (tuning := _tuning(listed)) is not None:
        found[TUNING] = tuning
    return found


def _said(name: str, lines: Iterable[tuple[datetime, str]]) -> Iterator[float]:
    for _, line in lines:
        for pattern in _SAID[name]:
            if hit := pattern.search(line):
                yield float(hit[1])


def _tuning(lines: Iterable[tuple[datetime, str]]) -> float | None:
    """From its first begin to its last end, by the clock of who kept the lines."""
    listed = list(lines)
    begins = [at for at, line in listed if _TUNING_BEGINS in line]
    ends = [at for at, line in listed if _TUNING_ENDS in line]
    return (max(ends) - min(begins)).total_seconds() if begins and ends else None
