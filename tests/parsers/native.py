"""Engine-native flags that this project uses: the part of vLLM's and SGLang's parsers that Dynamo hands on.

The engines themselves (gigabytes of CUDA) are absent from tests, so this is an allow-list: any other flag is refused
as unknown, and flags are taken by their full names only.  Read from the engine releases that the Dynamo packages'
own metadata pins: vLLM 0.10.1.1, 0.16.0, 0.20.1, 0.23.0, 0.26.0, 0.31.0 (vllm/engine/arg_utils.py) and SGLang
0.5.0rc2, 0.5.9, 0.5.11, 0.5.14, 0.5.16, 0.5.21 (sglang/srt/server_args.py, later sglang/srt/arg_groups).
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar


def kv_transfer_config(text: str) -> argparse.Namespace:
    """Fields of vLLM's KVTransferConfig (vllm/config/kv_transfer.py); ValueError on any other field or role."""
    value: dict[str, Any] = {
        "kv_connector": None,
        "kv_role": None,
        "kv_connector_extra_config": {},
    } | json.loads(text)
    known = {
        *("kv_connector", "kv_role", "kv_connector_extra_config", "kv_connector_module_path"),
        *(
            "kv_buffer_device",
            "kv_buffer_size",
            "kv_rank",
            "kv_parallel_size",
            "kv_ip",
            "kv_port",
            "engine_id",
        ),
    }
    if unknown := sorted(set(value) - known):
        raise ValueError(f"KVTransferConfig has no {', '.join(unknown)}")
    if value["kv_connector"] is not None and value["kv_role"] not in (
        "kv_producer",
        "kv_consumer",
        "kv_both",
    ):
        raise ValueError(f"KVTransferConfig kv_role is {value['kv_role']!r}")
    return argparse.Namespace(**value)


def quantization_config(text: str) -> argparse.Namespace:
    """Fields of vLLM's QuantizationConfigArgs and QuantSpec (vllm/config/quantization.py); ValueError on any other."""
    value: dict[str, Any] = json.loads(text)
    for layers, spec in value.items():
        if layers not in ("linear", "moe") or not set(spec) <= {"weight", "activation"}:
            raise ValueError(f"QuantizationConfigArgs has no {layers}: {spec}")
        if unknown := set(spec.values()) - {"mxfp4", "mxfp8", "fp8_per_token"}:
            raise ValueError(f"unknown quantization name {sorted(unknown)}")
    return argparse.Namespace(**value)


@dataclass(frozen=True)
class Flag:
    """One engine option.

    `since` is the first Dynamo (major, minor) whose pinned engine knows it, `until` the first that knows another one of
    its name.
    """

    names: tuple[str, ...]
    kind: Callable[[str], Any] | None = str
    """None: a switch without value."""
    default: Any = None
    choices: tuple[str, ...] | None = None
    many: bool = False
    negatable: bool = False
    required: bool = False
    since: tuple[int, int] = (0, 4)
    until: tuple[int, int] = (9, 0)

    def add(self, parser: argparse.ArgumentParser) -> None:
        options: dict[str, Any] = {"default": self.default, "required": self.required}
        if self.negatable:
            options["action"] = argparse.BooleanOptionalAction
        elif self.kind is None:
            options["action"] = "store_true"
        else:
            options |= {"type": self.kind, "choices": self.choices, "nargs": "+" if self.many else None}
        parser.add_argument(*self.names, **options)


