"""The simulated engine: a Dynamo worker that answers with scripted tokens instead of a model's.

    python -m embedded.engines.scripted --model-path DIR --served-model-name NAME --disaggregation-mode agg

It runs in Dynamo's environment (embedded/dynamo.py) as a worker like Dynamo's own, so registration, discovery,
routing, prefill hand-off, prompt rendering and harmony parsing are the real ones. Only the words and the pace are
made up.
"""

import argparse
import asyncio
from collections.abc import AsyncIterator
from itertools import chain, cycle, islice
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from embedded.engines import worker
from embedded.engines.model import CONTEXT_LENGTH
from embedded.engines.script import FILLER, complete


class ScriptedEngine:
    """One worker: aggregated, prefill or decode. Times are seconds."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.mode: str = arguments.disaggregation_mode
        self.token_seconds: float = arguments.token_seconds
        self.prompt_token_seconds: float = arguments.prompt_token_seconds
        self.tokenizer = Tokenizer.from_file(str(arguments.model_path / "tokenizer.json"))

    async def generate(self, request: dict[str, Any], context: Any) -> AsyncIterator[dict[str, Any]]:
        """Yields the answer to a request of Dynamo's frontend, a token at a time."""
        if self.mode == "prefill":
            await self._read(request)
            handed_over = {"disaggregated_params": {"simulated": True}}
            yield {"token_ids": [worker.BLOCK], **self._last(request, 1, "length"), **handed_over}
            return
        if self.mode == "decode":
            if not request.get("prefill_result"):
                raise ValueError("a decode worker got a request that no prefill worker had")
        else:
            await self._read(request)
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

    async def _read(self, request: dict[str, Any]) -> None:
        await asyncio.sleep(self.prompt_token_seconds * len(request["token_ids"]))

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


def parser() -> argparse.ArgumentParser:
    """The engine's command line: the flags of Dynamo's own workers that matter here, and the made-up pace."""
    flags = argparse.ArgumentParser(description="Dynamo worker with a scripted engine")
    flags.add_argument("--model-path", type=Path, required=True)
    flags.add_argument("--served-model-name", required=True)
    flags.add_argument("--namespace", default="dynamo")
    flags.add_argument("--disaggregation-mode", choices=("agg", "prefill", "decode"), default="agg")
    flags.add_argument("--dyn-reasoning-parser")
    flags.add_argument("--dyn-tool-call-parser")
    flags.add_argument("--token-seconds", type=float, default=0.005)
    flags.add_argument("--prompt-token-seconds", type=float, default=0.00002)
    return flags


if __name__ == "__main__":
    arguments = parser().parse_args()
    worker.run(ScriptedEngine(arguments).generate, arguments)
