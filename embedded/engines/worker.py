"""A worker among Dynamo's: it registers the model with the runtime and serves an engine's answers.

What Dynamo's Python interface has changed from release to release is here alone.
"""

import argparse
import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from typing import Any

import uvloop
from dynamo import llm
from dynamo.runtime import DistributedRuntime

from embedded.engines.model import CONTEXT_LENGTH

BLOCK = 64
"""Tokens in a KV block, as Dynamo's GPT-OSS recipes have it."""

Generate = Callable[[dict[str, Any], Any], AsyncIterator[dict[str, Any]]]
"""Takes a request of Dynamo's frontend and its context, yields chunks of the answer."""


def run(generate: Generate, arguments: argparse.Namespace) -> None:
    """Serves until SIGTERM. arguments: of `scripted.parser`."""
    uvloop.run(_serve(generate, arguments))


async def _serve(generate: Generate, arguments: argparse.Namespace) -> None:
    loop = asyncio.get_running_loop()
    # Below 1.2 a runtime would want NATS for events.
    runtime = DistributedRuntime(loop, os.environ.get("DYN_DISCOVERY_BACKEND", "file"), "tcp", False)
    loop.add_signal_handler(signal.SIGTERM, runtime.shutdown)
    component = "prefill" if arguments.disaggregation_mode == "prefill" else "backend"
    endpoint = runtime.endpoint(f"{arguments.namespace}.{component}.generate")
    await asyncio.gather(
        endpoint.serve_endpoint(generate, graceful_shutdown=True), _register(endpoint, arguments)
    )


async def _register(endpoint: Any, arguments: argparse.Namespace) -> None:
    """Advertises the model with the worker's role."""
    mode = arguments.disaggregation_mode
    config = llm.ModelRuntimeConfig()
    config.total_kv_blocks = 16384
    config.max_num_seqs = 256
    config.max_num_batched_tokens = 16384
    config.tool_call_parser = arguments.dyn_tool_call_parser
    config.reasoning_parser = arguments.dyn_reasoning_parser
    surface = llm.ModelType.Prefill if mode == "prefill" else llm.ModelType.Chat | llm.ModelType.Completions
    more: dict[str, Any] = {}
    if hasattr(llm, "WorkerType"):  # from 1.3 on workers say what they are, and which others they need
        config.context_length = CONTEXT_LENGTH
        kinds = llm.WorkerType
        kind = {"agg": kinds.Aggregated, "prefill": kinds.Prefill, "decode": kinds.Decode}[mode]
        needs = {"agg": None, "prefill": [[kinds.Decode]], "decode": [[kinds.Prefill]]}[mode]
        more = {"worker_type": kind, "needs": needs}
    else:
        more = {"context_length": CONTEXT_LENGTH}
    await llm.register_model(
        llm.ModelInput.Tokens,
        surface,
        endpoint,
        str(arguments.model_path),
        arguments.served_model_name,
        kv_cache_block_size=BLOCK,
        runtime_config=config,
        **more,
    )
