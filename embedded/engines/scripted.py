"""The simulated engine: a Dynamo worker that answers with scripted tokens instead of a model's.

    python -m embedded.engines.scripted --model-path DIR --served-model-name NAME --disaggregation-mode agg

It runs in Dynamo's environment (embedded/dynamo.py) on Dynamo's own engine interface, so registration,
discovery, routing, prefill hand-off, prompt rendering and harmony parsing are the real ones. Only the words
and the pace are made up.
"""

import argparse
import asyncio
from collections.abc import AsyncIterator
from itertools import chain, cycle, islice
from pathlib import Path
from typing import Any

from dynamo.common.backend import EngineConfig, LLMEngine, LlmRegistration, WorkerConfig
from dynamo.common.backend.disagg import require_prefill_result
from dynamo.common.backend.run import run
from dynamo.common.constants import DisaggregationMode
from tokenizers import Tokenizer

from embedded.engines.model import CONTEXT_LENGTH
from embedded.engines.script import FILLER, complete

BLOCK = 64
"""Tokens in a KV block, as Dynamo's GPT-OSS recipes have it."""


class ScriptedEngine(LLMEngine):  # type: ignore[misc]  # Dynamo is not installed where types are checked
    """One worker: aggregated, prefill or decode. Times are seconds."""

    def __init__(self, arguments: argparse.Namespace, mode: DisaggregationMode) -> None:
        self.model_path: Path = arguments.model_path
        self.model_name: str = arguments.served_model_name
        self.token_seconds: float = arguments.token_seconds
        self.prompt_token_seconds: float = arguments.prompt_token_seconds
        self.mode = mode

    @classmethod
    async def from_args(cls, argv: list[str] | None = None) -> tuple["ScriptedEngine", WorkerConfig]:
        parser = argparse.ArgumentParser(description="Dynamo worker with a scripted engine")
        parser.add_argument("--model-path", type=Path, required=True)
        parser.add_argument("--served-model-name", required=True)
        parser.add_argument("--namespace", default="dynamo")
        parser.add_argument("--disaggregation-mode", choices=("agg", "prefill", "decode"), default="agg")
        parser.add_argument("--dyn-reasoning-parser")
        parser.add_argument("--dyn-tool-call-parser")
        parser.add_argument("--token-seconds", type=float, default=0.005)
        parser.add_argument("--prompt-token-seconds", type=float, default=0.00002)
        arguments = parser.parse_args(argv)
        mode = DisaggregationMode(arguments.disaggregation_mode)
        return cls(arguments, mode), WorkerConfig(
            namespace=arguments.namespace,
            component="prefill" if mode is DisaggregationMode.PREFILL else "backend",
            model_name=str(arguments.model_path),
            served_model_name=arguments.served_model_name,
            discovery_backend="file",
            tool_call_parser=arguments.dyn_tool_call_parser,
            reasoning_parser=arguments.dyn_reasoning_parser,
            enable_kv_routing=False,
            disaggregation_mode=mode,
        )

    async def start(self, worker_id: int) -> EngineConfig:
        self.tokenizer = Tokenizer.from_file(str(self.model_path / "tokenizer.json"))
        return EngineConfig(
            model=str(self.model_path),
            served_model_name=self.model_name,
            llm=LlmRegistration(
                context_length=CONTEXT_LENGTH,
                kv_cache_block_size=BLOCK,
                total_kv_blocks=16384,
                max_num_seqs=256,
                max_num_batched_tokens=16384,
            ),
        )

    async def generate(self, request: dict[str, Any], context: Any) -> AsyncIterator[dict[str, Any]]:
        if self.mode is DisaggregationMode.DECODE:
            require_prefill_result(request, self.mode)
        else:
            await asyncio.sleep(self.prompt_token_seconds * len(request["token_ids"]))
        if self.mode is DisaggregationMode.PREFILL:
            done = {"disaggregated_params": {"simulated": True}}
            yield {"token_ids": [BLOCK], **self._last(request, 1, "length"), **done}
            return
        tokens, reason = self._tokens(request)
        for produced, token in enumerate(tokens, start=1):
            await asyncio.sleep(self.token_seconds)
            if context.is_stopped():
                yield {"token_ids": [], **self._last(request, produced - 1, "cancelled")}
                return
            chunk = {"token_ids": [token], "index": 0}
            if produced == len(tokens):
                chunk |= self._last(request, produced, reason)
            yield chunk

    def _tokens(self, request: dict[str, Any]) -> tuple[list[int], str]:
        """The whole answer's tokens and its finish reason, within the request's limits."""
        stop = request.get("stop_conditions") or {}
        guided = (request.get("sampling_options") or {}).get("guided_decoding") or {}
        prompt = self.tokenizer.decode(request["token_ids"], skip_special_tokens=False)
        completion = complete(prompt, guided.get("json"))
        head, filler, tail = (
            self.tokenizer.encode(text, add_special_tokens=False).ids
            for text in (completion.head, FILLER, completion.tail)
        )
        limit = stop.get("max_tokens") or CONTEXT_LENGTH - len(request["token_ids"])
        least = limit if stop.get("ignore_eos") else stop.get("min_tokens") or 0
        padded = list(islice(chain(head, cycle(filler)), max(len(head), least)))
        whole = padded + tail
        return whole[:limit], "stop" if len(whole) <= limit else "length"

    def _last(self, request: dict[str, Any], produced: int, reason: str) -> dict[str, Any]:
        prompt = len(request["token_ids"])
        usage = {"prompt_tokens": prompt, "completion_tokens": produced, "total_tokens": prompt + produced}
        return {"index": 0, "finish_reason": reason, "completion_usage": usage}

    async def is_quiescent(self) -> bool:
        """Nothing is ever in transfer: a prefill worker may leave at once."""
        return True

    async def cleanup(self) -> None:
        """Nothing was allocated."""


if __name__ == "__main__":
    run(ScriptedEngine)
