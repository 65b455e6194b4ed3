"""Inference engines, and what their workers do. Pure."""

from collections.abc import Mapping
from enum import StrEnum

from facts.releases import Version


class Engine(StrEnum):
    """Inference engines; the value is the Python module `dynamo.<engine>` that runs them."""

    VLLM = "vllm"
    SGLANG = "sglang"
    TRTLLM = "trtllm"
    MOCKER = "mocker"


class Role(StrEnum):
    """What a worker does; the value is the DynamoGraphDeployment component type of v1beta1."""

    PREFILL = "prefill"
    DECODE = "decode"
    WORKER = "worker"


LOADERS_SINCE: Mapping[Engine, Mapping[str, Version]] = {
    Engine.VLLM: {"threads": Version(1, 0), "fastsafetensors": Version(1, 2), "runai": Version(1, 2)},
    Engine.SGLANG: {"threads": Version(0, 4), "runai": Version(1, 2)},
}
"""The first Dynamo release with each fast loader of weights in its published image.

Sources: vLLM 0.10.1.1 (no threads), 0.16.0 (threads), 0.20.1 (its CUDA requirements name fastsafetensors, and the image
that Dynamo's is built on the streamer); SGLang 0.5.0rc2 (threads, which is its default from 0.5.11 on), 0.5.9 (no
streamer), 0.5.11 (streamer, and its package among `all`). Nothing of SGLang's asks for fastsafetensors' package.
TensorRT-LLM has no such choice.
"""
