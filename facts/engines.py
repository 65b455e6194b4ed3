"""Inference engines, and what their workers do. Pure."""

from enum import StrEnum


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