SGLANG_FORMATS = ("auto", "pt", "safetensors", "npcache", "dummy", "sharded_state", "layered", "remote")
"""Those of `--load-format` that 0.5.0rc2 and all later ones know."""
VLLM = (
    Flag(("--model",), default="Qwen/Qwen3-0.6B"),
    Flag(("--served-model-name",), many=True),
    Flag(("--revision",)),
    # Any text: plug-ins add formats of their own.
    Flag(("--load-format",), default="auto"),
    Flag(("--model-loader-extra-config",), json.loads, default={}),
    Flag(("--trust-remote-code",), negatable=True, default=False),
    Flag(("--tensor-parallel-size", "-tp"), int, default=1),
    Flag(("--pipeline-parallel-size", "-pp"), int, default=1),
    Flag(("--data-parallel-size", "-dp"), int, default=1),
    Flag(("--enable-expert-parallel",), negatable=True, default=False),
    Flag(("--quantization", "-q")),
    Flag(("--quantization-config",), quantization_config, since=(1, 3)),
    Flag(("--moe-backend",), since=(1, 2)),
    Flag(("--kv-cache-dtype",), default="auto"),
    Flag(("--max-model-len",), int),
    Flag(("--gpu-memory-utilization",), float, default=0.9),
    Flag(("--max-num-seqs",), int),
    Flag(("--max-num-batched-tokens",), int),
    Flag(("--block-size",), int),
    Flag(("--enable-chunked-prefill",), negatable=True),
    Flag(("--enable-prefix-caching",), negatable=True),
    Flag(("--async-scheduling",), negatable=True),
    Flag(("--disable-hybrid-kv-cache-manager",), negatable=True, default=False),
    Flag(("--enable-flashinfer-autotune",), negatable=True, since=(1, 0)),
    Flag(("--compilation-config", "-O"), json.loads),
    Flag(("--speculative-config",), json.loads),
    Flag(("--kv-transfer-config",), kv_transfer_config),
    Flag(("--kv-events-config",), lambda text: argparse.Namespace(**json.loads(text))),
)
VLLM_UNSET = {
    "kv_events_config": None,
    "stream_interval": 1,
    "data_parallel_rank": None,
}
"""Fields of AsyncEngineArgs that Dynamo reads and this project leaves at the engine's default."""

SGLANG = (
    Flag(("--model-path", "--model"), required=True),
    Flag(("--served-model-name",)),
    Flag(("--revision",)),
    Flag(("--load-format",), default="auto", choices=SGLANG_FORMATS, until=(1, 0)),
    Flag(
        ("--load-format",),
        default="auto",
        choices=(*SGLANG_FORMATS, "fastsafetensors"),
        since=(1, 0),
        until=(1, 2),
    ),
    Flag(
        ("--load-format",),
        default="auto",
        choices=(*SGLANG_FORMATS, "fastsafetensors", "runai_streamer"),
        since=(1, 2),
    ),
    Flag(("--model-loader-extra-config",), default="{}"),
    Flag(("--trust-remote-code",), None, default=False),
    Flag(("--skip-tokenizer-init",), None, default=False),
    # `--tp` is in no release's source: argparse takes it as the abbreviation of --tp-size, as it does here.
    Flag(("--tp-size", "--tensor-parallel-size"), int, default=1),
    Flag(("--pp-size", "--pipeline-parallel-size"), int, default=1),
    Flag(("--mem-fraction-static",), float),
    Flag(("--max-prefill-tokens",), int, default=16384),
    Flag(("--chunked-prefill-size",), int),
    Flag(("--max-running-requests",), int),
    Flag(("--context-length",), int),
    Flag(("--page-size",), int),
    Flag(("--tool-call-parser",)),
    Flag(("--reasoning-parser",)),
    Flag(("--disaggregation-mode",), default="null", choices=("null", "prefill", "decode")),
    Flag(("--disaggregation-transfer-backend",), default="mooncake", choices=("mooncake", "nixl", "ascend")),
    Flag(("--disaggregation-bootstrap-port",), int, default=8998),
    Flag(("--host",), default="127.0.0.1"),
    Flag(("--kv-events-config",)),
)
SGLANG_UNSET = {
    "attention_backend": None,
    "decode_attention_backend": None,
    "dcp_size": 1,
    "dllm_algorithm": None,
    "dp_size": 1,
    "elastic_ep_backend": None,
    "get_model_config": lambda: argparse.Namespace(is_multimodal=False),
    "prefill_attention_backend": None,
    "tokenizer_worker_num": 1,
}
"""Fields of ServerArgs that Dynamo reads and this project leaves at the engine's default."""


class BuildConfig:
    """Defaults of TensorRT-LLM's BuildConfig (tensorrt_llm/builder.py), which Dynamo's own flags fall back on.

    0.4 reads them as attributes of the class, later releases through pydantic's `model_fields`.
    """

    max_batch_size = 2048
    max_num_tokens = 8192
    max_seq_len = None
    max_beam_width = 1
    model_fields: ClassVar = {
        "max_batch_size": argparse.Namespace(default=max_batch_size),
        "max_num_tokens": argparse.Namespace(default=max_num_tokens),
        "max_seq_len": argparse.Namespace(default=max_seq_len),
        "max_beam_width": argparse.Namespace(default=max_beam_width),
    }
